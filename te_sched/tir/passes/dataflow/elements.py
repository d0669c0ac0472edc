"""Sets of elements of buffers, and of values of variables, from indices and conditions.

    A[i * 4 + j]        ->   { a : a == 4 * i + j }
    i < 4 or j == n     ->   { i < 4 } | { j == n }

The dimensions of a buffer are variables of their own (`axes`). A set that cannot be represented is
a superset if `over` is true, and otherwise a subset. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from te_sched.arith.build import INDEX_TYPES
from te_sched.arith.conditions import plain
from te_sched.arith.facts import MIRROR, NEGATION
from te_sched.arith.forms import Form, Forms, Part, constant, number_of, plus, times
from te_sched.arith.linear_sets import (
    EVERYTHING,
    NOTHING,
    Budget,
    Union,
    below,
    conjoined,
    equal,
    intersection,
    replaced,
    union_of,
    without,
)
from te_sched.ir import dtypes
from te_sched.ir.calls import effect_of
from te_sched.ir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    And,
    Buffer,
    Expr,
    FloorDiv,
    IntImm,
    Max,
    Min,
    Not,
    Or,
    Var,
)
from te_sched.ir.intrinsic_table import Effect
from te_sched.ir.occurrences import lane_of

_COMPARISONS = frozenset((EQ, NE, LT, LE, GT, GE))
_EXTREMA = frozenset((Min, Max))
_Quotients = dict[tuple[frozenset[Any], int], Var]  # the variable of each quotient


class Lanes:
    """The lanes of a vector access: a variable for their number, and how many there are."""

    def __init__(self, count: int) -> None:
        self.var = Var("lane")
        self.range = conjoined({}, [{(self.var,): 1}, {(self.var,): -1, (): count - 1}])


class Elements:
    """Makes sets; `values` are those of lets, `work` what may still be done."""

    def __init__(self, work: Budget) -> None:
        self.work = work
        self.values: dict[Var, Expr] = {}
        self._forms = Forms({}, self.values)
        self._axes: dict[Buffer, tuple[Var, ...]] = {}

    def axes(self, buffer: Buffer) -> tuple[Var, ...]:
        """The variables for the dimensions of a buffer."""
        axes = self._axes.get(buffer)
        if axes is None:
            axes = tuple([Var(f"{buffer.name}_{n}", s.dtype) for n, s in enumerate(buffer.shape)])
            self._axes[buffer] = axes
        return axes

    def define(self, var: Var, value: Expr) -> None:
        """Record the value of a let, unless it depends on memory."""
        if effect_of(value) <= Effect.PURE:
            self.values[var] = value

    # -- forms -------------------------------------------------------------------

    def form(self, e: Expr) -> Form | None:
        """An integer as a sum without quotients; None if it has some or depends on memory."""
        axioms: list[Form] = []
        form = self._linear(e, axioms, {})
        return None if axioms else form

    def _linear(self, e: Expr, axioms: list[Form], quotients: _Quotients) -> Form | None:
        if e.dtype not in INDEX_TYPES or effect_of(e) > Effect.PURE:
            return None
        self.work.spend(1)
        return self._plain(self._forms.of(e), axioms, quotients)

    def _plain(self, form: Form, axioms: list[Form], quotients: _Quotients) -> Form:
        """A form with quotients replaced by variables, of which the axioms state the values."""
        total: Form = {}
        for term, scale in form.items():
            product = constant(scale)
            for factor in term:
                product = times(product, self._factor(factor, axioms, quotients))
            total = plus(total, product)
        return total

    def _factor(self, factor: Any, axioms: list[Form], quotients: _Quotients) -> Form:
        if type(factor) is not Part or factor.kind is None:
            return {(factor,): 1}
        divisor = number_of(factor.divisor)
        if divisor is None or divisor < 1:
            return {(factor,): 1}
        whole = self._plain(factor.whole, axioms, quotients)
        key = frozenset(whole.items()), divisor
        quotient = quotients.get(key)
        if quotient is None:
            quotient = quotients[key] = Var("quotient")
            rest = plus(whole, {(quotient,): divisor}, -1)
            axioms += [rest, plus(constant(divisor - 1), rest, -1)]
        if factor.kind is FloorDiv:
            return {(quotient,): 1}
        return plus(whole, {(quotient,): divisor}, -1)

    # -- sets --------------------------------------------------------------------

    def _points(self, pairs: Iterable[tuple[Expr, Expr]], least: int | None, over: bool) -> Union:
        """The points for which b - a >= least of each pair (a, b), or a == b if that is None."""
        axioms: list[Form] = []
        quotients: _Quotients = {}
        forms: list[Form] = []
        for pair in pairs:
            a, b = [self._linear(e, axioms, quotients) for e in pair]
            if a is not None and b is not None:
                forms += equal(a, b) if least is None else [plus(plus(b, a, -1), constant(-least))]
            elif not over:
                return NOTHING
        system = conjoined({}, [*forms, *axioms])
        union: Union = NOTHING if system is None else (system,)
        for quotient in reversed(quotients.values()):
            union = without(union, quotient, self.work, over)
        return union

    def at(
        self, buffer: Buffer, indices: tuple[Expr, ...], over: bool
    ) -> tuple[Union, Lanes | None]:
        """The element with some indices, and for vectors the lanes on which it depends."""
        unknown = EVERYTHING if over else NOTHING
        axes = self.axes(buffer)
        if len(axes) != len(indices):
            return unknown, None
        count = max([dtypes.lanes(index.dtype) for index in indices], default=1)
        lanes = None
        if count > 1:
            if any(dtypes.is_scalable(index.dtype) for index in indices):
                return unknown, None
            lanes = Lanes(count)
            try:
                indices = tuple([lane_of(index, lanes.var) for index in indices])
            except ValueError:
                return unknown, None
        points = self._points(zip(axes, indices, strict=True), None, over)
        if lanes is not None and lanes.range is not None:
            points = intersection(points, (lanes.range,), self.work, over)
        return points, lanes

    def where(self, condition: Expr, over: bool, holds: bool = True) -> Union:
        """The values of variables for which a condition holds, or does not."""
        e: Any = plain(condition)
        kind = type(e)
        if kind is Var and e in self.values:
            return self.where(self.values[e], over, holds)
        if kind is IntImm:
            return EVERYTHING if bool(e.value) == holds else NOTHING
        if kind is Not:
            return self.where(e.a, over, not holds)
        if kind is And or kind is Or:
            a, b = self.where(e.a, over, holds), self.where(e.b, over, holds)
            if (kind is And) == holds:
                return intersection(a, b, self.work, over)
            return union_of((*a, *b), self.work, over)
        if kind in _COMPARISONS and e.a.dtype in INDEX_TYPES:
            return self._compared(kind if holds else NEGATION[kind], e.a, e.b, over)
        return self._opaque(e, over, holds)

    def _opaque(self, e: Expr, over: bool, holds: bool) -> Union:
        if e.dtype != "bool" or effect_of(e) > Effect.PURE:
            return EVERYTHING if over else NOTHING
        form = self._forms.of(e)
        system = conjoined({}, [plus(form, constant(-1)) if holds else plus({}, form, -1)])
        return NOTHING if system is None else (system,)

    def _compared(self, kind: Any, a: Any, b: Any, over: bool) -> Union:
        """The values for which a comparison holds."""
        if kind is NE:
            parts = (*self._compared(LT, a, b, over), *self._compared(GT, a, b, over))
            return union_of(parts, self.work, over)
        if kind is GT or kind is GE:
            return self._compared(MIRROR[kind], b, a, over)
        if kind is not EQ and (type(a) in _EXTREMA or type(b) in _EXTREMA):
            return self._with_extremum(kind, a, b, over)
        least = {EQ: None, LE: 0, LT: 1}[kind]
        return self._points([(a, b)], least, over)

    def _with_extremum(self, kind: Any, a: Any, b: Any, over: bool) -> Union:
        """The values for which a < b or a <= b, where an operand is a minimum or a maximum."""
        if type(a) in _EXTREMA:
            sides, needs_both = [(a.a, b), (a.b, b)], type(a) is Max
        else:
            sides, needs_both = [(a, b.a), (a, b.b)], type(b) is Min
        first, second = [self._compared(kind, *pair, over) for pair in sides]
        if needs_both:
            return intersection(first, second, self.work, over)
        return union_of((*first, *second), self.work, over)

    def steps(self, var: Var, begin: Expr, extent: Expr, over: bool) -> Union:
        """The values of a loop variable."""
        low = self._compared(LE, begin, var, over)
        high = self._compared(LT, var - begin, extent, over)
        return intersection(low, high, self.work, over)

    def in_others(self, elements: Union, var: Var, sign: int) -> Union:
        """The elements for which a set has an earlier value of a loop variable (sign -1), or a
        later one (1), or more.
        """
        if not elements:
            return NOTHING
        other = Var(var.name, var.dtype)
        moved = replaced(elements, {var: {(other,): 1}}, over=True)
        order = below(var, other) if sign > 0 else below(other, var)
        moved = intersection(moved, order, self.work, over=True)
        return without(moved, other, self.work, over=True)
