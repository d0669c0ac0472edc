"""Files that modules are saved in: object files, shared libraries, archives of one.

An LLVM module is saved as its machine code. A program for a GPU is saved as data inside of an
object file, so that all are files of the same kinds. Each ends with a digest of all before it, the
seal, by which a damaged file is known before anything of it runs. It proves nothing about who wrote
the file. Must not know modules.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from te_sched.codegen.llvm.machine import compile_object, machine_of
from te_sched.codegen.llvm.module import METADATA_MAGIC
from te_sched.codegen.target import Target
from te_sched.errors import BuildError, CallError
from te_sched.runtime import csource

_IN_TAR = "module.o"  # the file inside of an exported .tar
_MAGIC = b"te_sched-program\0"
_VERSION = 1
_SEAL = b"te_sched-sha256:"
_DIGEST = 32
_UNREADABLE = (
    *(pickle.UnpicklingError, EOFError, ImportError, AttributeError),
    *(LookupError, TypeError, ValueError),
)
_LENGTH = 8  # bytes of the number that tells how long the program is


def check_place(path: str | os.PathLike[str]) -> Path:
    """Where to write; refuses what is no path, and folders that are not there."""
    if not isinstance(path, str | os.PathLike):
        raise CallError(f"export to {path!r}", "it is no path", 'write "module.so"')
    place = Path(path).resolve()
    if not place.parent.is_dir():
        raise CallError(f"export to {place}", "its folder does not exist", "make the folder first")
    return place


def write_library(
    place: Path,
    objects: tuple[bytes, ...],
    fcompile: Callable[..., Any] | None,
    options: Mapping[str, Any],
) -> None:
    """Write object files as what the suffix says, or let `fcompile` link them."""
    if fcompile is None:
        _write(place, objects)
        return
    with tempfile.TemporaryDirectory(prefix="te_sched") as folder:
        files = [Path(folder) / f"part{number}.o" for number in range(len(objects))]
        for file, data in zip(files, objects, strict=True):
            file.write_bytes(data)
        fcompile(str(place), [str(file) for file in files], **options)
    if place.is_file() and place.suffix in _LIBRARIES:
        seal(place)


_LIBRARIES = (".so", ".dylib", ".dll", ".o")


def _write(place: Path, objects: tuple[bytes, ...]) -> None:
    """Write a file, which appears complete or not at all."""
    if place.suffix not in (*_LIBRARIES, ".tar"):
        why = f"{place.suffix!r} is no kind of library"
        raise CallError(f"export to {place}", why, "use .so, .o or .tar")
    with tempfile.TemporaryDirectory(prefix="te_sched", dir=place.parent) as folder:
        whole = Path(folder) / f"whole{place.suffix}"
        if place.suffix == ".tar":
            inside = Path(folder) / _IN_TAR
            _write(inside, objects)
            with tarfile.open(whole, "w") as archive:
                archive.add(inside, _IN_TAR)
        else:
            _link(objects, whole)
            seal(whole)
        os.replace(whole, place)


def _link(objects: tuple[bytes, ...], place: Path) -> None:
    if place.suffix != ".o":
        csource.link_shared(objects, place)
    elif len(objects) == 1:
        place.write_bytes(objects[0])
    else:
        csource.link_relocatable(objects, place)


def seal(place: Path) -> None:
    """End a file with the digest of what it has; linkers and loaders do not see it."""
    data = place.read_bytes()
    with place.open("ab") as file:
        file.write(_SEAL + hashlib.sha256(data).digest())


def seal_linked(place: Path, objects: Iterable[Path]) -> None:
    """Seal a library that was linked from objects, if a sealed one is among these.

    Raises
    ------
    CallError for an object whose own seal is broken.
    """
    sealed = [(one, data) for one in objects if _SEAL in (data := one.read_bytes())]
    for one, data in sealed:
        unseal(data, str(one))
    if sealed:
        seal(place)


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
    raise CallError(f"load {where}", why, "export the module again with export_library")


def read_tar(path: Path) -> bytes:
    """The object file in an archive."""
    try:
        with tarfile.open(path, "r:") as archive:
            inside = archive.extractfile(_IN_TAR)
            return inside.read() if inside is not None else b""
    except (OSError, LookupError, ValueError, RecursionError, tarfile.TarError) as error:
        raise CallError(
            f"load {path}", f"it cannot be read: {error}", "give what export_library wrote"
        ) from None


def pack(program: Any) -> bytes:
    """An object file with a program in it, as data."""
    try:
        content = pickle.dumps((_VERSION, program))
    except RecursionError:
        raise BuildError(
            "export a module",
            "its program is nested deeper than Python's recursion limit",
            "raise sys.setrecursionlimit",
        ) from None
    data = _MAGIC + len(content).to_bytes(_LENGTH, "little") + content
    text = "".join(f"\\{byte:02x}" for byte in data)
    machine = machine_of(Target("llvm"))
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
        version, program = _Reader(io.BytesIO(data[begin : begin + length])).load()
        if version == _VERSION:
            return program
        why = f"its format is version {version}, and this te_sched reads version {_VERSION}"
    except _UNREADABLE as error:
        why = f"it cannot be read by this te_sched: {error}"
    raise CallError(f"load {where}", why, "export it again with this te_sched")


class _Reader(pickle.Unpickler):
    """Reads programs, and makes nothing but what they consist of."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith("te_sched.") else None
        if not isinstance(found, type):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a program")
        return found
