"""Sampled executions: nests of loops and accesses evaluated with numpy, for given sizes.

`Points` are the iterations of a nest of loops in execution order. If there are too many, loops are
truncated, and findings hold for the remaining iterations. Judges, primitives and counts of
footprints ask them. Must not know statements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import numpy as np

from te_sched.arith.evaluate import Unevaluable, Values, evaluate
from te_sched.ir.expr import Expr, Var
from te_sched.ir.scopes import Loop
from te_sched.ir.visitor import variables_of

_Member = TypeVar("_Member")
_WHOLE: Mapping[Loop, int] = MappingProxyType({})  # no loop is truncated
_LARGEST_TABLE = 1 << 24  # of whether numbers occur
# Sample sizes: even and odd, all different.
_SAMPLES = ((16, 2), (21, 2), (13, -1))


class Accessed(Protocol):
    """What an execution must know of an access: its elements, and when it is executed."""

    @property
    def index(self) -> tuple[Expr, ...] | None:
        """The first element in each dimension; None if unknown."""

    @property
    def sizes(self) -> tuple[Expr, ...]:
        """The number of elements in each dimension."""

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around it."""

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """The conditions under which it is executed."""


class TooMany(Unevaluable):
    """Too many iterations."""


@dataclass(slots=True)
class Points:
    """Iterations of loops: the values of variables, one array each, or a number for all."""

    count: int
    values: Values
    digits: dict[Loop, Any]  # the iteration number in each loop, from 0
    lets: Mapping[Var, Expr]

    def of(self, e: Expr) -> Any:
        """The values of an expression; raises Unevaluable if they are unknown."""
        return evaluate(e, self.values, self.lets)

    def where(self, conditions: Iterable[Expr]) -> Any:
        """A mask of the iterations in which conditions hold."""
        chosen: Any = np.ones(self.count, bool)
        for condition in conditions:
            chosen = np.logical_and(chosen, self.of(condition))
        return chosen

    def held(self, conditions: Iterable[Expr]) -> Points:
        """The iterations in which conditions hold."""
        chosen = self.where(conditions)
        if chosen.all():
            return self
        # lets were evaluated before, so their arrays have the old length
        values = {var: a[chosen] if np.ndim(a) else a for var, a in self.values.items()}
        digits = {loop: a[chosen] for loop, a in self.digits.items()}
        return Points(int(np.count_nonzero(chosen)), values, digits, self.lets)


@dataclass(frozen=True, slots=True)
class Execution:
    """Executes loops and accesses for given sizes; `lets` has the values of let variables.

    Raises Unevaluable for unknown values, TooMany for more than `limit` iterations or elements.
    """

    lets: Mapping[Var, Expr]
    sizes: Values
    limit: int

    def value(self, e: Expr) -> Any:
        """The value of an expression of sizes."""
        return evaluate(e, dict(self.sizes), self.lets)

    def points(self, loops: Iterable[Loop], most: Mapping[Loop, int] = _WHOLE) -> Points:
        """The iterations of a nest of loops. `most` truncates loops."""
        return self._nest(loops, most, is_cut=False)[0]

    def first_points(
        self, loops: Iterable[Loop], most: Mapping[Loop, int] = _WHOLE
    ) -> tuple[Points, bool]:
        """The iterations of a nest of loops in execution order, up to the limit; and whether these
        are all. `most` truncates loops.
        """
        return self._nest(loops, most, is_cut=True)

    def _nest(
        self, loops: Iterable[Loop], most: Mapping[Loop, int], is_cut: bool
    ) -> tuple[Points, bool]:
        values, count, lets, is_whole = dict(self.sizes), 1, self.lets, True
        digits: dict[Loop, Any] = {}
        for loop in loops:
            low, extent = evaluate(loop.min, values, lets), evaluate(loop.extent, values, lets)
            extent = np.maximum(extent, 0)
            if loop in most:
                extent = np.minimum(extent, most[loop])
            is_same = getattr(extent, "ndim", 0) == 0
            total = int(extent) * count if is_same else int(extent.sum())
            counts = np.broadcast_to(extent, (count,))
            if total > self.limit:
                if not is_cut:
                    raise TooMany
                counts = np.minimum(counts, self.limit)
                counts = np.clip(self.limit - (np.cumsum(counts) - counts), 0, counts)
                total, is_whole = self.limit, False
            values = {v: np.repeat(a, counts) if np.ndim(a) else a for v, a in values.items()}
            digits = {loop: np.repeat(a, counts) for loop, a in digits.items()}
            number = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
            low = np.repeat(low, counts) if np.ndim(low) else low
            count = total
            digits[loop] = number
            values[loop.var] = number + low
        return Points(count, values, digits, lets), is_whole

    def elements(
        self, access: Accessed, points: Points, outside: Sequence[Loop] = ()
    ) -> tuple[Any, Any]:
        """The elements that an access reaches, as rows that begin with the iterations of outer
        loops; and the number of the point of each row.
        """
        assert access.index is not None
        values = [*[points.digits[loop] for loop in outside], *map(points.of, access.index)]
        rows, which = rows_of(values, points.count), np.arange(points.count)
        for column, extent in enumerate(access.sizes, len(outside)):
            size = int(self.value(extent))
            if size != 1:
                if len(rows) * size > self.limit:
                    raise TooMany
                steps = np.tile(np.arange(size), len(rows))
                rows, which = np.repeat(rows, size, axis=0), np.repeat(which, size)
                rows[:, column] += steps
        return rows, which

    def touched(
        self, access: Accessed, outside: Sequence[Loop] = (), most: Mapping[Loop, int] = _WHOLE
    ) -> tuple[Points, Any, Any]:
        """The iterations in which an access is executed, and its `elements` there."""
        points = self.points(access.loops, most).held(access.conditions)
        return points, *self.elements(access, points, outside)

    def text(self, name: str, element: Iterable[Any]) -> str:
        """An element and the sizes, for messages."""
        text = f"{name}[{', '.join(str(int(index)) for index in element)}]"
        return f"{text}, where {sizes_text(self.sizes)}" if self.sizes else text


