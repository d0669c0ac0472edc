"""The OpenMP runtime that runs parallel loops: found, not brought along.

Looked for in this order: the library named by TE_SCHED_OPENMP ("serial" for none), one that is
loaded already, the system's, one that a PyPI package installed (intel-openmp, torch, scikit-learn,
...). Without any, parallel loops run serially and a warning says so. Must not know modules.
"""

from __future__ import annotations

import ctypes
import os
import site
import sys
import sysconfig
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from te_sched.errors import CallError
from te_sched.runtime import jit

_SONAMES = (
    "libgomp.so.1",
    "libiomp5.so",
    "libomp.so.5",
    "libomp.so",
    "libomp.dylib",
    "libiomp5md.dll",
    "libgomp-1.dll",
)
_PATTERNS = ("libgomp*.so*", "libiomp5*", "libomp*.so*", "libomp*.dylib")
_Answer = TypeVar("_Answer")

_SERIAL_NAME = "serial"
_SERIAL = """
define void @fork(ptr %function, ptr %data, i32 %count, i32 %flags) {
  call void %function(ptr %data)
  ret void
}
define i32 @id() {
  ret i32 0
}
define i32 @count() {
  ret i32 1
}
define i32 @most() {
  ret i32 1
}
"""

# Clang's OpenMP interface behind GCC's: libomp on macOS has the former alone.
_KMPC = """
%ident = type { i32, i32, i32, i32, ptr }
@source = private constant [23 x i8] c";unknown;unknown;0;0;;\\00"
@where = private constant %ident { i32 0, i32 2, i32 0, i32 0, ptr @source }
declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
declare i32 @__kmpc_global_thread_num(ptr)
declare void @__kmpc_push_num_threads(ptr, i32, i32)
define internal void @team(ptr %global_id, ptr %team_id, ptr %function, ptr %data) {
  call void %function(ptr %data)
  ret void
}
define void @fork(ptr %function, ptr %data, i32 %count, i32 %flags) {
  %limited = icmp sgt i32 %count, 0
  br i1 %limited, label %limit, label %go
limit:
  %me = call i32 @__kmpc_global_thread_num(ptr @where)
  call void @__kmpc_push_num_threads(ptr @where, i32 %me, i32 %count)
  br label %go
go:
  call void (ptr, i32, ptr, ...)
    @__kmpc_fork_call(ptr @where, i32 2, ptr @team, ptr %function, ptr %data)
  ret void
}
"""


class Runtime:
    """An OpenMP runtime: its name, and the addresses that generated code calls."""

    def __init__(
        self, name: str, addresses: dict[str, int], keep_alive: Any, survives_fork: bool
    ) -> None:
        self.name, self.addresses, self._keep_alive, self.survives_fork = (
            name,
            addresses,
            keep_alive,
            survives_fork,
        )


_limit = ctypes.c_int32(0)  # threads of a team; 0 leaves it to the OpenMP runtime
_stale_thread: int | None = None  # the thread that a fork left without its team
_helper: ThreadPoolExecutor | None = None


def limit_address() -> int:
    """Where generated code reads how many threads a team may have."""
    return ctypes.addressof(_limit)


def set_num_threads(count: int) -> None:
    """Run parallel loops on this many threads; 0 means OMP_NUM_THREADS, or all cores."""
    if count < 0:
        raise CallError(
            f"run on {count} threads", "it is less than none", "use 1 or more, or 0 for the default"
        )
    _limit.value = count


def get_num_threads() -> int:
    """How many threads parallel loops run on."""
    found = runtime()
    if found.name == _SERIAL_NAME:
        return 1
    return _limit.value or int(ctypes.CFUNCTYPE(ctypes.c_int32)(found.addresses["most"])())


def _read_environment() -> None:
    text = os.environ.get("TE_SCHED_NUM_THREADS", "")
    if text.isdigit():
        _limit.value = int(text)


