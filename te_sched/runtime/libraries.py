"""Files that modules are saved in: object files, shared libraries, archives of one.

An LLVM module is saved as its machine code. A program for a GPU is saved as data inside of an
object file, so that all are files of the same kinds. Each ends with a digest of its content, the
seal, which detects damaged files before their code runs. It does not authenticate the
author. Must not know modules.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.codegen.llvm.machine import compile_object, host_machine
from te_sched.codegen.llvm.module import METADATA_MAGIC
from te_sched.errors import BuildError, CallError
from te_sched.runtime import csource
from te_sched.unpickling import load_pickled

_IN_TAR = "module.o"  # the file inside of an exported .tar
_MAGIC = b"te_sched-program\0"
_VERSION = 2
_SEAL = b"te_sched-sha256:"
_DIGEST = 32
# The classes of lowered programs, by their modules.
_CLASSES = {
    "te_sched.ir.source_lines": frozenset(("SourceLines",)),  # without its lines
    "te_sched.ir.expr": frozenset(
        (
            *("PrimType", "TupleType", "PointerType", "Var", "IntImm", "FloatImm", "StringImm"),
            *("Cast", "Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max"),
            *("EQ", "NE", "LT", "LE", "GT", "GE", "And", "Or", "Not", "Select", "Ramp"),
            *("Broadcast", "Shuffle", "Call", "Let", "Range", "IterVar", "Buffer", "BufferLoad"),
            *("BufferRegion", "CommReducer", "Reduce"),
        )
    ),
    "te_sched.ir.stmt": frozenset(
        (
            *("For", "While", "LetStmt", "AttrStmt", "AssertStmt", "BufferStore", "Allocate"),
            *("SeqStmt", "IfThenElse", "Evaluate", "PrimFunc", "GlobalVar", "FunctionMap"),
            "IRModule",
        )
    ),
    "te_sched.ir.argument_sizes": frozenset(("Size",)),
    "te_sched.ir.dtypes": frozenset(("DType", "ScalableLanes")),
    "te_sched.ir.op": frozenset(("Op",)),
    "te_sched.ir.shared_arguments": frozenset(("SharedArguments",)),
    "te_sched.ir.struct_info": frozenset(("VDevice", "DummyGlobalInfo")),
    "te_sched.codegen.target": frozenset(("Target", "TargetKind")),
}
# The present modules of classes, by those in files of older versions.
_MOVED = {"te_sched.analysis.schedules.sizes": "te_sched.ir.argument_sizes"}
_LENGTH = 8  # bytes of the number that tells how long the program is


def check_place(path: str | os.PathLike[str]) -> Path:
    """The path to write to; refuses other objects, and folders that do not exist."""
    destination = Path(files.check_path(path, _EXPORT))
    if not os.path.isdir(destination.parent):
        raise CallError(
            f"cannot export to {destination}: its folder does not exist",
            "",
            "make the folder first",
        )
    return destination


def write_library(
    destination: Path,
    objects: tuple[bytes, ...],
    fcompile: Callable[..., Any] | None,
    options: Mapping[str, Any],
    program: bytes = b"",
) -> None:
    """Write object files in the format of the suffix, or link them with `fcompile`.

    `program` is data that stands behind them (`packed`).
    """
    if fcompile is None:
        if destination.suffix not in (*_LIBRARIES, ".tar"):
            why = f"{destination.suffix!r} is not a kind of library"
            raise CallError(f"cannot {_EXPORT} {destination}: {why}", "", "use .so, .o or .tar")
        files.write(
            destination,
            _joined(destination, objects, program),
            _EXPORT,
            executable=destination.suffix in LINKED,
        )
        return
    files.check_replaceable(str(destination), _EXPORT, is_text=False)
    with files.temporary_folder(f"{_EXPORT} {destination}") as folder:
        parts = [folder / f"part{number}.o" for number in range(len(objects))]
        for part, data in zip(parts, objects, strict=True):
            csource.write_part(part, data)
        fcompile(os.path.abspath(destination), [str(part) for part in parts], **options)
    if os.path.isfile(destination) and destination.suffix in _LIBRARIES:
        content = files.read(destination, _EXPORT, "see what fcompile writes")
        files.write(destination, sealed(content + program), _EXPORT)


_EXPORT = "export to"
LINKED = (".so", ".dylib", ".dll")
_LIBRARIES = (*LINKED, ".o")


def _joined(destination: Path, objects: tuple[bytes, ...], program: bytes) -> bytes:
    """One file of a kind that the suffix of a path says."""
    if destination.suffix in LINKED:
        return sealed(csource.link(objects, f"{_EXPORT} {destination}", is_shared=True) + program)
    is_one = len(objects) == 1
    whole = (
        objects[0] if is_one else csource.link(objects, f"{_EXPORT} {destination}", is_shared=False)
    )
    if destination.suffix == ".o":
        return sealed(whole + program)
    inside = tarfile.TarInfo(_IN_TAR)
    inside.size = len(content := sealed(whole + program))
    with tarfile.open(fileobj=(file := io.BytesIO()), mode="w") as archive:
        archive.addfile(inside, io.BytesIO(content))
    return file.getvalue()


def sealed(data: bytes) -> bytes:
    """The content of a file with its digest at the end; linkers and loaders do not see it."""
    return data + _SEAL + hashlib.sha256(data).digest()


def seal_linked(data: bytes, objects: Iterable[str]) -> bytes:
    """A library that was linked from objects, sealed if a sealed one is among these.

    Raises
    ------
    CallError for an object whose own seal is broken.
    """
    read = [(path, files.read(path, "link", "check the path")) for path in objects]
    of_ours = [(path, content) for path, content in read if _SEAL in content]
    for object_path, content in of_ours:
        unseal(content, object_path)
    return sealed(data) if of_ours else data


def unseal(data: bytes, where: str) -> bytes:
    """The content of a file whose seal is whole; refuses all others."""
    end = len(data) - len(_SEAL) - _DIGEST
    content = data[: max(end, 0)]
    if end > 0 and data[end:] == _SEAL + hashlib.sha256(content).digest():
        return content
    if METADATA_MAGIC.encode() in data or _MAGIC in data or _SEAL in data:
        why = "its digest does not fit: it is damaged, or another program or version wrote it"
    else:
        why = "it was not made by te_sched"
    raise CallError(
        f"cannot load {where}: {why}", "", "export the module again with export_library"
    )


def read_tar(data: bytes, where: str) -> bytes:
    """The object file in an archive."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            inside = archive.extractfile(_IN_TAR)
            return inside.read() if inside is not None else b""
    except (OSError, LookupError, ValueError, RecursionError, tarfile.TarError) as error:
        raise CallError(
            f"cannot load {where}: it cannot be read: {error}", "", "give what export_library wrote"
        ) from None