def rows_of(columns: Iterable[Any], count: int) -> Any:
    """A table of columns, each an array or one number for all rows."""
    whole = [np.broadcast_to(np.asarray(column, np.int64), (count,)) for column in columns]
    return np.stack(whole, axis=1) if whole else np.zeros((count, 0), np.int64)


def variables_in(lets: Mapping[Var, Expr], *exprs: Expr) -> set[Var]:
    """The variables that expressions depend on, directly or through values of lets."""
    variables: set[Var] = set()
    pending = [*exprs]
    while pending:
        new = variables_of(pending.pop()) - variables
        variables |= new
        pending += [lets[var] for var in new if var in lets]
    return variables


def connected(
    items: Iterable[tuple[Any, frozenset[_Member]]],
) -> list[tuple[frozenset[_Member], list[Any]]]:
    """Groups of items whose sets, such as of variables, are disjoint."""
    groups: list[tuple[frozenset[_Member], list[Any]]] = []
    for item, members in items:
        joined, together = members, [item]
        apart = []
        for group in groups:
            if group[0] & joined:
                joined, together = joined | group[0], group[1] + together
            else:
                apart.append(group)
        groups = [*apart, (joined, together)]
    return groups


def numbered(tables: Sequence[Any]) -> tuple[list[Any], int]:
    """Numbers of rows, equal for equal rows and in lexicographic order, and their upper bound.

    Raises
    ------
    Unevaluable if the values of a column are too far apart.
    """
    whole = np.concatenate(tables)
    if not len(whole):
        return [np.zeros(0, np.int64) for _ in tables], 0
    low, high = whole.min(axis=0), whole.max(axis=0)
    numbers: Any = np.zeros(len(whole), np.int64)
    count = 1
    for column, least, width in zip(whole.T, low, high - low + 1, strict=True):
        if width > 1:
            numbers = numbers * width + (column - least)
            count *= int(width)
        if count > 1 << 60:
            raise Unevaluable
    if count > 16 * len(whole) + 1024:
        numbers = np.unique(numbers, return_inverse=True)[1].reshape(-1)
        count = int(numbers.max()) + 1
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return np.split(numbers, ends), count


def distinct_numbers(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The distinct numbers, sorted: by a table, if they are near each other."""
    if not len(numbers):
        return numbers
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= _LARGEST_TABLE:
        return np.unique(numbers)
    seen = np.zeros(high - low + 1, np.bool_)
    seen[numbers - low] = True
    return np.flatnonzero(seen) + low


def distinct_rows(columns: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """The distinct rows of a table, sorted."""
    if not len(columns[0]):
        return np.zeros((0, len(columns)), np.int64)
    lows = [int(column.min()) for column in columns]
    spans = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
    if math.prod(spans) >= 1 << 62:
        return np.unique(np.stack(columns, axis=-1), axis=0)
    places = [column - low for column, low in zip(columns, lows, strict=True)]
    coordinates = np.unravel_index(distinct_numbers(np.ravel_multi_index(places, spans)), spans)
    return np.stack([column + low for column, low in zip(coordinates, lows, strict=True)], axis=-1)


def sizes_text(sizes: Values) -> str:
    """Sizes for messages: n = 16, m = 18."""
    return ", ".join(f"{var.name} = {int(value)}" for var, value in sizes.items())


def sample_sizes(symbols: Iterable[Var]) -> Iterator[Values]:
    """Sample values of symbolic sizes, or a single empty one if there are no symbols."""
    numbers = {var: number for number, var in enumerate(symbols)}
    for start, step in _SAMPLES:
        yield {var: np.int64(start + step * number) for var, number in numbers.items()}
        if not numbers:
            return
