"""Constant intervals: the minimum and maximum of an expression.

Owns saturating interval arithmetic on integers. TVM assumes that nothing overflows; `exact` bounds,
for proofs and for programs to run, take into account that computations with integers in memory wrap
around. Must not know how expressions are rewritten.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from te_sched.arith.fold import ceil_log2, log2_in
from te_sched.ir import dtypes
from te_sched.ir.data import DataDependence
from te_sched.ir.expr import (
    Add,
    Call,
    Cast,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Range,
    Sub,
    Var,
)
from te_sched.ir.ops import truncate_division
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Visitor

INFINITY = (1 << 63) - 1
ConstBound = tuple[int, int]
EVERYTHING: ConstBound = (-INFINITY, INFINITY)


@cache
def of_dtype(dtype: str) -> ConstBound:
    """The range of a dtype."""
    kind = dtypes.parse(dtype)
    if kind.code == "bool":
        return (0, 1)
    if kind.code == "int" and kind.bits < 64:
        return (-(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1)
    if kind.code == "uint":
        return (0, (1 << kind.bits) - 1 if kind.bits < 64 else INFINITY)
    return EVERYTHING


def _clamp(value: int) -> int:
    return INFINITY if value > INFINITY else -INFINITY if value < -INFINITY else value


def add(x: int, y: int) -> int:
    """x + y where either may be infinite (an infinite x wins)."""
    if x == INFINITY or x == -INFINITY:
        return x
    return y if y == INFINITY or y == -INFINITY else _clamp(x + y)


def _mul(x: int, y: int) -> int:
    return _clamp(x * y)


def _corners(a: ConstBound, b: ConstBound, function: Callable[[int, int], int]) -> ConstBound:
    values = [function(x, y) for x in a for y in b]
    return min(values), max(values)


def _division(divide: Callable[[int, int], int]) -> Callable[[ConstBound, ConstBound], ConstBound]:
    """The interval of a quotient; the divisor is not zero at run time."""

    def quotient(x: int, y: int) -> int:
        if x == INFINITY or x == -INFINITY:
            return x if y > 0 else -x
        return divide(x, y)

    def quotients(a: ConstBound, b: ConstBound) -> ConstBound:
        low, high = b
        if low > 0 or high < 0:
            return _corners(a, b, quotient)
        ends: list[int] = []
        if low < 0:
            ends += _corners(a, (low, -1), quotient)
        if high > 0:
            ends += _corners(a, (1, high), quotient)
        return (min(ends), max(ends)) if ends else EVERYTHING

    return quotients


class ConstBounds(Visitor):
    """The constant intervals of expressions, under known facts."""

    __slots__ = ("__weakref__", "data", "exact", "facts", "memo", "variables")

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.data = DataDependence()
        self.variables: dict[Var, ConstBound] = {}
        self.facts: list[tuple[Expr, int, int]] = []
        self.memo: dict[Expr, ConstBound] = {}

    def bind(self, var: Var, value: Range | Expr) -> None:
        """Set the value or the range of a variable."""
        if isinstance(value, Range):
            low, high = self.of(value.min), self.of(value.extent)
            self.variables[var] = (low[0], add(low[1], add(high[1], -1)))
        else:
            self.variables[var] = self.of(value)
            if self.exact and self.data.of(value):
                self.data.add(var)

    def of(self, e: Expr) -> ConstBound:
        """The minimum and maximum of e."""
        kind = type(e)
        if kind is IntImm:
            return (e.value, e.value)  # type: ignore[attr-defined]
        if kind is Var and not self.facts:
            var_bound = self.variables.get(e)  # type: ignore[call-overload]
            return var_bound if var_bound is not None else _free_var(e)
        bound: ConstBound | None = self.memo.get(e)
        if bound is None:
            combine = BINARY.get(kind)
            if combine is not None:
                bound = combine(self.of(e.a), self.of(e.b))  # type: ignore[attr-defined]
            else:
                method = self.methods.get(kind)
                bound = method(self, e) if method is not None else of_dtype(e.dtype)
            if self.exact and self.wraps(e, bound) and self.data.of(e):
                bound = of_dtype(e.dtype)
            if self.facts:
                bound = self.within_facts(e, bound)
            self.memo[e] = bound
        return bound

    def wraps(self, e: Any, interval: ConstBound | None = None) -> bool:
        """Whether an integer operation with results in an interval may overflow its type."""
        kind = type(e)
        if kind not in _WRAPPING or not dtypes.is_integral(e.dtype):
            return False
        if interval is None:
            combine = BINARY.get(kind)
            interval = combine(self.of(e.a), self.of(e.b)) if combine else self.visit_Call(e)
        low, high = interval
        least, most = of_dtype(e.dtype)
        return low < max(least, 1 - INFINITY) or high > min(most, INFINITY - 1)

    def within_facts(self, e: Expr, interval: ConstBound) -> ConstBound:
        """The interval of e, intersected with facts about structurally equal expressions."""
        low, high = interval
        for fact, fact_low, fact_high in self.facts:
            if type(fact) is type(e) and same(fact, e):
                low, high = max(low, fact_low), min(high, fact_high)
        return low, high

    def visit_Var(self, e: Any) -> ConstBound:
        bound = self.variables.get(e)
        return bound if bound is not None else _free_var(e)

    def visit_Broadcast(self, e: Any) -> ConstBound:
        return self.of(e.value)

    def visit_Select(self, e: Any) -> ConstBound:
        a, b = self.of(e.true_value), self.of(e.false_value)
        return min(a[0], b[0]), max(a[1], b[1])

    def visit_Cast(self, e: Any) -> ConstBound:
        whole, value = of_dtype(e.dtype), e.value
        if dtypes.is_float(value.dtype):
            x = log2_in(value)
            if type(x) is Cast and not self.exact:
                low, high = self.of(x.value)
                return (ceil_log2(low), ceil_log2(high)) if low > 0 and high < INFINITY else whole
            if type(value) is not Cast or (self.exact and not self._is_kept(value)):
                return whole
            value = value.value
        if not (dtypes.is_integral(value.dtype) or dtypes.is_bool(value.dtype)):
            return whole
        low, high = self.of(value)
        if not self.exact:  # as in TVM, clamped to the range of the dtype
            kept = max(low, whole[0]), min(high, whole[1])
            return kept if kept[0] <= kept[1] else whole
        # A value that overflows wraps around, so the result may be any value of the dtype.
        is_wide = high == INFINITY and dtypes.is_uint(value.dtype) and not dtypes.is_uint(e.dtype)
        return (low, high) if whole[0] <= low and high <= whole[1] and not is_wide else whole

    def _is_kept(self, e: Any) -> bool:
        """Whether a float represents all values of the integer converted to it."""
        if not (dtypes.is_integral(e.value.dtype) or dtypes.is_bool(e.value.dtype)):
            return False
        low, high = self.of(e.value)
        most = 1 << _DIGITS.get(dtypes.element(e.dtype), 0)
        return -most <= low and high <= most

    def visit_Ramp(self, e: Any) -> ConstBound:
        if dtypes.is_scalable(e.dtype):
            return of_dtype(e.dtype)
        base, stride = self.of(e.base), self.of(e.stride)
        last = _corners(stride, (e.lanes - 1, e.lanes - 1), _mul)
        return add(base[0], min(0, last[0])), add(base[1], max(0, last[1]))

    def visit_Let(self, e: Any) -> ConstBound:
        self.bind(e.var, e.value)
        return self.of(e.body)

    def visit_Call(self, e: Any) -> ConstBound:
        method = _CALLS.get(e.op)
        return method(self, e) if method is not None else of_dtype(e.dtype)


def _free_var(e: Any) -> ConstBound:
    return (0, INFINITY) if e.is_size else of_dtype(e.dtype)


def _sum(a: ConstBound, b: ConstBound) -> ConstBound:
    return add(a[0], b[0]), add(a[1], b[1])


def _difference(a: ConstBound, b: ConstBound) -> ConstBound:
    return add(a[0], -b[1]), add(a[1], -b[0])


def _product(a: ConstBound, b: ConstBound) -> ConstBound:
    if b[0] == b[1] and b[0] > 0:
        return _mul(a[0], b[0]), _mul(a[1], b[0])
    return _corners(a, b, _mul)


def _floor_remainder(a: ConstBound, b: ConstBound) -> ConstBound:
    if b[0] > 0:
        if a[0] >= 0 and a[1] < b[0]:
            return a
        return 0, (add(b[1], -1) if a[0] < 0 else min(a[1], add(b[1], -1)))
    if b[0] == 0 and b[1] == 0:
        return EVERYTHING
    return min(0, add(b[0], 1)), max(0, add(b[1], -1))


def _trunc_remainder(a: ConstBound, b: ConstBound) -> ConstBound:
    reach = add(max(abs(b[0]), abs(b[1])), -1)
    if b[0] > 0 and a[0] >= 0 and a[1] < b[0]:
        return a
    return max(-reach, min(a[0], 0)), min(reach, max(a[1], 0))


# The interval of an operation, of those of its operands.
BINARY: dict[type, Callable[[ConstBound, ConstBound], ConstBound]] = {
    Add: _sum,
    Sub: _difference,
    Mul: _product,
    FloorDiv: _division(operator.floordiv),
    FloorMod: _floor_remainder,
    Div: _division(truncate_division),
    Mod: _trunc_remainder,
    Min: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    Max: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}  # of a mantissa
_DIGITS |= {"e4m3_float8": 4, "e5m2_float8": 3}


def _shift(function: Callable[[int, int], int]) -> Callable[[ConstBounds, Any], ConstBound]:
    def shifted(self: ConstBounds, e: Any) -> ConstBound:
        a, b = self.of(e.args[0]), self.of(e.args[1])
        return of_dtype(e.dtype) if b[0] < 0 or b[1] >= 63 else _corners(a, b, function)

    return shifted


def _bitwise_and(self: ConstBounds, e: Any) -> ConstBound:
    a, b = self.of(e.args[0]), self.of(e.args[1])
    if a[0] >= 0 and b[0] >= 0:
        return 0, min(a[1], b[1])
    if b[0] >= 0:
        return 0, b[1]
    return (0, a[1]) if a[0] >= 0 else of_dtype(e.dtype)


_CALLS: dict[str, Callable[[ConstBounds, Any], ConstBound]] = {
    "tir.likely": lambda self, e: self.of(e.args[0]),
    "tir.shift_right": _shift(lambda x, y: x if abs(x) == INFINITY else x >> y),
    "tir.shift_left": _shift(lambda x, y: _mul(x, 1 << y)),
    "tir.bitwise_and": _bitwise_and,
}

_WRAPPING = frozenset((Add, Sub, Mul, FloorDiv, Div, Call))
