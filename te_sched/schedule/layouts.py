"""Layouts: one-to-one mappings of the indices of a tensor that split, fuse and permute dimensions.

Both directions of a mapping follow from digits: an index of 12 values, split as (i // 4, i % 4),
has the digits i // 4 (3 values) and i % 4 (4 values). Each new index is a row of digits, the most
significant first. Must not know stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from te_sched.arith.iter_expr import IterSplitExpr as Digit
from te_sched.errors import ScheduleError, Where
from te_sched.ir import ops
from te_sched.ir.expr import Add, Expr, FloorDiv, FloorMod, IntImm, Mul, Var
from te_sched.ir.visitor import substitute


@dataclass(frozen=True, slots=True, eq=False)
class LayoutMap:
    """The new indices `results`, with `extents`, in terms of the old indices `variables`.

    `digits` has the row of digits of each new index, `separators` the number of new dimensions
    before each AXIS_SEPARATOR.
    """

    variables: tuple[Var, ...]
    results: tuple[Expr, ...]
    extents: tuple[IntImm, ...]
    digits: tuple[tuple[Digit, ...], ...]
    separators: tuple[int, ...]

    def forward(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """New indices from old ones."""
        mapping = dict(zip(self.variables, indices, strict=True))
        return tuple([substitute(result, mapping) for result in self.results])

    def backward(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """Old indices from new ones."""
        parts: dict[Var, list[tuple[int, Expr]]] = {variable: [] for variable in self.variables}
        for index, row in zip(indices, self.digits, strict=True):
            low = 1
            for place in reversed(range(len(row))):
                digit = row[place]
                value = index if low == 1 else ops.floordiv(index, low)
                if place > 0:
                    value = ops.floormod(value, digit.extent)
                parts[digit.source].append((digit.lower_factor, value))
                low *= digit.extent
        return tuple([_weighted(parts[variable], variable) for variable in self.variables])


def _weighted(parts: list[tuple[int, Expr]], variable: Var) -> Expr:
    total: Expr = IntImm(0, variable.dtype)
    for weight, value in sorted(parts, key=lambda part: -part[0]):
        total = ops.add(total, ops.mul(value, weight))
    return total


def layout_map(
    variables: tuple[Var, ...],
    extents: Sequence[Expr],
    results: tuple[Expr, ...],
    separators: tuple[int, ...],
    where: Where,
) -> LayoutMap:
    """The layout that new indices define.

    Raises
    ------
    ScheduleError if they are not a one-to-one mapping of the old indices.
    """
    counts: dict[Var, int] = {}
    for variable, extent in zip(variables, extents, strict=True):
        if not isinstance(extent, IntImm):
            raise _error(
                f"transform_layout needs constant extents, got {extent} of dimension "
                f"{variable.name}",
                where,
            )
        counts[variable] = extent.value
    reader = _Reader(counts, where)
    digits = tuple([tuple(reader.read(result)) for result in results])
    for variable, count in counts.items():
        _check_complete(variable, count, [digit for row in digits for digit in row], where)
    sizes = tuple(
        [IntImm(_count(row), result.dtype) for row, result in zip(digits, results, strict=True)]
    )
    return LayoutMap(variables, results, sizes, digits, separators)


def _count(row: Sequence[Digit]) -> int:
    return prod(digit.extent for digit in row)


def _check_complete(variable: Var, count: int, digits: list[Digit], where: Where) -> None:
    """Refuse digits that do not represent each value of a variable exactly once."""
    weight = 1
    own = [one for one in digits if one.source is variable]
    for digit in sorted(own, key=lambda one: one.lower_factor):
        if digit.lower_factor != weight:
            break
        weight *= digit.extent
    else:
        if weight == count:
            return
    raise _error(
        f"new indices of transform_layout do not map the {count} values of {variable.name} one to "
        "one",
        where,
    )


def _error(fault: str, where: Where) -> ScheduleError:
    return ScheduleError(
        fault,
        "a layout gives each element one new place",
        "split dimensions by constants that divide their extents (i // 4, i % 4), fuse them "
        "(i * 8 + j), or change their order",
        where,
    )


class _Reader:
    """Parses an index into a row of digits.

    `arith.iter_map` accepts more forms, but does not report which index is at fault.
    """

    def __init__(self, counts: Mapping[Var, int], where: Where) -> None:
        self.counts, self.where = counts, where

    def read(self, index: Expr) -> list[Digit]:
        """The digits of an index, the most significant first."""
        if isinstance(index, Var) and index in self.counts:
            count = self.counts[index]
            return [Digit(index, 1, count)] if count > 1 else []
        if isinstance(index, IntImm) and index.value == 0:
            return []
        if isinstance(index, (FloorDiv, FloorMod)) and isinstance(index.b, IntImm):
            high, low = self._cut(self.read(index.a), index.b.value, index)
            return high if isinstance(index, FloorDiv) else low
        if isinstance(index, (Add, Mul)):
            return self._joined(index)
        raise self._unreadable(index)

    def _unreadable(self, index: Expr) -> ScheduleError:
        return _error(
            f"new index {index} of transform_layout does not rearrange the old indices", self.where
        )

    def _cut(self, row: list[Digit], divisor: int, index: Expr) -> tuple[list[Digit], list[Digit]]:
        """The digits above and below a divisor."""
        low: list[Digit] = []
        rest = list(row)
        left = divisor
        while left > 1 and rest:
            digit = rest.pop()
            if digit.extent <= left and left % digit.extent == 0:
                low.insert(0, digit)
                left //= digit.extent
            elif digit.extent % left == 0:
                rest.append(Digit(digit.source, digit.lower_factor * left, digit.extent // left))
                low.insert(0, Digit(digit.source, digit.lower_factor, left))
                left = 1
            else:
                raise _error(
                    f"new index {index} of transform_layout has divisor {divisor}, which does not "
                    "divide the extent",
                    self.where,
                )
        if left < 1:
            raise self._unreadable(index)
        return rest, low

    def _joined(self, index: Expr) -> list[Digit]:
        """A sum of rows, each weighted by the number of values of all smaller ones."""
        terms = sorted(self._terms(index), key=lambda term: -term[0])
        row: list[Digit] = []
        for factor, part in reversed(terms):
            digits = self.read(part)
            if digits and factor != _count(row):
                raise self._unreadable(index)
            row = digits + row
        return row

    def _terms(self, index: Expr) -> list[tuple[int, Expr]]:
        if isinstance(index, Add):
            return self._terms(index.a) + self._terms(index.b)
        if isinstance(index, Mul):
            factor, part = (index.b, index.a) if isinstance(index.b, IntImm) else (index.a, index.b)
            if isinstance(factor, IntImm):
                return [(factor.value * inner, one) for inner, one in self._terms(part)]
            raise self._unreadable(index)
        return [(1, index)]
