"""Integer sets as intervals with symbolic ends, and the values of an expression over such sets.

The engine of bound inference: the region of a tensor that is read is the set of the index
expressions. Ends are built by folding constants only; callers simplify where they need it. Must
not know schedules.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial, reduce
from typing import Any

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.interval import Interval
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    GE,
    GT,
    Add,
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
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import Visitor


class IntervalSet(Interval[Expr | None]):
    """The integers between two expressions; `NOTHING` is the empty set."""

    __slots__ = ()


EVERYTHING = IntervalSet(None, None)
# Compared by identity: an interval with constant ends is never this object.
NOTHING = IntervalSet(None, None)
Domains = Mapping[Var, IntervalSet]


def single_point(value: Expr) -> IntervalSet:
    """The set of one value."""
    return IntervalSet(value, value)


def from_range(bound: Range) -> IntervalSet:
    """The values of a range."""
    if type(bound.extent) is IntImm and bound.extent.value == 1:
        return single_point(bound.min)
    last = build.sub(build.add(bound.extent, bound.min), build.imm(1, bound.min.dtype))
    return IntervalSet(bound.min, last)


def is_nothing(interval: IntervalSet) -> bool:
    """Whether the set is empty."""
    return interval is NOTHING


def is_everything(interval: IntervalSet) -> bool:
    """Whether both ends are unknown."""
    return interval is not NOTHING and interval.min is None and interval.max is None


def is_single_point(interval: IntervalSet) -> bool:
    """Whether the set is one value by construction."""
    return interval.min is not None and interval.min is interval.max


def union(sets: Sequence[IntervalSet], settings: Lowering = AS_TVM) -> IntervalSet:
    """The smallest interval that contains all sets; simplified if there are several sets."""
    return _folded(_hull, sets, settings)


def _hull(a: IntervalSet, b: IntervalSet) -> IntervalSet:
    if a is NOTHING or b is NOTHING:
        return b if a is NOTHING else a
    return IntervalSet(_end(build.minimum, a.min, b.min), _end(build.maximum, a.max, b.max))


def intersect(sets: Sequence[IntervalSet], settings: Lowering = AS_TVM) -> IntervalSet:
    """The intersection of the sets; simplified if there are several sets."""
    return _folded(partial(_overlap, settings=settings), sets, settings)


def _overlap(a: IntervalSet, b: IntervalSet, settings: Lowering) -> IntervalSet:
    if a is NOTHING or b is NOTHING:
        return NOTHING
    low, high = _lesser(a.min, b.min, build.maximum), _lesser(a.max, b.max, build.minimum)
    if low is not None and high is not None and Analyzer(settings).can_prove(build.less(high, low)):
        return NOTHING
    return IntervalSet(low, high)


def _folded(
    combine: Callable[[IntervalSet, IntervalSet], IntervalSet],
    sets: Sequence[IntervalSet],
    settings: Lowering,
) -> IntervalSet:
    result = reduce(combine, sets) if sets else NOTHING
    if result is NOTHING or len(sets) < 2:
        return result
    return _mapped(Analyzer(settings).simplify, result)


def _mapped(function: Callable[[Expr], Expr], interval: IntervalSet) -> IntervalSet:
    """The interval between the images of its ends under a function."""
    return IntervalSet(*[None if end is None else function(end) for end in interval])


def cover_range(interval: IntervalSet, default: Range, settings: Lowering = AS_TVM) -> Range:
    """The range of the set, or the default if an end is unknown."""
    low, high = interval
    if low is None or high is None:
        return default
    extent = build.sub(build.add(high, build.imm(1, high.dtype)), low)
    is_number = type(extent) is IntImm
    return Range(low, extent if is_number else Analyzer(settings).simplify(extent))


def matches_range(interval: IntervalSet, bound: Range, settings: Lowering = AS_TVM) -> bool:
    """Whether the set is provably the values of the range."""
    low, high = interval
    if low is None or high is None:
        return False
    whole = from_range(bound)
    assert whole.min is not None
    assert whole.max is not None
    if same(whole.min, low) and same(whole.max, high):
        return True
    analyzer = Analyzer(settings)
    return analyzer.can_prove_equal(low, whole.min) and analyzer.can_prove_equal(high, whole.max)


def eval_set(e: Expr, domains: Domains, settings: Lowering = AS_TVM) -> IntervalSet:
    """The interval of an expression's values when each variable of `domains` runs over its set."""
    return _Evaluator(domains, settings).visit(e)


