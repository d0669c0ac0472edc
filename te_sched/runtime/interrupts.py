"""Ctrl-C and time limits of native code, and its clock: `poll`, which long-running code calls
periodically.

Python's handlers of signals run in the main thread alone, between two instructions of Python. So
poll runs them every tenth of a second, if it is called there. Exceptions are stored, and `take`
returns them. A thread's time limit ends what it calls at its next poll. Must not know the code that
polls.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from te_sched.errors import TimeLimitError as TimeLimitError
from te_sched.locks import after_fork, new_lock, once
from te_sched.runtime import jit

STOPPED = -(2**31) + 1  # what `poll` gives, and code that stops returns: `take` has the exception
_PERIOD = 100_000_000  # ns
_NEVER = 2**63 - 1  # of the clock of `now`
_LONGEST = 1e9  # seconds of a limit: longer ones are none

_POSIX_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
define i64 @now() {{
  %time = alloca {{ i64, i64 }}
  call i32 @clock_gettime(i32 {number}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr {{ i64, i64 }}, ptr %time, i64 0, i32 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}}
"""
_WINDOWS_CLOCK = """
declare i32 @QueryPerformanceCounter(ptr)
define i64 @now() {{
  %time = alloca i64
  call i32 @QueryPerformanceCounter(ptr %time)
  %ticks = load i64, ptr %time
  %sum = mul i64 %ticks, {number}
  ret i64 %sum
}}
"""
_POLL = f"""
@main = global i64 0
@kept = global [3 x ptr] zeroinitializer
@deadline = global i64 {_NEVER}
@limited = global i64 0
@last = internal global i64 0
declare i64 @PyThread_get_thread_ident()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare void @PyErr_NormalizeException(ptr, ptr, ptr)

define i32 @poll() {{
entry:
  %time = call i64 @now()
  %deadline = load atomic i64, ptr @deadline monotonic, align 8
  %late = icmp sgt i64 %time, %deadline
  br i1 %late, label %whose, label %signals
whose:
  %self = call i64 @PyThread_get_thread_ident()
  %limited = load atomic i64, ptr @limited monotonic, align 8
  %is.limited = icmp eq i64 %self, %limited
  br i1 %is.limited, label %stop, label %signals
stop:
  ret i32 {STOPPED}
signals:
  %before = load atomic i64, ptr @last monotonic, align 8
  %passed = sub i64 %time, %before
  %due = icmp sgt i64 %passed, {_PERIOD}
  br i1 %due, label %ask, label %go.on
ask:
  %me = call i64 @PyThread_get_thread_ident()
  %chief = load i64, ptr @main
  %is.chief = icmp eq i64 %me, %chief
  br i1 %is.chief, label %check, label %go.on
check:
  store atomic i64 %time, ptr @last monotonic, align 8
  %state = call i32 @PyGILState_Ensure()
  %status = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %status, 0
  br i1 %raised, label %keep, label %leave
keep:
  %value = getelementptr ptr, ptr @kept, i64 1
  %frames = getelementptr ptr, ptr @kept, i64 2
  call void @PyErr_Fetch(ptr @kept, ptr %value, ptr %frames)
  call void @PyErr_NormalizeException(ptr @kept, ptr %value, ptr %frames)
  br label %leave
leave:
  call void @PyGILState_Release(i32 %state)
  %code = select i1 %raised, i32 {STOPPED}, i32 0
  ret i32 %code
go.on:
  ret i32 0
}}
"""
_PYTHONS = (
    *("PyThread_get_thread_ident", "PyGILState_Ensure", "PyGILState_Release"),
    *("PyErr_CheckSignals", "PyErr_Fetch", "PyErr_NormalizeException"),
)

_FUNCTIONS = ("now", "poll")
_VARIABLES = ("main", "kept", "deadline", "limited")
_limiting = new_lock()  # of the one thread that has a limit


@once
def _linked() -> jit.Linked:
    imports = python_symbols(_PYTHONS)
    if sys.platform == "win32":
        kernel = ctypes.WinDLL("kernel32")
        imports["QueryPerformanceCounter"] = jit.address_of(kernel.QueryPerformanceCounter)
        frequency = ctypes.c_int64(0)
        kernel.QueryPerformanceFrequency(ctypes.byref(frequency))
        clock = _WINDOWS_CLOCK.format(number=10**9 // frequency.value)
    else:
        imports["clock_gettime"] = jit.address_of(ctypes.CDLL(None).clock_gettime)
        clock = _POSIX_CLOCK.format(number=time.CLOCK_MONOTONIC)
    linked = jit.link_text(clock + _POLL, (*_FUNCTIONS, *_VARIABLES), imports)
    _set_main_thread(linked)
    after_fork(lambda: _set_main_thread(linked))
    return linked


def python_symbols(names: tuple[str, ...]) -> dict[str, int]:
    """The addresses of functions of Python's C interface."""
    return {name: jit.address_of(getattr(ctypes.pythonapi, name)) for name in names}


def address(name: str) -> int:
    """Where native code finds `poll`, int32(): 0, or STOPPED; and `now`, int64(): nanoseconds."""
    return _linked().address(name)


def take() -> BaseException | None:
    """The exception that a handler raised, for the caller to raise; None in other threads."""
    if threading.current_thread() is not threading.main_thread():
        return None
    kept = (ctypes.c_void_p * 3).from_address(address("kept"))
    objects = [
        None if pointer is None else ctypes.cast(pointer, ctypes.py_object).value
        for pointer in kept
    ]
    for index, obj in enumerate(objects):
        if obj is not None:
            kept[index] = None
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(obj))
    return objects[1]


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """A context in which this thread's calls of native code are stopped after a number of seconds.
    One thread at a time has a limit; others wait for their turn. Code that does not poll, such as
    short loops, kernels of a GPU and functions from outside, runs to its end.

    Raises
    ------
    TimeLimitError, by the call that is stopped.
    """
    if _variable("limited").value == threading.get_ident():  # a function that the code calls back
        yield  # under the limit around it
        return
    with _limiting:
        _variable("limited").value = threading.get_ident()
        _variable("deadline").value = _now() + round(min(seconds, _LONGEST) * 1e9)
        try:
            yield
        finally:
            _variable("deadline").value = _NEVER
            _variable("limited").value = 0


def is_late(code: int) -> bool:
    """Whether a call of this thread that ended with a code was stopped by the limit."""
    is_limited = _variable("limited").value == threading.get_ident()
    return code == STOPPED and is_limited and _now() > _variable("deadline").value


def _now() -> int:
    """The time of native code's clock, in nanoseconds."""
    time_now: int = ctypes.CFUNCTYPE(ctypes.c_int64)(address("now"))()
    return time_now


def _variable(name: str) -> ctypes.c_int64:
    return ctypes.c_int64.from_address(address(name))


def _set_main_thread(linked: jit.Linked) -> None:
    for name, value in (("deadline", _NEVER), ("limited", 0)):
        ctypes.c_int64.from_address(linked.address(name)).value = value
    ctypes.c_uint64.from_address(linked.address("main")).value = threading.main_thread().ident or 0
