"""Whether two accesses touch one element only in one iteration of some loops.

Must not know what accesses are for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import gcd
from typing import Any, Protocol

from te_sched.arith.conditions import single_values
from te_sched.arith.forms import (
    Form,
    Forms,
    Part,
    constant,
    factors,
    number_of,
    plus,
    rank,
    split,
    times,
)
from te_sched.ir.expr import Expr, FloorDiv, FloorMod, Var


class Place(Protocol):
    """Which elements an access touches: `sizes` of them from `index` on, where conditions hold."""

    @property
    def index(self) -> tuple[Expr, ...] | None:
        """The first one, by dimension; None where nobody knows."""

    @property
    def sizes(self) -> tuple[Expr, ...]:
        """How many there are, by dimension."""

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """What holds when they are touched."""


class Apart:
    """Proves that two accesses touch one element only in one iteration of the loops.

    Say that iteration x of the first and y of the second touch one element. Then each index of the
    first equals that of the second, and the difference is a sum over what differs: factor *
    (value in x - value in y). The part with the largest factor must be equal in both when its
    factor is larger than all that the others can add up to, and then the next one.

    `forms` know the ranges of variables. Those of `fixed` are the same in both, those of `wanted`
    shall be proved to be, and `memory` is what may have changed in between.
    """

    def __init__(
        self, forms: Forms, wanted: Iterable[Var], fixed: Iterable[Var], memory: Collection[Var]
    ) -> None:
        self.forms, self.wanted, self.memory = forms, frozenset(wanted), memory
        self.fixed = frozenset(fixed)
        self.equal: set[Any] = set()
        self.resolved: set[Part] = set()  # parts whose wholes are equal too

    def is_proved(self, a: Place, b: Place) -> bool:
        """Whether the loops have the same values where both touch one element."""
        if a.index is None or b.index is None or len(a.index) != len(b.index):
            return False
        first, second = single_values(a.conditions), single_values(b.conditions)
        self.equal = {var for var, value in first.items() if second.get(var) == value}
        of, one = self.forms.of, constant(1)
        equations = [
            (of(x), of(y), of(p), of(q))
            for x, y, p, q in zip(a.index, b.index, a.sizes, b.sizes, strict=True)
        ]
        known = -1
        while known < len(self.equal):
            known = len(self.equal)
            equations.extend((whole, whole, one, one) for whole in self._wholes())
            if any(self._use(*equation) for equation in equations):
                return True
            if self.wanted <= self.equal:
                return True
        return False

    def _wholes(self) -> Iterator[Form]:
        """What is equal because its quotient and its remainder are."""
        parts = [part for part in self.equal if type(part) is Part]
        for part in parts:
            if part.kind is FloorDiv and part not in self.resolved:
                for other in parts:
                    is_rest = other.kind is FloorMod and other.divisor == part.divisor
                    if is_rest and other.whole == part.whole:
                        self.resolved.add(part)
                        yield part.whole

    def _use(self, x: Form, y: Form, size_x: Form, size_y: Form) -> bool:
        """Draw conclusions from x == y; gives whether they never are equal."""
        shared: list[tuple[Form, Any]] = []
        step = 0  # all that differs is a multiple of it
        low, high = plus(constant(1), size_y, -1), plus(size_x, constant(-1))
        is_point = not low and not high
        for factor in self._differing(x) | self._differing(y):
            scale_x, x = self._split(x, factor)
            scale_y, y = self._split(y, factor)
            if scale_x is None or scale_y is None:
                return False
            step = gcd(step, _step(scale_x), _step(scale_y))
            if scale_x == scale_y:
                shared.append((scale_x, factor))
                continue
            for scale, sign in ((scale_x, 1), (scale_y, -1)):
                span = self._span(factor, scale, sign)
                if span is None:
                    return False
                low, high = plus(low, span[0]), plus(high, span[1])
        rest = plus(x, y, -1)
        number = number_of(rest)
        if is_point and number is not None and step > 1 and number % step:
            return True
        low, high = plus(low, rest), plus(high, rest)
        if self._never(shared, low, high):
            return True
        self._find_equal(shared, low, high)
        return False

    def _split(self, a: Form, factor: Any) -> tuple[Form | None, Form]:
        scale, rest = split(a, factor)
        if scale is None or any(self._differs(one) for one in factors(scale)):
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

    def _span(self, factor: Any, scale: Form, sign: int) -> tuple[Form, Form] | None:
        """The least and the greatest value of scale * factor, times sign."""
        if not scale:
            return {}, {}
        ends = self._ends(factor)
        if ends is None:
            return None
        scale = scale if sign > 0 else plus({}, scale, -1)
        first, second = times(scale, ends[0]), times(scale, ends[1])
        if self.forms.is_nonnegative(scale):
            return first, second
        if self.forms.is_nonnegative(plus({}, scale, -1)):
            return second, first
        return None

    def _ends(self, factor: Any) -> tuple[Form, Form] | None:
        bounds = self.forms.bounds({(factor,): 1}, self.fixed)
        if bounds.low is None or bounds.high is None:
            return None
        return bounds.low, bounds.high

    def _never(self, shared: Iterable[tuple[Form, Any]], low: Form, high: Form) -> bool:
        """Whether the difference is never zero."""
        for scale, factor in shared:
            width = self._width(factor, scale)
            if width is None:
                return False
            low, high = plus(low, width, -1), plus(high, width)
        return self.forms.is_less({}, low) or self.forms.is_less(high, {})

    def _find_equal(self, shared: Iterable[tuple[Form, Any]], low: Form, high: Form) -> None:
        """Note the parts with large factors, which must be equal."""
        digits = sorted(shared, key=lambda one: rank(one[0]))
        reaches: list[tuple[Form, Form]] = []  # of what is below each digit
        for scale, factor in digits:
            reaches.append((low, high))
            width = self._width(factor, scale)
            if width is None:
                break
            low, high = plus(low, width, -1), plus(high, width)
        if len(reaches) < len(digits):
            return
        is_less = self.forms.is_less
        for (scale, factor), (low, high) in zip(reversed(digits), reversed(reaches), strict=True):
            size = scale if self.forms.is_nonnegative(scale) else plus({}, scale, -1)
            if not is_less(high, size) or not is_less(plus({}, low, -1), size):
                return
            self.equal.add(factor)

    def _width(self, factor: Any, scale: Form) -> Form | None:
        """How much scale * factor can differ by."""
        ends = self._ends(factor)
        if ends is None:
            return None
        width = times(scale, plus(ends[1], ends[0], -1))
        for one in (width, plus({}, width, -1)):
            if self.forms.is_nonnegative(one):
                return one
        return None


def _step(scale: Form) -> int:
    """The number that a factor is multiplied by; 1 where it is more than a number."""
    number = number_of(scale)
    return 1 if number is None else abs(number)
