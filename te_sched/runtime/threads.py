"""The number of threads of parallel loops, and their start; `team` is their code.

Threads start at the first call of a function with parallel loops, and again in a process that was
forked. They are not Python's own until a callback makes them so. Must not know modules.
"""

from __future__ import annotations

import ctypes
import operator
import os
import platform
import sys
from functools import cache
from typing import Any

from te_sched.errors import CallError, warn
from te_sched.locks import after_fork, new_lock, once
from te_sched.processors import usable_processors
from te_sched.runtime import interrupts, jit, team
from te_sched.signatures import checked_as

MOST = 1024  # threads; far more than pay, and each takes memory for its stack
_PYTHONS = ("PyThread_acquire_lock", "PyThread_acquire_lock_timed", "PyThread_release_lock")
_PYTHON_TYPES = {  # the result, then the parameters
    "PyThread_allocate_lock": (ctypes.c_void_p,),
    "PyThread_acquire_lock": (ctypes.c_int, ctypes.c_void_p, ctypes.c_int),
    "PyThread_start_new_thread": (ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p),
}
_CORES = ("sched_getcpu", "sched_getaffinity", "sched_setaffinity")  # of Linux
_FAILED = ctypes.c_ulong(-1).value

is_ready = False  # whether as many threads run as are asked for
_asked = 0  # by set_num_threads; 0 leaves it to the environment
_team_size = ctypes.c_int32(1)  # of parallel loops, the caller counts
_starting = new_lock()
_boxes: list[Any] = []  # of each process that forked; threads may still look at them


@checked_as(CallError)
def set_num_threads(count: int) -> None:
    """Run parallel loops on this many threads; 0 means OMP_NUM_THREADS, or all cores.

    >>> te_sched.runtime.set_num_threads(2)
    >>> te_sched.runtime.get_num_threads()
    2
    >>> te_sched.runtime.set_num_threads(0)
    """
    global _asked, is_ready
    count = operator.index(count)
    if count < 0:
        raise CallError(
            f"the number of threads must not be negative, got {count}",
            "",
            "use 1 or more, or 0 for the default",
        )
    _check_most(count, "the number of threads")
    with _starting:
        _asked, is_ready = count, False


def get_num_threads() -> int:
    """The number of threads of parallel loops.

    >>> te_sched.runtime.get_num_threads() >= 1
    True
    """
    return _asked or _default()


def prepare() -> None:
    """Start the threads that parallel loops run on, if there are too few."""
    global is_ready
    with _starting:
        count = get_num_threads()
        native = _linked()
        running = ctypes.c_int32.from_address(native.address("size"))
        if count - 1 > running.value:
            _start(native, running, count - 1)
        _team_size.value, is_ready = count, True


def _start(native: jit.Linked, running: ctypes.c_int32, wanted: int) -> None:
    boxes = ctypes.c_void_p.from_address(native.address("boxes"))
    if not boxes.value:
        _make_room(native, boxes)
    for number in range(running.value + 1, wanted + 1):
        box = (boxes.value or 0) + number * team.BOX_BYTES
        ctypes.c_void_p.from_address(box + team.LOCK_OFFSET).value = _lock()
        if _python("PyThread_start_new_thread")(native.address("wait"), box) == _FAILED:
            raise CallError(
                f"cannot start {wanted + 1} threads",
                f"the system refuses thread {number + 1}",
                "use fewer (TE_SCHED_NUM_THREADS), or raise the limits of the process (ulimit)",
            )
        running.value = number


def _make_room(native: jit.Linked, boxes: ctypes.c_void_p) -> None:
    """Boxes for the largest number of threads, and locks on which callers sleep."""
    memory = ctypes.create_string_buffer((MOST + 1) * team.BOX_BYTES)
    _boxes.append(memory)
    address = ctypes.addressof(memory) + -ctypes.addressof(memory) % team.BOX_BYTES
    ctypes.memset(native.address("taken"), 0, 4 * team.LOCKS)  # by threads of a parent process
    locks = (ctypes.c_void_p * team.LOCKS).from_address(native.address("locks"))
    locks[:] = [_lock() for _ in range(team.LOCKS)]
    boxes.value = address


