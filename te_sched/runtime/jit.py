"""Linking object code into this process, and out of it again. Must not know what the code does."""

from __future__ import annotations

import ctypes
import itertools
import re
import sys
from typing import Any

import llvmlite.binding as llvm

from te_sched.codegen.llvm.machine import host_machine
from te_sched.errors import BuildError
from te_sched.locks import new_lock
from te_sched.runtime.compiled_objects import objects_of
from te_sched.runtime.object_cache import current_cache

_lock = new_lock()
_numbers = itertools.count()
_state: dict[str, Any] = {}
_LINKS_OF_ENGINE = 64
# RuntimeDyld maps each section by itself, and ends the process where two sections of an object are
# more than 2 GiB apart. JITLink maps an object as a whole; LLVM prefers it, too, but for COFF.
_USES_JITLINK = sys.platform != "win32"


class Linked:
    """Code in memory, freed with this object."""

    def __init__(self, tracker: Any, addresses: dict[str, int], engine: Any) -> None:
        self._tracker, self._addresses, self._engine = tracker, addresses, engine

    def address(self, name: str) -> int:
        """The address of an exported symbol."""
        return self._addresses[name]


def _engine() -> Any:
    """An LLVM engine, renewed after a number of links, since an engine keeps the names of all
    symbols."""
    with _lock:
        links = _state.get("links", 0)
        if links % _LINKS_OF_ENGINE == 0:
            _state["engine"] = llvm.create_lljit_compiler(
                host_machine().handle, use_jit_link=_USES_JITLINK
            )
        _state["links"] = links + 1
        return _state["engine"]


def _link(builder: Any, exports: tuple[str, ...], imports: dict[str, int]) -> Linked:
    for name in exports:
        builder.export_symbol(name)
    for name, address in imports.items():
        builder.import_symbol(name, address)
    builder.add_current_process()
    engine = _engine()
    try:
        tracker = builder.link(engine, f"te_sched.{next(_numbers)}")
    except RuntimeError as error:
        missing = re.search(r"Symbols not found: \[(.*?)\]", str(error))
        if missing is None:
            raise BuildError(
                f"cannot link the compiled code: LLVM says: {error}",
                "",
                "see what LLVM printed: it names the functions and intrinsics that nothing defines",
            ) from None
        names = missing[1].strip()
        raise BuildError(
            f"cannot link the compiled code with {names}: nothing in this process defines it",
            "",
            "give it with te_sched.register_extern, or load the library that has it",
        ) from None
    return Linked(tracker, {name: tracker[name] for name in exports}, engine)


def link_objects(
    objects: tuple[bytes, ...], exports: tuple[str, ...], imports: dict[str, int] | None = None
) -> Linked:
    """Link object files together; symbols that they lack are taken from this process."""
    builder = llvm.JITLibraryBuilder()
    for data in objects:
        builder.add_object_img(data)
    return _link(builder, exports, imports or {})


def link_text(text: str, exports: tuple[str, ...], imports: dict[str, int]) -> Linked:
    """Compile LLVM IR text, if it is not kept, and link it."""
    machine = host_machine()
    objects = objects_of(f"{machine.header}\n{text}", (), machine, current_cache())[1]
    return link_objects(objects, exports, imports)


def address_of(function: Any) -> int:
    """The address of a function that ctypes found or made."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0
