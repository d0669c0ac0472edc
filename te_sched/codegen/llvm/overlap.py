"""Checks of overlapping arguments: code may assume that outputs overlap no argument.

Must not know statements.
"""

from __future__ import annotations

from typing import NamedTuple

from te_sched.codegen.llvm.casts import cast
from te_sched.codegen.llvm.expressions import evaluate_index
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.types import Value, integer, unknown
from te_sched.codegen.signature import Signature
from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.shared_arguments import pairs_to_check, shared_memory_fault
from te_sched.ir.stmt import PrimFunc


class _Place(NamedTuple):
    """Where an argument lies: its first address and the one after its last.

    `step` is the distance in bytes of its rows, which have gaps, and `row` the bytes from the first
    of a row to the one after its last; None without gaps.
    """

    name: str
    low: str
    high: str
    may_be_empty: bool
    step: Value | None
    row: Value | None


def check_overlap(out: FunctionText, func: PrimFunc, signature: Signature) -> None:
    """Leave with an error where arguments share memory that may not."""
    places: dict[int, _Place | None] = {}
    is_written = [parameter.written for parameter in signature.parameters]
    for pair in pairs_to_check(func, is_written.__getitem__):
        for number in (pair.written, pair.other):
            if number not in places:
                places[number] = _place(out, func.buffer_map[func.params[number]])
        written, other = places[pair.written], places[pair.other]
        if written is not None and other is not None:
            _check_pair(out, other, written, pair.may_be_same)


def _check_pair(out: FunctionText, other: _Place, written: _Place, may_be_same: bool) -> None:
    tests = [(written.low, other.high, "ult"), (other.low, written.high, "ult")]
    tests += [(span.low, span.high, "ne") for span in (other, written) if span.may_be_empty]
    if may_be_same:
        tests.append((written.low, other.low, "ne"))
    shared = ""
    for left, right, predicate in tests:
        test = out.emit(f"icmp {predicate} ptr {left}, {right}")
        shared = out.emit(f"and i1 {shared}, {test}") if shared else test
    alternate = _alternate(out, other, written)
    if alternate:
        shared = out.emit(f"and i1 {shared}, {out.emit(f'xor i1 {alternate}, true')}")
    out.fail_if(shared, *shared_memory_fault(written.name, other.name))


def _alternate(out: FunctionText, other: _Place, written: _Place) -> str:
    """Whether each row of one lies between two rows of the other, such as the left and the right
    half of a matrix; "" where there is nothing to ask.
    """
    if other.step is None or other.row is None or written.step is None or written.row is None:
        return ""
    low, start = (out.emit(f"ptrtoint ptr {span.low} to i64") for span in (other, written))
    apart = out.emit(f"sub i64 {start}, {low}")
    step = out.emit(f"call i64 @llvm.smax.i64(i64 {other.step.text}, i64 1)")
    out.module.declare("llvm.smax.i64", "i64", ("i64", "i64"))
    rest = out.emit(f"srem i64 {apart}, {step}")
    is_before = out.emit(f"icmp slt i64 {rest}, 0")
    raised = out.emit(f"add i64 {rest}, {step}")
    shift = out.emit(f"select i1 {is_before}, i64 {raised}, i64 {rest}")
    end = out.emit(f"add i64 {shift}, {written.row.text}")
    tests = [
        out.emit(f"icmp eq i64 {other.step.text}, {written.step.text}"),
        out.emit(f"icmp sge i64 {shift}, {other.row.text}"),
        out.emit(f"icmp sle i64 {end}, {step}"),
    ]
    return out.emit(f"and i1 {tests[0]}, {out.emit(f'and i1 {tests[1]}, {tests[2]}')}")


def _place(out: FunctionText, buffer: E.Buffer) -> _Place | None:
    """Where a buffer lies; None when it has no elements."""
    start = out.lookup(buffer.data).text
    item = integer(dtypes.storage_bytes(buffer.dtype), "int64")
    size = _arithmetic(out, "mul", _elements(out, buffer.shape, buffer.strides), item)
    if size.text == "0":
        return None
    step = row = None
    if buffer.strides:
        step = _arithmetic(out, "mul", _wide(out, buffer.strides[0]), item)
        inner = _elements(out, buffer.shape[1:], buffer.strides[1:])
        row = _arithmetic(out, "mul", inner, item)
    end = out.emit(f"getelementptr i8, ptr {start}, i64 {size.text}")
    return _Place(buffer.name, start, end, size.text.startswith("%"), step, row)


def _elements(
    out: FunctionText, shape: tuple[E.Expr, ...], strides: tuple[E.Expr, ...] | None
) -> Value:
    """How many elements lie between the first and the one after the last."""
    unit = integer(1, "int64")
    total = unit
    if not strides:
        for extent in shape:
            total = _arithmetic(out, "mul", total, _wide(out, extent))
        return total
    for extent, stride in zip(shape, strides, strict=True):
        steps = _arithmetic(out, "sub", _wide(out, extent), unit)
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