class _Evaluator(Visitor):
    """Evaluates expressions on sets."""

    def __init__(self, domains: Domains, settings: Lowering) -> None:
        self.domains, self.settings = domains, settings
        self._depth = 0
        self._found: dict[tuple[Var, int], IntervalSet] = {}  # by the depth, which is limited

    @cached_property
    def analyzer(self) -> Analyzer:
        """An analyzer without facts."""
        return Analyzer(self.settings)

    def visit(self, e: Any) -> IntervalSet:
        """The set of e."""
        if type(e) is IntImm:
            return IntervalSet(e, e)
        method = self.methods.get(type(e))
        return method(self, e) if method is not None else EVERYTHING

    def visit_Var(self, e: Any) -> IntervalSet:
        domain = self.domains.get(e)
        if domain is None:
            return IntervalSet(e, e)
        if (domain.min is e and domain.max is e) or self._depth >= len(self.domains):
            return domain
        if (domain.min is None or type(domain.min) is IntImm) and (
            domain.max is None or type(domain.max) is IntImm
        ):
            return domain
        if (e, self._depth) not in self._found:
            self._found[e, self._depth] = self._of_ends(domain)
        return self._found[e, self._depth]

    def _of_ends(self, interval: IntervalSet) -> IntervalSet:
        """A set, the ends of which may name variables that run over sets themselves."""
        self._depth += 1
        low = None if interval.min is None else self.visit(interval.min).min
        high = low if interval.min is interval.max and low is interval.min else None
        if high is None and interval.max is not None:
            high = self.visit(interval.max).max
        self._depth -= 1
        return IntervalSet(low, high)

    def visit_BinaryOp(self, e: Any) -> IntervalSet:
        a, b = self.visit(e.a), self.visit(e.b)
        if is_single_point(a) and is_single_point(b):
            if a.min is e.a and b.min is e.b:
                return IntervalSet(e, e)
            return single_point(_BUILD[type(e)](a.min, b.min))
        if a is NOTHING or b is NOTHING:
            return NOTHING
        if type(e) in build.DIVISIONS and not is_single_point(b):
            return EVERYTHING
        combine = _COMBINE.get(type(e))
        if combine is None:  # a condition
            return IntervalSet(build.truth(False), build.truth(True))
        interval = combine(self, a, b)
        return self.within_type(interval) if type(e) in (Add, Sub, Mul) else interval

    visit_CompareOp = visit_BinaryOp

    def within_type(self, interval: IntervalSet) -> IntervalSet:
        """The result of an operation on a set, in its type: beyond an open end it wraps around."""
        is_open = (interval.min is None) != (interval.max is None)
        return EVERYTHING if is_open and self.settings.to_run else interval

    def add(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        return IntervalSet(_end(build.add, a.min, b.min), _end(build.add, a.max, b.max))

    def subtract(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        return IntervalSet(_end(build.sub, a.min, b.max), _end(build.sub, a.max, b.min))

    def multiply(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        if is_single_point(a):
            a, b = b, a
        if not is_single_point(b):
            return EVERYTHING
        factor: Any = b.min
        if type(factor) is IntImm and factor.value in (0, 1):
            return a if factor.value else b
        return self._monotone(a, factor, build.mul)

    def _monotone(
        self, a: IntervalSet, factor: Expr, operation: Callable[[Any, Any], Any]
    ) -> IntervalSet:
        """a * factor or a / factor: a negative factor exchanges the ends."""
        first, second = _end(operation, a.min, factor), _end(operation, a.max, factor)
        if self.analyzer.can_prove_greater_equal(factor, 0):
            return IntervalSet(first, second)
        if self.analyzer.can_prove_less(factor, 0):
            return IntervalSet(second, first)
        if first is None or second is None:
            return EVERYTHING
        positive = GE(factor, build.imm(0, factor.dtype))
        return IntervalSet(
            build.select(positive, first, second), build.select(positive, second, first)
        )

    def _divide(
        self, a: IntervalSet, b: IntervalSet, operation: Callable[[Any, Any], Any]
    ) -> IntervalSet:
        divisor: Any = b.min
        if type(divisor) is IntImm and divisor.value in (0, 1):
            return a if divisor.value else EVERYTHING
        return self._monotone(a, divisor, operation)

    def floormod(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        divisor: Any = b.min
        if not self.analyzer.can_prove_greater_equal(divisor, 0):
            # The remainder has the sign of the divisor, and is the smaller of the two.
            zero, unit = build.imm(0, divisor.dtype), build.imm(1, divisor.dtype)
            size = build.select(GE(divisor, zero), divisor, build.sub(zero, divisor))
            most = build.sub(size, unit)
            return IntervalSet(build.sub(zero, most), most)
        if type(divisor) is IntImm and a.min is not None and a.max is not None:
            first, last = build.floordiv(a.min, divisor), build.floordiv(a.max, divisor)
            if self.analyzer.can_prove_equal(first, last):
                below = build.mul(divisor, first)
                return IntervalSet(build.sub(a.min, below), build.sub(a.max, below))
        return IntervalSet(
            build.imm(0, divisor.dtype), build.sub(divisor, build.imm(1, divisor.dtype))
        )

    def truncmod(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        divisor: Any = b.min
        if not self.analyzer.can_prove_greater_equal(divisor, 0):
            return EVERYTHING
        last = build.sub(divisor, build.imm(1, divisor.dtype))
        is_unsigned = dtypes.is_uint(divisor.dtype)
        if is_unsigned or (a.min is not None and self.analyzer.can_prove_greater_equal(a.min, 0)):
            return IntervalSet(build.imm(0, divisor.dtype), last)
        return IntervalSet(build.sub(build.imm(0, divisor.dtype), last), last)

    def minimum(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        return IntervalSet(_end(build.minimum, a.min, b.min), _lesser(a.max, b.max, build.minimum))

    def maximum(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        return IntervalSet(_lesser(a.min, b.min, build.maximum), _end(build.maximum, a.max, b.max))

    def visit_Select(self, e: Any) -> IntervalSet:
        return _hull(self.visit(e.false_value), self.visit(e.true_value))

    def visit_Cast(self, e: Any) -> IntervalSet:
        inner = self.visit(e.value)
        if is_single_point(inner):
            return single_point(e if inner.min is e.value else build.cast(e.dtype, inner.min))
        return self.within_type(_mapped(partial(build.cast, e.dtype), inner))

    def visit_BufferLoad(self, e: Any) -> IntervalSet:
        """A loaded integer is one value if its index is; then it may be part of an end."""
        if not dtypes.is_integral(e.dtype):
            return EVERYTHING
        for index in e.indices:
            if self.visit(index).min is not index or not is_single_point(self.visit(index)):
                return EVERYTHING  # the index is not one value, or has another name outside
        return single_point(e)

    def visit_Ramp(self, e: Any) -> IntervalSet:
        if type(e.stride) is not IntImm or dtypes.is_scalable(e.dtype):
            return EVERYTHING
        reach = build.imm(e.stride.value * (e.lanes - 1), e.base.dtype)
        zero = build.imm(0, e.base.dtype)
        lanes = IntervalSet(zero, reach) if e.stride.value >= 0 else IntervalSet(reach, zero)
        return self.add(self.visit(e.base), lanes)

    def visit_Broadcast(self, e: Any) -> IntervalSet:
        return self.visit(e.value)


def _lesser(a: Expr | None, b: Expr | None, choose: Callable[[Any, Any], Any]) -> Expr | None:
    """The end that bounds the other side."""
    if a is None or b is None:
        return b if a is None else a
    chosen: Expr = choose(a, b)
    return chosen


def _end(operation: Callable[[Any, Any], Expr], a: Expr | None, b: Expr | None) -> Expr | None:
    """The result of an operation on two ends; none if constants overflow their type."""
    if a is None or b is None:
        return None
    exactly = _EXACTLY.get(operation)
    if exactly is not None and type(a) is IntImm and type(b) is IntImm:
        low, high = ops.int_limits(a.dtype)
        if not low <= exactly(a.value, b.value) <= high:
            return None
    return operation(a, b)


_EXACTLY: dict[Callable[[Any, Any], Any], Callable[[int, int], int]] = {
    build.add: operator.add,
    build.sub: operator.sub,
    build.mul: operator.mul,
}
_BUILD: dict[type, Callable[[Any, Any], Any]] = {
    **build.BINARY,
    GT: lambda a, b: GT(a, b),
    GE: lambda a, b: GE(a, b),
}
_COMBINE: dict[type, Callable[[_Evaluator, IntervalSet, IntervalSet], IntervalSet]] = {
    Add: _Evaluator.add,
    Sub: _Evaluator.subtract,
    Mul: _Evaluator.multiply,
    Div: lambda self, a, b: self._divide(a, b, build.truncdiv),
    Mod: _Evaluator.truncmod,
    FloorDiv: lambda self, a, b: self._divide(a, b, build.floordiv),
    FloorMod: _Evaluator.floormod,
    Min: _Evaluator.minimum,
    Max: _Evaluator.maximum,
}
