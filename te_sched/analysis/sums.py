"""Sums of variables: what an index is mostly, and between which ends it runs.

Must not know statements.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, IntImm, Mul, Sub, Var


class Sum:
    """A constant and multiples of variables."""

    __slots__ = ("base", "scales")

    def __init__(self, base: int, scales: dict[Var, int]) -> None:
        self.base = base
        self.scales = {var: scale for var, scale in scales.items() if scale}

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """self + factor * other"""
        scales = dict(self.scales)
        for var, scale in other.scales.items():
            scales[var] = scales.get(var, 0) + factor * scale
        return Sum(self.base + factor * other.base, scales)

    def expr(self, dtype: str) -> Expr:
        """The sum as an expression."""
        total: Expr = IntImm(0, dtype)
        for var, scale in self.scales.items():
            total = total + var.astype(dtype) * IntImm(scale, dtype)
        return ops.add(total, IntImm(self.base, dtype))


# The first and the last of the values that a variable takes, all of them.
Span = tuple[Sum, Sum]


def span_of(index: Expr, ranges: Mapping[Var, Span], symbols: Container[Var]) -> Span | None:
    """The smallest and the largest value of a sum of variables; None of what is no such sum."""
    total = sum_of(index)
    if total is None:
        return None
    low = high = Sum(total.base, {})
    for var, scale in total.scales.items():
        if var in ranges:
            ends = ranges[var] if scale > 0 else ranges[var][::-1]
        elif var in symbols:
            ends = (Sum(0, {var: 1}),) * 2
        else:
            return None
        low, high = low.plus(ends[0], scale), high.plus(ends[1], scale)
    return low, high


def sum_of(value: Expr) -> Sum | None:
    """An expression as a sum of variables; None for what is no such sum."""
    scales: dict[Var, int] = {}
    base = _collect(value, 1, scales)
    return None if base is None else Sum(base, scales)


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
