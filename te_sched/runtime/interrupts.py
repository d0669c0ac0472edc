"""Ctrl-C in native code, and its clock: `poll`, which long-running code calls periodically.

Python's handlers of signals run in the main thread alone, between two instructions of Python. So
poll runs them every tenth of a second, if it is called there. Exceptions are stored, and `take`
returns them. Must not know the code that polls.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time

from te_sched.locks import after_fork, once
from te_sched.runtime import jit

STOPPED = -(2**31) + 1  # what `poll` gives, and code that stops returns: `take` has the exception
_PERIOD = 100_000_000  # ns

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
    linked = jit.link_text(clock + _POLL, ("now", "poll", "main", "kept"), imports)
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
    objects = [None if one is None else ctypes.cast(one, ctypes.py_object).value for one in kept]
    for place, one in enumerate(objects):
        if one is not None:
            kept[place] = None
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(one))
    return objects[1]


def _set_main_thread(linked: jit.Linked) -> None:
    ctypes.c_uint64.from_address(linked.address("main")).value = threading.main_thread().ident or 0
