"""Checks of overlapping arguments: generated code assumes that outputs overlap no argument.

Must not know statements.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import evaluate_index
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, integer, unknown
from te_sched.codegen.signature import Signature
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.stmt import PrimFunc


class _Place(NamedTuple):
    """Where an argument lies: its first address and the one after its last."""

    name: str
    written: bool
    low: str
    high: str
    may_be_empty: bool


def check_overlap(out: FunctionText, func: PrimFunc, signature: Signature) -> None:
    """Leave with an error where an output shares memory with another argument."""
    pairs = zip(func.params, signature.parameters, strict=True)
    buffers = [
        (func.buffer_map[param], parameter.written)
        for param, parameter in pairs
        if param in func.buffer_map
    ]
    if len(buffers) < 2 or not any(written for _, written in buffers):
        return
    places = [_place(out, buffer, written) for buffer, written in buffers]
    for a, b in combinations([place for place in places if place is not None], 2):
        if a.written or b.written:
            _check_pair(out, *((a, b) if b.written else (b, a)))


def _check_pair(out: FunctionText, other: _Place, written: _Place) -> None:
    tests = [(written.low, other.high, "ult"), (other.low, written.high, "ult")]
    tests += [(place.low, place.high, "ne") for place in (other, written) if place.may_be_empty]
    shared = ""
    for left, right, predicate in tests:
        test = out.emit(f"icmp {predicate} ptr {left}, {right}")
        shared = out.emit(f"and i1 {shared}, {test}") if shared else test
    out.fail_if(
        shared,
        f"call {out.signature.name!r}",
        f"argument {written.name}, which is written, shares memory with argument {other.name}",
        "pass a copy of one of them",
    )


def _place(out: FunctionText, buffer: E.Buffer, written: bool) -> _Place | None:
    """Where a buffer lies; None when it has no elements."""
    start = out.lookup(buffer.data).text
    item = integer(dtypes.storage_bytes(buffer.dtype), "int64")
    size = _arithmetic(out, "mul", _elements(out, buffer), item)
    if size.text == "0":
        return None
    end = out.emit(f"getelementptr i8, ptr {start}, i64 {size.text}")
    return _Place(buffer.name, written, start, end, size.text.startswith("%"))


def _elements(out: FunctionText, buffer: E.Buffer) -> Value:
    """How many elements lie between the first and the one after the last."""
    one = integer(1, "int64")
    total = one
    if not buffer.strides:
        for extent in buffer.shape:
            total = _arithmetic(out, "mul", total, _wide(out, extent))
        return total
    for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
        steps = _arithmetic(out, "sub", _wide(out, extent), one)
        reach = _arithmetic(out, "mul", steps, _wide(out, stride))
        total = _arithmetic(out, "add", total, reach)
    return total


def _wide(out: FunctionText, value: E.Expr) -> Value:
    return cast(out, evaluate_index(out, value), "int64")


def _arithmetic(out: FunctionText, name: str, a: Value, b: Value) -> Value:
    if a.lo == a.hi and b.lo == b.hi:
        results = {"add": a.lo + b.lo, "sub": a.lo - b.lo, "mul": a.lo * b.lo}
        return integer(results[name], "int64")
    return unknown(out.emit(f"{name} i64 {a.text}, {b.text}"), "int64", data=False)
