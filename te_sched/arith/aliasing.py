"""Proofs that two accesses touch the same element only in the same iteration of some loops.

Must not know the purpose of accesses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, NamedTuple

from te_sched.arith.conditions import conjuncts, gap_of, single_values
from te_sched.arith.forms import (
    Form,
    Forms,
    Part,
    Span,
    constant,
    factors,
    number_of,
    plus,
    rank,
    split,
    times,
)
from te_sched.arith.interval import Interval
from te_sched.ir.expr import Expr, FloorDiv, FloorMod, Var

_Limits = Interval[list[Form]]  # lower and upper ones


@dataclass(frozen=True, slots=True)
class Touch:
    """The elements of an access: `sizes` of them, starting at `index`, where conditions hold."""

    index: tuple[Expr, ...]
    sizes: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


class _Digit(NamedTuple):
    """A part scale * factor of a difference, with its bounds if they are known.

    `forms` are its forms on the sides that have it, `factor` is the common factor.
    """

    scale: Form
    span: Span | None
    forms: tuple[Form, ...]
    factor: Any = None


class Apart:
    """Proves that two accesses touch the same element only in the same iteration of the loops.

    Assume that iteration x of the first and y of the second touch one element. Then each index of
    the first equals that of the second, and their difference is a sum of terms factor * (value in x
    - value in y). If the largest factor exceeds the largest sum of the other terms, its values in x
    and y are equal; then the next largest is considered.

    `forms` have the ranges of variables. Variables of `fixed` are equal in both, those of `wanted`
    are to be proved equal; `memory` are the buffers that may change in between.
    """

    def __init__(
        self, forms: Forms, wanted: Iterable[Var], fixed: Iterable[Var], memory: Collection[Var]
    ) -> None:
        self.forms, self.wanted, self.memory = forms, frozenset(wanted), memory
        self.fixed = frozenset(fixed)
        self.equal: set[Any] = set()
        self.resolved: set[Part] = set()  # parts whose wholes are equal too
        self.touches: tuple[Touch, ...] = ()
        self.gaps: tuple[list[Form], list[Form]] | None = None  # what conditions say

    def is_proved(self, a: Touch, b: Touch) -> bool:
        """Whether the loop variables are equal wherever both touch the same element."""
        if len(a.index) != len(b.index):
            return False
        first, second = single_values(a.conditions), single_values(b.conditions)
        self.equal = {var for var, value in first.items() if second.get(var) == value}
        self.touches, self.gaps = (a, b), None
        single = {var: first[var] for var in self.equal}
        equations = [
            tuple(self._form(e, single) for e in (x, y, p, q))
            for x, y, p, q in zip(a.index, b.index, a.sizes, b.sizes, strict=True)
        ]
        unit = constant(1)
        count = -1
        while count < len(self.equal):
            count = len(self.equal)
            equations.extend((whole, whole, unit, unit) for whole in self._wholes())
            if any(self._use(*equation) for equation in equations):
                return True
            if self.wanted <= self.equal:
                return True
        return False

    def _form(self, e: Expr, single: Mapping[Var, int]) -> Form:
        """The form of an expression, with numbers in place of variables."""
        form = self.forms.of(e)
        for var, value in single.items():
            scale, rest = split(form, var)
            if scale:
                form = plus(rest, scale, value)
        return form

    def _gaps_of(self, touch: Touch) -> list[Form]:
        """Forms that are not negative where elements are touched."""
        parts = [part for condition in touch.conditions for part in conjuncts(condition)]
        return [gap for part in parts if (gap := gap_of(part, self.forms)) is not None]

    def _wholes(self) -> Iterator[Form]:
        """Parts that are equal because their quotients and remainders are equal."""
        parts = [part for part in self.equal if type(part) is Part]
        for part in parts:
            if part.kind is FloorDiv and part not in self.resolved:
                for other in parts:
                    is_rest = other.kind is FloorMod and other.divisor == part.divisor
                    if is_rest and other.whole == part.whole:
                        self.resolved.add(part)
                        yield part.whole

    def _use(self, x: Form, y: Form, size_x: Form, size_y: Form) -> bool:
        """Record what follows from x == y; returns whether they are never equal."""
        shared: list[tuple[Form, Any]] = []
        loose: tuple[list[_Digit], list[_Digit]] = ([], [])  # of one side alone
        step = 0  # all that differs is a multiple of it
        for factor in self._differing(x) | self._differing(y):
            scale_x, x = self._split(x, factor)
            scale_y, y = self._split(y, factor)
            if scale_x is None or scale_y is None:
                return False
            step = gcd(step, _step(scale_x), _step(scale_y))
            if scale_x == scale_y:
                shared.append((scale_x, factor))
                continue
            for scale, sign, side in ((scale_x, 1, loose[0]), (scale_y, -1, loose[1])):
                span = self._span(factor, scale, sign)
                if span is None:
                    return False
                if scale:
                    side.append(_Digit(scale, span, (times(scale, {(factor,): 1}),)))
        low, high = plus(constant(1), size_y, -1), plus(size_x, constant(-1))
        rest = plus(x, y, -1)
        number = number_of(rest)
        if not low and not high and number is not None and step > 1 and number % step:
            return True
        within = Interval(plus(low, rest), plus(high, rest))
        digits = list(_paired(*loose))
        for end in (*loose[0], *loose[1]):
            within = _sum(within, end.span)
        for scale, factor in shared:
            width = self._width(factor, scale)
            span = None if width is None else Interval(plus({}, width, -1), width)
            form = times(scale, {(factor,): 1})
            digits.append(_Digit(scale, span, (form, form), factor))
        digits.sort(key=lambda digit: rank(digit.scale))
        return self._find_equal(digits, within)

    def _split(self, a: Form, factor: Any) -> tuple[Form | None, Form]:
        scale, rest = split(a, factor)
        if scale is None or any(self._differs(factor) for factor in factors(scale)):
            return None, rest
        return scale, rest

    def _differing(self, a: Form) -> set[Any]:
        return {factor for factor in factors(a) if self._differs(factor)}

    def _differs(self, factor: Any) -> bool:
        """Whether a factor may have different values in the two iterations."""
        if factor in self.equal:
            return False
        if type(factor) is Part:
            inner = factor.variables & self.forms.ranges.keys()
            is_read = factor.kind is None and not factor.variables.isdisjoint(self.memory)
            return is_read or not inner <= self.fixed
        return factor in self.forms.ranges and factor not in self.fixed

    def _span(self, factor: Any, scale: Form, sign: int) -> Span | None:
        """The minimum and maximum of sign * scale * factor."""
        if not scale:
            return Interval({}, {})
        ends = self._ends(factor)
        if ends is None:
            return None
        scale = scale if sign > 0 else plus({}, scale, -1)
        first, second = times(scale, ends.min), times(scale, ends.max)
        scale_sign = self.forms.sign_of(scale)
        return {1: Interval(first, second), -1: Interval(second, first)}.get(scale_sign)

    def _ends(self, factor: Any) -> Span | None:
        low, high = self.forms.bounds({(factor,): 1}, self.fixed)
        return None if low is None or high is None else Interval(low, high)

    def _find_equal(self, digits: Sequence[_Digit], rest: Span) -> bool:
        """Record the parts with large factors, which must be equal, or that a sum is never zero.

        `rest` has the bounds of the remaining terms.
        """
        reaches = [rest]  # of what is below each digit, and of all
        for digit in digits:
            if digit.span is None:
                break
            reaches.append(_sum(reaches[-1], digit.span))
        if len(reaches) < len(digits):
            return False
        is_whole = len(reaches) > len(digits)
        if is_whole and self._is_never(_one(reaches[-1])):
            return True
        for position in reversed(range(len(digits))):
            factor, scale = digits[position].factor, digits[position].scale
            size = scale if self.forms.is_nonnegative(scale) else plus({}, scale, -1)
            if not (
                self._is_within(size, _one(reaches[position]))
                or self._is_within(size, self._limits_where(digits[:position], rest))
            ):
                return is_whole and self._is_never(self._limits_where(digits, rest))
            if factor is not None:
                self.equal.add(factor)
        return False

    def _is_never(self, limits: _Limits) -> bool:
        """Whether an interval excludes zero."""
        is_less = self.forms.is_less
        return any(is_less({}, low) for low in limits.min) or any(
            is_less(high, {}) for high in limits.max
        )

    def _is_within(self, size: Form, limits: _Limits) -> bool:
        """Whether all values of an interval are smaller in magnitude than a factor."""
        is_less = self.forms.is_less
        return any(is_less(high, size) for high in limits.max) and any(
            is_less(plus({}, low, -1), size) for low in limits.min
        )

    def _limits_where(self, digits: Sequence[_Digit], start: Span) -> _Limits:
        """The limits that both conditions set on the difference of sums of digits."""
        if self.gaps is None:
            self.gaps = self._gaps_of(self.touches[0]), self._gaps_of(self.touches[1])
        if not digits or not any(self.gaps):
            return Interval([], [])
        x, y = Form(), Form()
        for digit in digits:
            x, y = plus(x, digit.forms[0]), plus(y, digit.forms[1])
        least_x, least_y = (self.forms.bounds(form, self.fixed).min for form in (x, y))
        if least_x is None or least_y is None:
            return Interval([], [])
        low, high = plus(start.min, least_x), plus(start.max, least_y, -1)
        return Interval(
            [plus(low, most, -1) for most in self._most_where(y, self.gaps[1])],
            [plus(high, most) for most in self._most_where(x, self.gaps[0])],
        )

    def _most_where(self, total: Form, gaps: Iterable[Form]) -> Iterator[Form]:
        """Limits of a sum, where some other sums are not negative."""
        for form in self.forms.where(plus({}, total, -1), gaps):
            least = self.forms.bounds(form, self.fixed).min
            if least is not None:
                yield plus({}, least, -1)

    def _width(self, factor: Any, scale: Form) -> Form | None:
        """The largest difference of scale * factor between the two iterations."""
        ends = self._ends(factor)
        if ends is None:
            return None
        width = times(scale, plus(ends.max, ends.min, -1))
        sign = self.forms.sign_of(scale) or self.forms.sign_of(width)  # iterations have values
        return plus({}, width, sign) if sign else None


def _one(span: Span) -> _Limits:
    return Interval([span.min], [span.max])


def _sum(a: Span | None, b: Span | None) -> Span:
    assert a is not None
    assert b is not None
    return Interval(plus(a.min, b.min), plus(a.max, b.max))


def _paired(left: list[_Digit], right: list[_Digit]) -> Iterator[_Digit]:
    """Pairs parts of the two sides with the same scale, as digits of the difference."""
    for end in list(left):
        for position, other in enumerate(right):
            if other.scale == end.scale:
                del right[position]
                left[:] = [digit for digit in left if digit is not end]
                yield _Digit(end.scale, _sum(end.span, other.span), end.forms + other.forms)
                break


def _step(scale: Form) -> int:
    """The constant that a factor is multiplied by; 1 if it is not constant."""
    number = number_of(scale)
    return 1 if number is None else abs(number)