def _lock() -> int:
    """A lock of Python's that is held, and which another thread releases."""
    lock: int = _python("PyThread_allocate_lock")()
    _python("PyThread_acquire_lock")(lock, 1)
    return lock


@cache
def _python(name: str) -> Any:
    """A function of Python's C interface."""
    return ctypes.PYFUNCTYPE(*_PYTHON_TYPES[name])((name, ctypes.pythonapi))


@once
def _linked() -> jit.Linked:
    imports = interrupts.python_symbols(_PYTHONS)
    imports |= {name: interrupts.address(name) for name in ("now", "poll")}
    if sys.platform == "win32":
        let_others_run = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        let_others_run = ctypes.CDLL(None).sched_yield
    imports["yield_core"] = jit.address_of(let_others_run)
    pause = team.PAUSES.get(platform.machine().lower().replace("amd64", "x86_64"), "")
    text = team.TEXT + team.PAUSE.format(pause)
    if sys.platform == "linux":
        text += team.LEAVE_CORE
        imports |= interrupts.python_symbols(("PyThread_get_thread_native_id",))
        libc = ctypes.CDLL(None)
        imports |= {name: jit.address_of(getattr(libc, name)) for name in _CORES}
    else:
        text += team.STAY
    native = jit.link_text(text, ("fork", "wait", "boxes", "size", "locks", "taken"), imports)
    after_fork(lambda: _forget_threads(native))
    return native


def slot_value(name: str) -> int:
    """What the slot {"kind": "thread", "name": name} of generated code holds.

    "fork" is void(function, data, wanted number of shares), which runs function(data, number of
    the share, number of shares) for each; "size" is where the size of the team stands.
    """
    return ctypes.addressof(_team_size) if name == "size" else _linked().address(name)


@cache
def _default() -> int:
    """The number of threads that the environment asks for, or one for each core."""
    wanted = os.environ.get("TE_SCHED_OPENMP", "")
    if wanted == "serial":
        return 1
    if wanted:
        warn(
            f"te_sched ignores the environment variable TE_SCHED_OPENMP={wanted[:80]!r}: parallel "
            'loops run on threads of its own, and only "serial" has a meaning',
            RuntimeWarning,
        )
    text = os.environ.get("TE_SCHED_NUM_THREADS", "").strip().lstrip("0")
    if text:
        return _read_count("TE_SCHED_NUM_THREADS", text)
    default = _read_openmp("OMP_NUM_THREADS", min(usable_processors(), MOST))
    return min(default, _read_openmp("OMP_THREAD_LIMIT", default))


def _read_count(variable: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise CallError(
            f"the environment variable {variable} is {text[:20]!r}, expected a number of threads",
            "parallel loops run on 1 thread or more",
            "set it to 1 or more, or to 0 for one thread on each core",
        )
    _check_most(int(text[:20]), f"the environment variable {variable}")
    return int(text)


def _read_openmp(variable: str, default: int) -> int:
    """The value of a variable of OpenMP; as there, invalid ones are ignored with a warning."""
    text = os.environ.get(variable, "")
    if not text.strip():
        return default
    first = text.partition(",")[0].strip().removeprefix("+")  # of loops not inside of others
    count = int(first) if first.isascii() and first.isdigit() and len(first) < 20 else 0
    if 0 < count <= MOST or (variable == "OMP_THREAD_LIMIT" and count):
        return count
    warn(
        f"te_sched ignores the environment variable {variable}={text[:20]!r}: it is not a number "
        f"of threads from 1 to {MOST}; parallel loops run on {default}",
        RuntimeWarning,
    )
    return default


def _check_most(count: int, what: str) -> None:
    if count > MOST:
        raise CallError(
            f"{what} is {count}, expected at most {MOST}",
            "each thread takes memory, and more than one for each core make nothing faster",
            f"use at most {MOST}, or 0 for one thread on each core",
        )


def _forget_threads(native: jit.Linked) -> None:
    """The child has the memory of the threads, but not them."""
    global is_ready
    is_ready = False
    ctypes.c_int32.from_address(native.address("size")).value = 0
    ctypes.c_void_p.from_address(native.address("boxes")).value = None