@cache
def runtime() -> Runtime:
    """The OpenMP runtime of this process."""
    wanted = os.environ.get("TE_SCHED_OPENMP", "")
    if wanted == _SERIAL_NAME:
        return _serial()
    for candidate, mode in _candidates(wanted):
        found = _try_library(candidate, mode)
        if found is not None:
            return found
    if wanted:
        raise CallError(
            f"use the OpenMP runtime {wanted}",
            "it cannot be loaded or is none",
            "correct TE_SCHED_OPENMP",
        )
    warnings.warn(
        "te_sched found no OpenMP runtime, so parallel loops run on one core; install one "
        "(`pip install intel-openmp`, or the system's libgomp), or name it in TE_SCHED_OPENMP",
        RuntimeWarning,
        stacklevel=2,
    )
    return _serial()


def _candidates(wanted: str) -> Iterator[tuple[str, int]]:
    if wanted:
        yield wanted, ctypes.DEFAULT_MODE
        return
    loaded_only = getattr(os, "RTLD_NOLOAD", None)
    if loaded_only is not None:
        yield from ((name, loaded_only) for name in _SONAMES)
    yield from ((name, ctypes.DEFAULT_MODE) for name in _SONAMES)
    for path in _installed():
        yield path, ctypes.DEFAULT_MODE


def _installed() -> Iterator[str]:
    """OpenMP libraries that packages of this Python brought along."""
    packages = {
        sysconfig.get_paths()["purelib"],
        sysconfig.get_paths()["platlib"],
        site.getusersitepackages(),
    }
    folders = [Path(sys.prefix) / "lib", Path(sys.prefix) / "Library" / "bin"]
    for package in map(Path, sorted(packages)):
        folders += [
            package / "torch" / "lib",
            package / "sklearn" / ".dylibs",
            *sorted(package.glob("*.libs")),
        ]
    for folder in folders:
        for pattern in _PATTERNS:
            yield from map(str, sorted(folder.glob(pattern)))


def _try_library(name: str, mode: int) -> Runtime | None:
    try:
        library = ctypes.CDLL(name, mode)
    except OSError:
        return None
    addresses = {key: _address(library, symbol) for key, symbol in _NAMES.items()}
    if not all(addresses[key] for key in ("id", "count", "most")):
        return None
    clang = _address(library, "__kmpc_fork_call")
    keep: Any = library
    if not addresses["fork"]:
        if not clang:
            return None
        imports = {symbol: _address(library, symbol) for symbol in _KMPC_NAMES}
        linked = jit.link_text(_KMPC, ("fork",), imports)
        addresses["fork"], keep = linked.address("fork"), (library, linked)
    return Runtime(name, addresses, keep, survives_fork=bool(clang))


_NAMES = {
    "fork": "GOMP_parallel",
    "id": "omp_get_thread_num",
    "count": "omp_get_num_threads",
    "most": "omp_get_max_threads",
}
_KMPC_NAMES = ("__kmpc_fork_call", "__kmpc_global_thread_num", "__kmpc_push_num_threads")


def _address(library: ctypes.CDLL, symbol: str) -> int:
    function = getattr(library, symbol, None)
    return ctypes.cast(function, ctypes.c_void_p).value or 0 if function is not None else 0


@cache
def _serial() -> Runtime:
    names = ("fork", "id", "count", "most")
    linked = jit.link_text(_SERIAL, names, {})
    addresses = {name: linked.address(name) for name in names}
    return Runtime(_SERIAL_NAME, addresses, linked, survives_fork=True)


def slot_value(name: str) -> int:
    """What the slot {"kind": "thread", "name": name} of generated code holds."""
    return limit_address() if name == "limit" else runtime().addresses[name]


def has_lost_team() -> bool:
    """Whether a fork left this thread without its team, for which libgomp would wait."""
    return (
        _stale_thread is not None
        and _stale_thread == threading.get_ident()
        and not runtime().survives_fork
    )


def run_elsewhere(function: Callable[..., _Answer], *args: Any) -> _Answer:
    """Call a function on a thread of its own, which can have a new team."""
    global _helper
    if _helper is None:
        _helper = ThreadPoolExecutor(1, "te_sched-after-fork")
    return _helper.submit(function, *args).result()


def _after_fork() -> None:
    global _stale_thread, _helper
    _stale_thread, _helper = threading.get_ident(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
_read_environment()
