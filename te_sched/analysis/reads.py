"""Whether a program certainly reads beyond a tensor.

An index that is a sum of loop variables, none of which a condition limits, takes its smallest and
its largest value. Where these lie outside of the tensor, the program reads memory of others, and
`build` refuses it. Where that depends on the sizes of the call, and no condition is asked before
the read, the call is refused. Other indices are not judged here. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from te_sched.analysis.sizes import Size
from te_sched.errors import BuildError
from te_sched.ir import ops
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


class _Sum:
    """A constant and multiples of variables."""

    __slots__ = ("base", "scales")

    def __init__(self, base: int, scales: dict[Var, int]) -> None:
        self.base = base
        self.scales = {var: scale for var, scale in scales.items() if scale}

    def plus(self, other: _Sum, factor: int = 1) -> _Sum:
        scales = dict(self.scales)
        for var, scale in other.scales.items():
            scales[var] = scales.get(var, 0) + factor * scale
        return _Sum(self.base + factor * other.base, scales)

    def expr(self, dtype: str) -> Expr:
        total: Expr = IntImm(0, dtype)
        for var, scale in self.scales.items():
            total = total + var.astype(dtype) * IntImm(scale, dtype)
        return ops.add(total, IntImm(self.base, dtype))


# The values that a variable takes, all of them: from the first to the second.
_Ranges = dict[Var, tuple[_Sum, _Sum]]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the program a read stands: in which loops, below conditions, for which tensor.

    `extents` are those of the loops that may be empty.
    """

    ranges: _Ranges
    target: str = ""
    is_sure: bool = True
    extents: tuple[Expr, ...] = ()


def check_reads(func: PrimFunc) -> list[Size]:
    """Refuse a program that certainly reads outside of a buffer; gives what calls must fulfil.

    `func` is a program whose buffers still have the shapes of their tensors.

    Raises
    ------
    BuildError for the first such read.
    """
    shapes = [extent for buffer in func.buffer_map.values() for extent in buffer.shape]
    symbols = {part for one in (*func.params, *shapes) for part in walk(one) if type(part) is Var}
    reads = _Reads(symbols)
    reads.statement(func.body, _Place({}))
    return reads.sizes


