"""Calls of compiled functions, one after the other, without Python in between.

A table has the functions and their arguments, which are addresses of memory and numbers: each is
one of some bases, which a run gets, and an offset from it. Must not know what the functions do.

    table   function, number of arguments, then a base and an offset for each argument; ...
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

from te_sched.locks import once
from te_sched.runtime import jit, threads
from te_sched.runtime.module import Function

MOST_ARGUMENTS = 24  # of functions that are called from the table

# The number of a base, and an offset from it.
Place = tuple[int, float]
# A function, arguments like those of each run, and where these are.
Step = tuple[Function, Sequence[object], Sequence[Place]]
# Memory for the bases of one call, and what runs the table with them.
_Frame = tuple[bytearray, Callable[[], int]]


class CallSequence:
    """Calls of functions on arrays like those that are given, and on numbers.

    Functions with other arguments than addresses and integers of 64 bits, or with too many, are
    called from Python.
    """

    def __init__(self, steps: Sequence[Step], bases: int) -> None:
        """Each of `steps` is checked here once; runs get a number of `bases`."""
        self._set_bases = struct.Struct(f"{bases}q").pack_into
        self._size = 8 * bases
        self._frames: list[_Frame] = []  # that no call is using
        self._is_parallel = any(function.signature.parallel for function, *_ in steps)
        self._functions = [function for function, *_ in steps]
        self._table: ctypes.Array[ctypes.c_int64] | None = None
        self._calls: list[tuple[Callable[..., None], Sequence[Place]]] = []
        rows = [_row(step, bases - 1) for step in steps]
        words = [word for row in rows if row is not None for word in row]
        if None in rows:
            self._calls = [(step[0].bound(*step[1]), step[2]) for step in steps]
        else:
            self._table = (ctypes.c_int64 * len(words))(*words)
            self._starts = [0, *accumulate(len(row or ()) for row in rows)]
            self._words = len(words)

    def run(self, bases: Sequence[int]) -> None:
        """Run all calls; the last base must be 0."""
        if self._is_parallel and not threads.is_ready:
            threads.prepare()
        if self._table is None:
            for function, places in self._calls:
                function(*[bases[base] + offset for base, offset in places])
            return
        frames = self._frames
        try:  # other threads may run it, too
            frame = frames.pop()
        except IndexError:
            frame = self._new_frame(self._table)
        memory, call = frame
        self._set_bases(memory, 0, *bases)
        code = call()
        if code:  # it says where, in place of the first base
            (word,) = struct.unpack_from("q", memory)
            self._functions[self._starts.index(word)]._fail(code, ())
        frames.append(frame)

    def _new_frame(self, table: ctypes.Array[ctypes.c_int64]) -> _Frame:
        memory = bytearray(self._size)
        start = ctypes.addressof((ctypes.c_char * 0).from_buffer(memory))
        return memory, partial(_runner(), ctypes.addressof(table), self._words, start)


def _row(step: Step, zero: int) -> list[int] | None:
    """The words of a call in the table, with the number of the base that is 0; None without any."""
    function, args, places = step
    address, extra = function.native_call(*args)
    places = [*places, *[(zero, number) for number in extra]]
    offsets = [int(offset) for _, offset in places]
    is_exact = offsets == [offset for _, offset in places]
    if not address or not is_exact or len(places) > MOST_ARGUMENTS:
        return None
    words = [
        word for (base, _), offset in zip(places, offsets, strict=True) for word in (base, offset)
    ]
    return [address, len(places), *words]


@once
def _runner() -> Callable[..., int]:
    """int32 (table, its words, bases); the number of the word at which a call that failed begins
    replaces the first base.
    """
    linked = jit.link_text(_text(), ("run_calls",), {})
    types = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p]
    run = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(linked.address("run_calls"))
    _linked.append(linked)
    return run


_linked: list[jit.Linked] = []  # which owns the code


def _text() -> str:
    """The LLVM text of the function that runs a table."""
    counts = range(MOST_ARGUMENTS + 1)
    cases = " ".join(f"i64 {count}, label %call.{count}" for count in counts)
    values, calls = [], []
    for number in range(MOST_ARGUMENTS):
        values.append(f"  %at.{number} = getelementptr i64, ptr %args, i64 {number}")
    for count in counts:
        loads = [f"  %a.{count}.{n} = load i64, ptr %at.{n}\n" for n in range(count)]
        parameters = ", ".join(f"i64 %a.{count}.{number}" for number in range(count))
        calls.append(
            f"call.{count}:\n{''.join(loads)}  %code.{count} = call i32 %function({parameters})\n"
            f"  br label %done\n"
        )
    codes = ", ".join(f"[ %code.{count}, %call.{count} ]" for count in counts)
    places = "\n".join(values)
    return f"""
define i32 @run_calls(ptr %table, i64 %words, ptr %bases) {{
entry:
  %args = alloca [{MOST_ARGUMENTS} x i64]
{places}
  br label %next
next:
  %word = phi i64 [ 0, %entry ], [ %end, %done ]
  %more = icmp slt i64 %word, %words
  br i1 %more, label %begin, label %good
begin:
  %at = getelementptr i64, ptr %table, i64 %word
  %function = load ptr, ptr %at
  %count.at = getelementptr i64, ptr %at, i64 1
  %count = load i64, ptr %count.at
  %first = getelementptr i64, ptr %at, i64 2
  %size = mul i64 %count, 2
  %whole = add i64 %size, 2
  %end = add i64 %word, %whole
  br label %argument
argument:
  %number = phi i64 [ 0, %begin ], [ %following, %set ]
  %has = icmp slt i64 %number, %count
  br i1 %has, label %set, label %ready
set:
  %twice = mul i64 %number, 2
  %base.at = getelementptr i64, ptr %first, i64 %twice
  %base.number = load i64, ptr %base.at
  %offset.at = getelementptr i64, ptr %base.at, i64 1
  %offset = load i64, ptr %offset.at
  %from = getelementptr i64, ptr %bases, i64 %base.number
  %base = load i64, ptr %from
  %value = add i64 %base, %offset
  %to = getelementptr i64, ptr %args, i64 %number
  store i64 %value, ptr %to
  %following = add i64 %number, 1
  br label %argument
ready:
  switch i64 %count, label %good [ {cases} ]
{"".join(calls)}done:
  %code = phi i32 {codes}
  %failed = icmp ne i32 %code, 0
  br i1 %failed, label %bad, label %next
bad:
  store i64 %word, ptr %bases
  ret i32 %code
good:
  ret i32 0
}}
"""
