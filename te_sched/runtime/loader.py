"""Code in memory and its metadata: linked into this process from objects, or loaded from files.

Fills the slots through which generated code reaches threads, registered functions and callbacks.
Must not know how functions are called.
"""

from __future__ import annotations

import _ctypes
import ctypes
import json
import os
import weakref
from collections.abc import Callable
from typing import Any

from te_sched import files
from te_sched.codegen.llvm import heap
from te_sched.codegen.llvm.machine import host_features, host_machine
from te_sched.codegen.llvm.module import FORMAT_VERSION, METADATA_MAGIC
from te_sched.codegen.signature import Signature
from te_sched.errors import BuildError, CallError, warn
from te_sched.locks import once
from te_sched.runtime import callbacks, interrupts, jit, registry, threads

_EXPORTS = ("te_sched_slots", "te_sched_functions")


@once
def _heap() -> jit.Linked:
    """The allocator of all modules."""
    return jit.link_text(heap.TEXT, heap.FUNCTIONS, {})


class LoadedCode:
    """Loaded code: signatures and addresses of functions. It stays while this object lives."""

    def __init__(
        self, metadata: dict[str, Any], address: Callable[[str], int], loaded: Any
    ) -> None:
        """`loaded` holds the code, and `address` gives the addresses of what it exports."""
        slots, functions = map(address, _EXPORTS)
        uses_heap = any(wanted["kind"] == "heap" for wanted in metadata["imports"])
        self._pool = (ctypes.c_int64 * heap.POOL_WORDS)() if uses_heap else None
        weakref.finalize(self, _unload, self._pool, loaded).atexit = False
        self._keep_alive = [loaded]
        self.signatures = [Signature.from_json(data) for data in metadata["functions"]]
        count = len(self.signatures)
        table = (ctypes.c_void_p * count).from_address(functions)
        names = [signature.name for signature in self.signatures]
        self.addresses = {name: address or 0 for name, address in zip(names, table, strict=True)}
        imports = metadata["imports"]
        self._slots = (ctypes.c_void_p * len(imports)).from_address(slots)
        self._memory: dict[str, int] = {}  # the slots of memory that is linked later
        for number, wanted in enumerate(imports):
            if wanted["kind"] == "memory":
                self._memory[wanted["name"]] = number
            else:
                self._slots[number] = self._slot(wanted)

    def link_memory(self, name: str, array: Any) -> None:
        """Let the code use the memory of an array, which lives as long as the code."""
        number = self._memory.get(name) if isinstance(name, str) else None
        if number is not None:
            self._slots[number] = array.address
            self._keep_alive.append(array)

    def _slot(self, wanted: dict[str, Any]) -> int:
        kind, name = wanted["kind"], wanted["name"]
        if kind == "thread":
            return interrupts.address(name) if name in ("now", "poll") else threads.slot_value(name)
        if kind == "heap":
            if name != "pool":
                return _heap().address(name)
            assert self._pool is not None
            return ctypes.addressof(self._pool)
        if kind == "packed":
            _warn_if_missing(name)
            return self._keep(callbacks.make_packed(name, wanted["args"], wanted["result"]))
        extern = registry.find_extern(name)
        if extern is None or extern.kind != kind:
            raise BuildError(
                f"external function {name} is not registered"
                if extern is None
                else f"external function {name} is a {extern.kind} now, but was a {kind} when the "
                "code was compiled",
                "",
                f'register it with te_sched.register_extern("{name}", function) first',
            )
        self._keep_alive.append(extern)
        if kind == "pointer":
            return extern.address
        return self._keep(callbacks.make_callback(name, wanted["args"], wanted["result"]))

    def _keep(self, function: Any) -> int:
        self._keep_alive.append(function)
        return ctypes.cast(function, ctypes.c_void_p).value or 0