class _Reads:
    def __init__(self, symbols: set[Var]) -> None:
        self.symbols = symbols
        self.sizes: list[Size] = []

    def statement(self, node: Any, place: _Place) -> None:
        kind = type(node)
        if kind is For:
            if not (isinstance(node.extent, IntImm) and node.extent.value <= 0):
                self.below(node, self.inside(node, place))
        elif kind is AttrStmt and node.key in ("thread_extent", "virtual_thread"):
            inner = place
            if isinstance(node.value, IntImm) and node.value.value > 0:
                span = (_Sum(0, {}), _Sum(node.value.value - 1, {}))
                inner = replace(place, ranges=place.ranges | {node.node.var: span})
            self.below(node, inner)
        elif kind is IfThenElse or kind is While:
            self.expression(node.condition, place)
            inner = _limited(place, node.condition)
            for part in children(node):
                if isinstance(part, Stmt):
                    self.statement(part, inner)
        elif kind is BufferStore:
            self.below(node, replace(place, target=node.buffer.name))
        else:
            self.below(node, place)

    def inside(self, loop: For, place: _Place) -> _Place:
        """What is known in the body of a loop."""
        start, count = _sum_of(loop.min), _sum_of(loop.extent)
        if start is None or count is None or not self.symbols.issuperset(count.scales):
            unknown = _without(place, [loop.loop_var])
            # It may be empty, and does not say when.
            return unknown if isinstance(loop.extent, IntImm) else replace(unknown, is_sure=False)
        last = start.plus(count).plus(_Sum(-1, {}))
        extents = (*place.extents, loop.extent) if count.scales else place.extents
        ranges = place.ranges | {loop.loop_var: (start, last)}
        return replace(place, ranges=ranges, extents=extents)

    def below(self, node: Any, place: _Place) -> None:
        for part in children(node):
            if isinstance(part, Stmt):
                self.statement(part, place)
            elif isinstance(part, Expr):
                self.expression(part, place)

    def expression(self, node: Any, place: _Place) -> None:
        kind = type(node)
        if kind is BufferLoad:
            self.check(node, place)
        condition = None
        if kind is Select:
            condition = node.condition
        elif kind is Call and node.op == "tir.if_then_else":
            condition = node.args[0]
        elif kind is And or kind is Or:
            condition = node.a
        elif kind is Call and node.op == "tir.tvm_thread_allreduce":
            # Threads out of the condition add nothing: their values are not read.
            count = node.args[0]
            given = node.args[1 + count.value] if isinstance(count, IntImm) else None
            condition = None if isinstance(given, IntImm) else given
        if condition is None:
            for part in children(node):
                self.expression(part, place)
            return
        self.expression(condition, place)
        inner = _limited(place, condition)
        for part in children(node):
            if part is not condition:
                self.expression(part, inner)

    def check(self, load: BufferLoad, place: _Place) -> None:
        for number, (index, extent) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
            span, whole = self.span(index, place.ranges), _sum_of(extent)
            if span is None or whole is None:
                continue
            low, high = span
            rest = whole.plus(high, -1).plus(_Sum(-1, {}))
            if (not low.scales and low.base < 0) or (not rest.scales and rest.base < 0):
                raise _refusal(load, number, span, place.target)
            if place.is_sure:
                self.require(load, number, span, rest, place)

    def require(
        self, load: BufferLoad, number: int, span: tuple[_Sum, _Sum], rest: _Sum, place: _Place
    ) -> None:
        """Add what a call must fulfil, where that depends on its sizes."""
        index, name = load.indices[number], load.buffer.name
        low, high = span
        if low.scales:
            what = f"the least index {index} in dimension {number} of {name}"
            self.sizes.append(
                Size(what, low.expr(index.dtype), 0, "an index is 0 or more", place.extents)
            )
        if rest.scales:
            least = high.plus(_Sum(1, {})).expr(index.dtype)
            why = f"the program reads it at {index}"
            what = f"dimension {number} of {name}"
            self.sizes.append(Size(what, load.buffer.shape[number], least, why, place.extents))

    def span(self, index: Expr, ranges: _Ranges) -> tuple[_Sum, _Sum] | None:
        """The smallest and the largest value of a sum of variables; None of what is no such sum."""
        total = _sum_of(index)
        if total is None:
            return None
        low = high = _Sum(total.base, {})
        for var, scale in total.scales.items():
            if var in ranges:
                ends = ranges[var] if scale > 0 else ranges[var][::-1]
            elif var in self.symbols:
                ends = (_Sum(0, {var: 1}),) * 2
            else:
                return None
            low, high = low.plus(ends[0], scale), high.plus(ends[1], scale)
        return low, high


def _limited(place: _Place, condition: Expr) -> _Place:
    """Where a condition holds or not: what it speaks of may not take all its values."""
    speaks = (part for part in walk(condition) if type(part) is Var)
    return replace(_without(place, speaks), is_sure=False)


def _without(place: _Place, variables: Iterable[Var]) -> _Place:
    gone = set(variables)
    ranges = {var: span for var, span in place.ranges.items() if var not in gone}
    return replace(place, ranges=ranges)


def _refusal(load: BufferLoad, number: int, span: tuple[_Sum, _Sum], target: str) -> BuildError:
    index, name = load.indices[number], load.buffer.name
    low, high = (end.expr(index.dtype) for end in span)
    wrong = low if not span[0].scales and span[0].base < 0 else high
    return BuildError(
        f"build a program that reads {name} at {wrong} in dimension {number}",
        f"the index {index!s} runs from {low} to {high}, and {name} has "
        f"{load.buffer.shape[number]} elements there",
        "declare the tensor larger or the computation smaller, or guard the read: "
        "te.if_then_else(te.all(...), A[...], 0.0)",
        f"stage {target}" if target else "",
    )


def _sum_of(value: Expr) -> _Sum | None:
    """An expression as a sum of variables; None for what is no such sum."""
    scales: dict[Var, int] = {}
    base = _collect(value, 1, scales)
    return None if base is None else _Sum(base, scales)


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
