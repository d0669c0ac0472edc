"""Whether a program certainly reads beyond a tensor.

An index that is a sum of loop variables, none of which a condition limits, takes its smallest and
its largest value. Where these lie outside of the tensor, the program reads memory of others, and
`build` refuses it. Other indices are not judged here. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from te_sched.errors import BuildError
from te_sched.ir.expr import (
    Add,
    And,
    BufferLoad,
    Call,
    Expr,
    IntImm,
    Mul,
    Or,
    Select,
    Sub,
    Var,
)
from te_sched.ir.stmt import AttrStmt, BufferStore, For, IfThenElse, PrimFunc, Stmt, While
from te_sched.ir.visitor import children, walk

# The values that a variable takes, all of them: from the first to the second.
_Ranges = dict[Var, tuple[int, int]]


def check_reads(func: PrimFunc) -> None:
    """Refuse a program that certainly reads outside of a buffer.

    `func` is a program whose buffers still have the shapes of their tensors.

    Raises
    ------
    BuildError for the first such read.
    """
    _statement(func.body, {}, "")


def _statement(node: Any, ranges: _Ranges, target: str) -> None:
    kind = type(node)
    if kind is For:
        if not (isinstance(node.min, IntImm) and isinstance(node.extent, IntImm)):
            _below(node, _without(ranges, [node.loop_var]), target)
        elif node.extent.value > 0:
            span = (node.min.value, node.min.value + node.extent.value - 1)
            _below(node, ranges | {node.loop_var: span}, target)
    elif kind is AttrStmt and node.key in ("thread_extent", "virtual_thread"):
        inner = ranges
        if isinstance(node.value, IntImm) and node.value.value > 0:
            inner = ranges | {node.node.var: (0, node.value.value - 1)}
        _below(node, inner, target)
    elif kind is IfThenElse or kind is While:
        _expression(node.condition, ranges, target)
        inner = _limited(ranges, node.condition)
        for part in children(node):
            if isinstance(part, Stmt):
                _statement(part, inner, target)
    elif kind is BufferStore:
        _below(node, ranges, node.buffer.name)
    else:
        _below(node, ranges, target)


def _below(node: Any, ranges: _Ranges, target: str) -> None:
    for part in children(node):
        if isinstance(part, Stmt):
            _statement(part, ranges, target)
        elif isinstance(part, Expr):
            _expression(part, ranges, target)


def _expression(node: Any, ranges: _Ranges, target: str) -> None:
    kind = type(node)
    if kind is BufferLoad:
        _check(node, ranges, target)
    condition = None
    if kind is Select:
        condition = node.condition
    elif kind is Call and node.op == "tir.if_then_else":
        condition = node.args[0]
    elif kind is And or kind is Or:
        condition = node.a
    if condition is None:
        for part in children(node):
            _expression(part, ranges, target)
        return
    _expression(condition, ranges, target)
    inner = _limited(ranges, condition)
    for part in children(node):
        if part is not condition:
            _expression(part, inner, target)


def _limited(ranges: _Ranges, condition: Expr) -> _Ranges:
    """The ranges where a condition holds or not: what it speaks of may not take all its values."""
    return _without(ranges, (part for part in walk(condition) if type(part) is Var))


def _without(ranges: _Ranges, variables: Iterable[Var]) -> _Ranges:
    gone = set(variables)
    return {var: span for var, span in ranges.items() if var not in gone}


def _check(load: BufferLoad, ranges: _Ranges, target: str) -> None:
    buffer = load.buffer
    for number, (index, extent) in enumerate(zip(load.indices, buffer.shape, strict=True)):
        if not isinstance(extent, IntImm):
            continue
        span = _span(index, ranges)
        if span is None or (span[0] >= 0 and span[1] < extent.value):
            continue
        wrong = span[0] if span[0] < 0 else span[1]
        raise BuildError(
            f"build a program that reads {buffer.name} at {wrong} in dimension {number}",
            f"the index {index!s} runs from {span[0]} to {span[1]}, and {buffer.name} has "
            f"{extent.value} elements there",
            "declare the tensor larger or the computation smaller, or guard the read: "
            "te.if_then_else(te.all(...), A[...], 0.0)",
            f"stage {target}" if target else "",
        )


def _span(index: Expr, ranges: _Ranges) -> tuple[int, int] | None:
    """The smallest and the largest value of a sum of variables; None for what is no such sum."""
    scales: dict[Var, int] = {}
    base = _collect(index, 1, scales)
    if base is None or any(var not in ranges for var in scales):
        return None
    low = high = base
    for var, scale in scales.items():
        ends = (scale * ranges[var][0], scale * ranges[var][1])
        low, high = low + min(ends), high + max(ends)
    return low, high


def _collect(node: Any, factor: int, scales: dict[Var, int]) -> int | None:
    """Add `factor` times an expression to the scales of variables; gives its constant part."""
    kind = type(node)
    if kind is IntImm:
        return factor * int(node.value)
    if kind is Var:
        scales[node] = scales.get(node, 0) + factor
        return 0
    if kind is Add or kind is Sub:
        a = _collect(node.a, factor, scales)
        b = _collect(node.b, factor if kind is Add else -factor, scales)
        return None if a is None or b is None else a + b
    if kind is Mul and type(node.b) is IntImm:
        return _collect(node.a, factor * node.b.value, scales)
    if kind is Mul and type(node.a) is IntImm:
        return _collect(node.b, factor * node.a.value, scales)
    return None
