"""Fingerprints of the inputs of builds: equal fingerprints imply equal code.

`fingerprint` names whole graphs of objects (a schedule with its tensors, axes and arguments) by
their complete state: every field of every object and which objects are one, as pickle writes them.
Graphs with equal fingerprints are indistinguishable for te_sched. Objects with hidden state, such
as functions and objects of other libraries, have none.

`environment` names everything else that code depends on: te_sched itself, LLVM and Python. Must
not know what the objects are.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
import platform
import sys
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from te_sched import config
from te_sched.nested_copies import DeeplyNested

_FORMAT = 2  # of keys and of what is kept under them
_PLAIN = frozenset({range, slice, complex, bytearray})
# Layers above those that build (pyproject.toml): no build imports them.
_ABOVE = frozenset(
    {"autotvm", "cli", "compat", "meta_schedule", "script", "story", "tools", "views"}
)
_MARGIN_NS = 2_000_000_000  # clocks of file systems are coarse


class _Unseen(Exception):
    """An object whose state cannot be seen."""


def fingerprint(graph: Any, ignored: frozenset[type] = frozenset()) -> str | None:
    """The name of a graph of objects, as a hexadecimal text; None if it cannot be seen whole.

    Of objects of the types `ignored` only the type counts.
    """
    salt = environment()
    if salt is None:
        return None
    text = io.BytesIO()
    try:
        _Pickler(text, ignored).dump(graph)
    except (_Unseen, pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(salt + text.getbuffer()).hexdigest()


class _Pickler(pickle.Pickler):
    """Refuses what pickle would write as a name alone, unless it is te_sched's own."""

    def __init__(self, file: io.BytesIO, ignored: frozenset[type]) -> None:
        super().__init__(file, protocol=5)
        self._ignored = ignored

    def reducer_override(self, obj: Any) -> Any:
        """Called for every object but plain numbers, texts and containers."""
        kind: Any = type(obj)
        if kind in self._ignored:
            return kind, ()
        if issubclass(kind, DeeplyNested):
            return object.__reduce_ex__(obj, 5)
        if _is_ours(kind) or kind in _PLAIN:
            return NotImplemented
        if kind is np.ndarray and not obj.dtype.hasobject:
            return tuple, ((obj.dtype.str, obj.shape, digest_of(obj)),)
        module = getattr(obj, "__module__", None) or ""  # of a class or function
        if module.startswith(_PACKAGE) or (kind is type and module == "builtins"):
            return NotImplemented
        raise _Unseen(kind)


def digest_of(values: np.ndarray[Any, Any]) -> bytes:
    """A name of the bits of an array: 0.0, -0.0 and each NaN have different ones."""
    return hashlib.sha256(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data).digest()


_PACKAGE = __name__.partition(".")[0] + "."


@functools.cache
def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(_PACKAGE)


@functools.cache
def environment() -> bytes | None:
    """The name of te_sched, LLVM and Python as they are; None where that is not certain."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths, numbers = _sources(package)
    if not paths or max(*numbers[::4], *numbers[1::4]) > config.STARTED - _MARGIN_NS:
        return None  # other code may be running than what the files say now
    facts = (
        _FORMAT,
        paths,
        numbers,
        llvmlite.__version__,
        llvm.llvm_version_info,
        sys.version,
        platform.machine(),
    )
    return hashlib.sha256(repr(facts).encode()).digest()


def _sources(package: str) -> tuple[list[str], list[int]]:
    """The paths of the source files that builds may use, and the times, size and number of each: no
    content changes without one of them. There are hundreds of files.
    """
    paths: list[str] = []
    facts: list[int] = []
    folders = [package]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = os.stat(entry.path)  # all of it, unlike entry.stat() on Windows
                    paths.append(entry.path)
                    facts += status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
                elif (
                    "." not in entry.name
                    and entry.name != "__pycache__"
                    and (folder != package or entry.name not in _ABOVE)
                    and entry.is_dir()
                ):
                    folders.append(entry.path)
    return paths, facts
