"""Comparisons of a sum with a number, such as `i * 8 + j < 60` and `1 <= (x * 64 + y) // 66`.

They are most conditions of a program. `form` gives at once what canonical form, rules, and
canonical form again make of them, where only the order of terms, a common factor or a divisor may
change, or where bounds decide; it is None for all others. Must not know the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd
from typing import Any, NamedTuple, Protocol

from te_sched.arith import build
from te_sched.arith.facts import MIRROR, Facts
from te_sched.arith.iter_expr import NotAffine, collect, sum_of
from te_sched.ir.expr import EQ, GE, GT, LE, LT, NE, Expr, FloorDiv, FloorMod, IntImm, Var
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import variables_of


class _Simplifier(Protocol):
    @property
    def facts(self) -> Facts:
        """The facts at this point of the program."""

    def visit(self, e: Any) -> Any:
        """The simplified expression."""

    def literal(self, e: Any) -> Any | None:
        """True or False for a condition that is known to hold or not to hold."""


class _Limit(NamedTuple):
    """e < end, or end <= e if it is a lower limit, to be written by < or <=."""

    end: int
    is_lower: bool
    is_strict: bool

    @property
    def has_number_first(self) -> bool:
        """Whether it is, or is the negation of, number < e."""
        return self.is_strict == self.is_lower

    @property
    def number(self) -> int:
        """The number that is written."""
        return self.end - self.has_number_first

    def of(self, end: int) -> _Limit:
        """The same comparison with another end."""
        return _Limit(end, self.is_lower, self.is_strict)

    def divided(self, scale: int) -> _Limit | None:
        """The limit of x for a limit of x * scale; None where rules write <= as <."""
        if scale == 1:
            return self
        if self.is_strict:
            return self.of(-(-self.end // scale))
        if self.number % scale:
            return None
        return self.of(self.number // scale + self.has_number_first)

    def is_reached(self, low: int, high: int) -> bool:
        """Whether a <= between these bounds is an equality."""
        return not self.is_strict and (high == self.end if self.is_lower else low == self.number)


class Comparisons:
    """Simplifies comparisons of sums with numbers under facts."""

    def __init__(self, simplifier: _Simplifier) -> None:
        self._simplifier = simplifier
        self._facts = simplifier.facts

    def form(self, e: Any) -> Any | None:
        """The simplified form of a comparison of indices, or None if it has no short way to it."""
        kind, a, b = type(e), e.a, e.b
        if kind is GT or kind is GE:
            kind, a, b = MIRROR[kind], b, a
        is_strict = kind is LT
        if not is_strict and kind is not LE:
            return None
        if type(b) is IntImm:
            return self._limited(a, _Limit(b.value + (not is_strict), False, is_strict))
        if type(a) is IntImm:
            return self._limited(b, _Limit(a.value + is_strict, True, is_strict))
        return None

    def _limited(self, e: Any, limit: _Limit) -> Any | None:
        """The form of a sum with a limit: x // 7 < 1 is x < 7, and x * 2 + 1 < 7 is x < 3."""
        divisor = 1
        if type(e) is FloorDiv and type(e.b) is IntImm and e.b.value > 0:
            if limit.is_reached(*self._facts.bounds.of(e)) and (limit.is_lower or limit.number):
                return None
            e, divisor = e.a, e.b.value
        scales: dict[Any, int] = {}
        try:
            base = collect(e, 1, scales, self._facts.values, self._quotient)
        except NotAffine:
            return None
        if not scales or min(scales.values()) < 1 or _is_ambiguous(scales):
            return None
        if divisor != 1 and not self._divides_at_once(e, divisor, scales, base):
            return None
        limit = limit.of(limit.end * divisor - base)
        if len(scales) == 1:
            [(part, scale)] = scales.items()
            limit_of_part = limit.divided(scale)
            if limit_of_part is None or (divisor != 1 != scale and not limit.is_strict):
                return None
            if type(part) is FloorDiv:
                return self._limited(part, limit_of_part)
            return self._written({part: 1}, limit_of_part, e.dtype)
        # Canonical form sees x < number, or a sum with its constant, as a difference.
        is_difference = limit.is_strict or base
        if min(scales.values()) != 1 or (is_difference and self._drops_terms(scales, limit)):
            return None
        return self._written(scales, limit, e.dtype)

    def _quotient(self, e: Any) -> Any | None:
        """The form of a quotient or a remainder by a number, if it is one of the same variables."""
        if type(e) in (FloorDiv, FloorMod) and type(e.b) is IntImm and e.b.value > 0:
            form = self._simplifier.visit(e)
            if type(form) is type(e) and (form is e or variables_of(form) == variables_of(e)):
                return form
        return None

    def _divides_at_once(self, e: Expr, divisor: int, scales: Mapping[Any, int], base: int) -> bool:
        """Whether canonical form does not take terms or a number out of the quotient of a sum."""
        if not 0 <= base < divisor or any(scale % divisor == 0 for scale in scales.values()):
            return False
        values = self._facts.values
        return not values or values.keys().isdisjoint(variables_of(e))

    def _drops_terms(self, scales: Mapping[Any, int], limit: _Limit) -> bool:
        """Whether terms may be too small to matter, as j in i * 8 + j < 64."""
        common = gcd(limit.number, *[scale for scale in scales.values() if scale != 1])
        small = [part for part, scale in scales.items() if scale == 1]
        if common == 1 or len(small) == len(scales):
            return False
        low, high = self._bounds_of_sum(small)
        if limit.has_number_first:
            return high <= 0
        return any(map(_is_digit, small)) or (low >= 0 and high < common)

    def _bounds_of_sum(self, parts: Iterable[Expr]) -> tuple[int, int]:
        intervals = [self._facts.bounds.of(part) for part in parts]
        return sum(low for low, _ in intervals), sum(high for _, high in intervals)

    def _written(self, scales: Mapping[Any, int], limit: _Limit, dtype: str) -> Any | None:
        """The comparison: decided by bounds or by conditions that hold, or written in order."""
        try:
            value, number = sum_of(scales, 0, dtype), build.fitting(limit.number, dtype)
        except build.Overflow:
            return None
        low, high = self._facts.bounds.of(value)
        if high < limit.end or low >= limit.end:
            return build.truth(limit.is_lower == (low >= limit.end))
        if self._is_compared(value):
            return None
        kind: Any = LT if limit.is_strict else LE
        if not limit.is_strict and self._facts.modular.of(value)[0] != 1:
            return None
        if limit.is_reached(low, high):
            if limit.is_lower:
                return None
            kind = EQ
        done = kind(number, value) if limit.is_lower else kind(value, number)
        literal = self._simplifier.literal(done) if self._facts.true else None
        return done if literal is None else literal

    def _is_compared(self, value: Expr) -> bool:
        """Whether a sum is known to differ from something, or is compared with no number."""
        facts = self._facts
        if any(type(e) is NE and (same(e.a, value) or same(e.b, value)) for e in facts.true):
            return True
        for difference in facts.differences:
            if type(difference.b) is not IntImm and same(difference.a, value):
                return True
            if type(difference.a) is not IntImm and same(difference.b, value):
                return True
        return False


def _is_digit(part: Any) -> bool:
    """Whether a part of a sum is x % u or x % u // l, of which canonical form takes out digits."""
    return type(part) is FloorMod or (type(part) is FloorDiv and type(part.a) is FloorMod)


def _is_ambiguous(scales: Mapping[Any, int]) -> bool:
    """Whether quotients in a sum may be joined, or their order is not that of the scales."""
    others = [part for part in scales if type(part) is not Var]
    if not others:
        return False
    is_alone = len(others) == 1 and list(scales.values()).count(scales[others[0]]) == 1
    return not is_alone or not scales.keys().isdisjoint(variables_of(others[0]))
