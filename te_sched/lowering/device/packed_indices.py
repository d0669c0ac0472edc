"""Indices that are formed of the digits of one number, such as those of padded rows.

A fused loop x over rows of 7 elements, which take 17 in memory, stores at x // 7 * 17 + x % 7.
Different x give different indices, since rows are longer in memory than their elements; so facts
about x hold for the index. (`arith.iter_map` does not have such sums: their values have
gaps.) Must not know
barriers, nor threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_expr import UNBOUNDED, IterSplitExpr, split_of
from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, FloorDiv, IntImm, Mul, Var
from te_sched.ir.term_keys import same
from te_sched.ir.visitor import substitute


@dataclass(frozen=True, slots=True)
class Packed:
    """An index: the number whose digits form it, (size, stride) of each digit, and the rest.
    Without their rests, indices of different numbers are at least `gap` apart.
    """

    number: Expr
    digits: tuple[tuple[int, int], ...]  # the lowest first; the highest is unbounded: size 0
    gap: int
    rest: Expr

    @property
    def run(self) -> int:
        """How many consecutive numbers are consecutive in memory, starting at its multiples."""
        size, stride = self.digits[0]
        return size if stride == 1 else 1

    def moved(self, values: dict[Var, Expr]) -> Packed:
        """The index with other possible values of its variables."""
        number, rest = substitute(self.number, values), substitute(self.rest, values)
        return Packed(number, self.digits, self.gap, rest)


def packed(index: Expr, analyzer: Analyzer) -> Packed | None:
    """The index as digits of one number, or None. Equal indices with equal digits and equal rests
    are of equal numbers; so are those that are less than the gap apart.
    """
    terms = sorted(_terms(index, 1), key=lambda term: term[1])
    for position, (lowest, stride) in enumerate(terms):
        digit = split_of(lowest)
        if not _is_remainder(digit) or digit.lower_factor != 1 or stride < 1:
            continue
        others = [*terms[:position], *terms[position + 1 :]]
        for number in _numbers(digit.source, digit.extent, others, analyzer):
            form = _joined(number, digit.extent, stride, list(others), analyzer)
            if form is not None:
                return form
    return None


def _numbers(
    number: Expr, size: int, others: Iterable[tuple[Expr, int]], analyzer: Analyzer
) -> Iterator[Expr]:
    """The numbers that may have the lowest digit number % size: for x * 12 % 20, also x * 32."""
    yield number
    for part, _ in others:
        divided, by = _quotient(part)
        if by == size and analyzer.can_prove_equal(
            ops.floormod(ops.sub(divided, number), size), IntImm(0)
        ):
            yield divided


def _joined(
    number: Expr, size: int, stride: int, others: list[tuple[Expr, int]], analyzer: Analyzer
) -> Packed | None:
    """A lowest digit, and the higher digits among the other terms of the sum, by scale."""
    digits, reach, gap = [(size, stride)], (size - 1) * stride, stride
    while True:
        above = analyzer.simplify(ops.floordiv(number, size))
        for position, (part, scale) in enumerate(others):
            if scale <= reach:
                continue
            more = _size_of_digit(part, above, analyzer)
            if more is None:
                continue
            del others[position]
            digits.append((more, scale))
            gap = min(gap, scale - reach)
            break
        else:
            return None
        if not more:
            return _with_higher(Packed(number, tuple(digits), gap, _sum(others)), others, analyzer)
        reach += (more - 1) * scale
        size *= more


def _with_higher(form: Packed, others: list[tuple[Expr, int]], analyzer: Analyzer) -> Packed:
    """The index with the other terms that are large enough as higher digits."""
    number, digits, gap = form.number, list(form.digits), form.gap
    low, high = analyzer.const_bounds(number)
    size = prod(size for size, _ in digits[:-1])
    reach = sum((size - 1) * stride for size, stride in digits[:-1])
    for part, scale in list(others):
        if low is None or low < 0 or high is None:
            break
        most = high // size
        below = reach + most * digits[-1][1]
        low_part, high_part = analyzer.const_bounds(part)
        if scale <= below or low_part is None or low_part < 0:
            continue
        digits[-1] = (most + 1, digits[-1][1])
        digits.append((0, scale))
        size, reach, gap = size * (most + 1), below, min(gap, scale - below)
        number = ops.add(ops.mul(part, size), number)
        high = None if high_part is None else high_part * size + size - 1
        others = [term for term in others if term[0] is not part]
    return Packed(number, tuple(digits), gap, _sum(others))


def _size_of_digit(part: Expr, above: Expr, analyzer: Analyzer) -> int | None:
    """The size of a term that is the lowest digit of `above`; 0 if it is the whole of it."""
    if _are_equal(part, above, analyzer):
        return 0
    digit = split_of(part)  # x % 12 // 4 is x // 4 % 3
    if not _is_remainder(digit):
        return None
    quotient = ops.floordiv(digit.source, digit.lower_factor)
    return digit.extent if _are_equal(quotient, above, analyzer) else None


def _is_remainder(digit: IterSplitExpr) -> bool:
    return digit.extent != UNBOUNDED and not digit.trunc


def _are_equal(a: Expr, b: Expr, analyzer: Analyzer) -> bool:
    if same(a, b):
        return True
    (above, below), (other, size) = _quotient(a), _quotient(b)
    if below == size:
        return analyzer.can_prove_equal(above, other)
    return analyzer.can_prove_equal(ops.mul(above, size), ops.mul(other, below))


def _quotient(e: Any) -> tuple[Expr, int]:
    """Numerator and denominator: (a + b // 2) // 9 is (a * 2 + b) // 18."""
    divisor = e.b.value if isinstance(e, FloorDiv) and isinstance(e.b, IntImm) else 0
    if divisor < 1:
        return e, 1
    parts = list(_terms(e.a, 1))
    for position, (part, scale) in enumerate(parts):
        if scale != 1 or not isinstance(part, FloorDiv):
            continue
        inner, by = _quotient(part)
        if by > 1:
            others = _sum([*parts[:position], *parts[position + 1 :]])
            return ops.add(ops.mul(others, by), inner), by * divisor
    return e.a, divisor


def _terms(e: Expr, scale: int) -> Iterable[tuple[Expr, int]]:
    """The terms of a sum with their scales."""
    if isinstance(e, Add):
        yield from _terms(e.a, scale)
        yield from _terms(e.b, scale)
    elif isinstance(e, Mul) and isinstance(e.b, IntImm):
        yield from _terms(e.a, scale * e.b.value)
    else:
        yield e, scale


def _sum(terms: Iterable[tuple[Expr, int]]) -> Expr:
    total: Expr = IntImm(0)
    for part, scale in terms:
        total = ops.add(total, ops.mul(part, scale))
    return total