def _warn_if_missing(name: str) -> None:
    """A packed function is found when it is called, as in TVM: it may be registered until then."""
    if registry.get_global_func(name, allow_missing=True) is None:
        warn(
            f"the program calls the packed function {name!r}, which is not registered: register it "
            f'with te_sched.register_func("{name}", function) before the first call'
        )


def read_metadata(data: bytes, where: str = "") -> dict[str, Any]:
    """The metadata inside an object file or library; refuses other versions and machines."""
    text = metadata_text(data)
    if not text:
        raise CallError(
            f"cannot load {where}: it was not made by te_sched",
            "",
            "export a module with export_library first",
        )
    try:
        metadata: dict[str, Any] = json.loads(text.removeprefix(METADATA_MAGIC.encode()))
    except (ValueError, RecursionError):
        raise CallError(
            f"cannot load {where}: it is damaged",
            "",
            "export it again",
        ) from None
    if metadata.get("version") != FORMAT_VERSION:
        version = metadata.get("version")
        why = f"its format is version {version}, and this te_sched reads version {FORMAT_VERSION}"
        raise CallError(f"cannot load {where}: {why}", "", "export it again with this te_sched")
    _check_machine(metadata["target"], where)
    return metadata


def metadata_text(data: bytes) -> bytes:
    """The text of the metadata in an object file, as codegen wrote it; empty if there is none."""
    start = data.find(METADATA_MAGIC.encode() + b"{")
    return b"" if start < 0 else data[start:].partition(b"\0")[0]


def _check_machine(target: dict[str, Any], where: str) -> None:
    host = host_machine().triple
    if _platform(target["triple"]) != _platform(host):
        why = f"it was compiled for {target['triple']}, and this is {host}"
        raise CallError(f"cannot load {where}: {why}", "", "compile it on this kind of computer")
    have = set(host_features().split(","))
    missing = sorted(
        name for name in target["features"].split(",") if name.startswith("+") and name not in have
    )
    if missing:
        why = f"this processor lacks {', '.join(name[1:] for name in missing)}"
        raise CallError(
            f"cannot load {where}: {why}",
            "",
            'build it for an older processor (target "llvm -mcpu=x86-64-v2")',
        )


def _platform(triple: str) -> list[str]:
    """The parts of a triple without its vendor: architecture, system, environment."""
    return [part for part in triple.split("-") if part not in ("unknown", "pc")]


def load_objects(objects: tuple[bytes, ...], metadata: dict[str, Any]) -> LoadedCode:
    """Link object files into this process."""
    linked = jit.link_objects(objects, _EXPORTS)
    return LoadedCode(metadata, linked.address, linked)


def _unload(pool: Any, loaded: Any) -> None:
    """Free the memory that is kept for the code of a module, and unload the code."""
    if pool is not None:
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_heap().address("trim"))(ctypes.addressof(pool))
    if isinstance(loaded, ctypes.CDLL) and os.name == "posix":
        _ctypes.dlclose(loaded._handle)


def load_code(data: bytes, suffix: str, where: str) -> LoadedCode:
    """Load what was in a shared library or an object file (.o) that export_library wrote."""
    metadata = read_metadata(data, where)
    if suffix == ".o":
        return load_objects((data,), metadata)
    try:
        library = _load_library(data, suffix, where)
    except OSError as error:
        raise CallError(
            f"cannot load {where}: the system's loader says: {error}",
            "",
            "check what it depends on",
        ) from None
    return LoadedCode(
        metadata, lambda name: ctypes.addressof(ctypes.c_char.in_dll(library, name)), library
    )


def _load_library(data: bytes, suffix: str, where: str) -> ctypes.CDLL:
    """Load a copy under a name of its own.

    The system's loader would share one library (and its slots) among modules, and give the old
    library for a file that was written anew.
    """
    with files.temporary_folder(f"load {where}") as folder:
        copy = folder / f"module{suffix}"
        files.write(copy, data, "load a copy from", "make room for temporary files")
        return ctypes.CDLL(str(copy))