def packed(program: Any) -> bytes:
    """A program as data that `unpack` finds in a file."""
    try:
        content = pickle.dumps((_VERSION, program))
    except RecursionError:
        raise BuildError(
            "cannot export a module: its program is nested deeper than Python's recursion limit",
            "",
            "raise sys.setrecursionlimit",
        ) from None
    return _MAGIC + len(content).to_bytes(_LENGTH, "little") + content


def empty_object() -> bytes:
    """An object file without functions."""
    machine = host_machine()
    return compile_object(f"{machine.header}\n", (), machine)


def pack(program: Any) -> bytes:
    """An object file with a program in it, as data."""
    data = packed(program)
    text = "".join(f"\\{byte:02x}" for byte in data)
    machine = host_machine()
    constant = f'@te_sched_program = constant [{len(data)} x i8] c"{text}"'
    return compile_object(f"{machine.header}\n{constant}\n", (), machine)


def unpack(data: bytes, where: str) -> Any:
    """The program in a file that has one; None of other files."""
    start = data.find(_MAGIC)
    if start < 0:
        return None
    begin = start + len(_MAGIC) + _LENGTH
    length = int.from_bytes(data[begin - _LENGTH : begin], "little")
    try:
        loaded = load_pickled(data[begin : begin + length], _CLASSES, _MOVED)
    except pickle.UnpicklingError as error:
        raise unreadable(where, f"it cannot be read by this te_sched: {error}") from None
    if not isinstance(loaded, tuple) or len(loaded) != 2:
        raise unreadable(where, "it has no program")
    version, program = loaded
    if version != _VERSION:
        why = f"its format is version {version!r}, and this te_sched reads version {_VERSION}"
        raise unreadable(where, why)
    return program


def unreadable(where: str, why: str) -> CallError:
    """The error about a file of a module that cannot be read."""
    return CallError(f"cannot load {where}: {why}", "", "export it again with this te_sched")
