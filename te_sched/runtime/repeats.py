"""Native loops that repeat a call, for timing: one for all functions of the same argument types.

Must not know what the functions compute.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

from te_sched.codegen.llvm.types import argument_type
from te_sched.codegen.signature import Signature
from te_sched.runtime import interrupts, jit


class _Record(ctypes.Structure):
    """Which function is called how often; then, how long that took."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("nanoseconds", ctypes.c_int64),
    )


def repeat_call(
    signature: Signature, function: Any, count: int, values: list[Any]
) -> tuple[int, float]:
    """Call a ctypes function of a signature `count` times with native arguments, unless one fails.

    Returns the error code, and the seconds that the calls took.
    """
    types = [
        "ptr" if parameter.kind != "scalar" else argument_type(parameter.dtype)
        for parameter in signature.parameters
    ]
    types += [argument_type(symbol.dtype) for symbol in signature.symbols if symbol.passed]
    types += ["ptr"] if signature.result else []
    address = _loop(tuple(types)).address("repeat")
    record = _Record(ctypes.cast(function, ctypes.c_void_p).value, count, 0)
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *function.argtypes)(address)
    code: int = native(ctypes.addressof(record), *values)
    return code, record.nanoseconds / 1e9


@lru_cache(maxsize=256)
def _loop(types: tuple[str, ...]) -> jit.Linked:
    imports = {name: interrupts.address(name) for name in ("now", "poll")}
    return jit.link_text(_loop_text(types), ("repeat",), imports)


def _loop_text(types: tuple[str, ...]) -> str:
    """int32 repeat(record, arguments...). It polls, for calls that do not poll themselves."""
    arguments = ", ".join(f"{kind} %a{number}" for number, kind in enumerate(types))
    return f"""
declare i64 @now()
declare i32 @poll()
define i32 @repeat({", ".join(filter(None, ("ptr %record", arguments)))}) nounwind {{
entry:
  %function = load ptr, ptr %record
  %count.at = getelementptr i64, ptr %record, i64 1
  %count = load i64, ptr %count.at
  %start = call i64 @now()
  br label %head
head:
  %done = phi i64 [ 0, %entry ], [ %next, %further ], [ %next, %ask ]
  %more = icmp slt i64 %done, %count
  br i1 %more, label %again, label %good
again:
  %code = call i32 %function({arguments})
  %next = add nsw i64 %done, 1
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %bad, label %further
further:
  %turn = and i64 %next, 15
  %asks = icmp eq i64 %turn, 0
  br i1 %asks, label %ask, label %head
ask:
  %asked = call i32 @poll()
  %stops = icmp ne i32 %asked, 0
  br i1 %stops, label %bad, label %head
good:
  %stop = call i64 @now()
  %nanoseconds = sub i64 %stop, %start
  %spent = getelementptr i64, ptr %record, i64 2
  store i64 %nanoseconds, ptr %spent
  ret i32 0
bad:
  %result = phi i32 [ %code, %again ], [ %asked, %ask ]
  ret i32 %result
}}"""
