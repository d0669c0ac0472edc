"""Counts of executions, and of distinct elements that references to an array touch in loops.

For sums of scaled variables, sets of numbers are added; other indices, and those under conditions,
are evaluated with numpy. Counts are exact, or Unknown is raised. Must not know programs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from te_sched.arith.conditions import conjuncts
from te_sched.arith.evaluate import Unevaluable, evaluate
from te_sched.arith.executions import (
    connected,
    distinct_numbers,
    distinct_rows,
    variables_in,
)
from te_sched.arith.iter_expr import NotAffine, collect
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.visitor import walk

_MOST_POINTS = 1 << 20  # of points that are evaluated, or elements of a set
_MOST_CELLS = 1 << 24  # of the box in which sets are combined

Numbers = range | np.ndarray[Any, Any]
# A subset of the dimensions, and its numbers; for several dimensions, rows of numbers.
Part = tuple[tuple[int, ...], Numbers]


class Unknown(Exception):
    """A count that cannot be determined; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Box:
    """Running loops, as begin and extent of their variables, and fixed ones."""

    running: Mapping[Var, tuple[int, int]]
    standing: Mapping[Var, int]
    lets: Mapping[Var, Expr]

    def value(self, e: Expr) -> int:
        """The value of an expression that does not depend on running loops."""
        return int(self.execute(e, dict(self.standing)))

    def variables(self, e: Expr) -> frozenset[Var]:
        """The running variables in an expression, with lets substituted."""
        return frozenset(variables_in(self.lets, e) & self.running.keys())

    def points(self, variables: frozenset[Var]) -> dict[Var, Any]:
        """The values of running variables at all points, each along its own axis."""
        names = [var for var in self.running if var in variables]
        if math.prod([self.running[var][1] for var in names]) > _MOST_POINTS:
            raise Unknown("there are too many iterations to look at each")
        values: dict[Var, Any] = dict(self.standing)
        for axis, var in enumerate(names):
            begin, extent = self.running[var]
            shape = [1] * len(names)
            shape[axis] = extent
            values[var] = np.arange(begin, begin + extent).reshape(shape)
        return values

    def execute(self, e: Expr, values: dict[Var, Any]) -> Any:
        """The values of an expression at points."""
        try:
            return evaluate(e, values, self.lets)
        except Unevaluable:
            raise Unknown(self._why_not(e)) from None

    def _why_not(self, e: Expr) -> str:
        """The reason why an expression cannot be evaluated."""
        bound = (*self.running, *self.standing, *self.lets)
        free = [node.name for node in walk(e) if isinstance(node, Var) and node not in set(bound)]
        if free:
            return f"the value of {', '.join(dict.fromkeys(free))} is not known"
        return "an index or a condition depends on data"


@dataclass(frozen=True, slots=True, eq=False)
class ArrayReference:
    """An access: its begin and length in each dimension, and its conditions."""

    begins: tuple[Expr, ...]
    sizes: tuple[Expr, ...]
    conditions: tuple[Expr, ...]


def executions(conditions: Sequence[Expr], box: Box) -> int:
    """The number of iterations of loops in which conditions hold."""
    left = set(box.running)
    count = 1
    parts = [(condition, box.variables(condition)) for condition in _conjuncts(conditions)]
    for variables, together in connected(parts):
        values = box.points(variables)
        count *= int(np.count_nonzero(_where(together, values, box, variables)))
        left -= variables
    return count * math.prod([box.running[var][1] for var in left])


def distinct(references: Sequence[ArrayReference], box: Box) -> int:
    """The number of distinct elements that references touch in loops."""
    sets = [
        elements for reference in references if (elements := _elements(reference, box)) is not None
    ]
    if not sets:
        return 0
    merged = _merged_dimensions(sets)
    aligned = [[_joined(parts, dims) for dims in merged] for parts in sets]
    unique = list({tuple(map(_key, parts)): parts for parts in aligned}.values())
    differing = [
        dim for dim in range(len(merged)) if len({_key(parts[dim]) for parts in unique}) > 1
    ]
    if not differing:
        return math.prod(map(len, unique[0]))
    same = math.prod([len(part) for dim, part in enumerate(unique[0]) if dim not in differing])
    return same * _union([[parts[dim] for dim in differing] for parts in unique])


def _elements(reference: ArrayReference, box: Box) -> list[Part] | None:
    """The elements of a reference, as a product of sets; None if it is never executed."""
    begins, box = _with_lengths(reference, box)
    parts: list[Part] = []
    items: list[tuple[Any, frozenset[Var]]] = []
    for dim, begin in enumerate(begins):
        scales = _scales(begin, box)
        variables = frozenset(scales[1]) if scales is not None else box.variables(begin)
        items.append((dim, variables))
    items += [
        (condition, box.variables(condition)) for condition in _conjuncts(reference.conditions)
    ]
    for variables, together in connected(items):
        dims = tuple(item for item in together if isinstance(item, int))
        conditions = [item for item in together if not isinstance(item, int)]
        scales = _scales(begins[dims[0]], box) if len(dims) == 1 and not conditions else None
        numbers = (
            _sum_of(*scales, box)
            if scales is not None
            else _executed([begins[dim] for dim in dims], conditions, variables, box)
        )
        if len(numbers) == 0:
            return None
        if dims:
            parts.append((dims, numbers))
    return parts


def _conjuncts(conditions: Iterable[Expr]) -> Iterator[Expr]:
    return chain.from_iterable(map(conjuncts, conditions))


def _with_lengths(reference: ArrayReference, box: Box) -> tuple[list[Expr], Box]:
    """A loop for each dimension of which more than one element is touched."""
    begins, running = list(reference.begins), dict(box.running)
    for dim, size in enumerate(reference.sizes):
        length = box.value(size)
        if length != 1:
            lane = Var("lane", begins[dim].dtype)
            running[lane] = (0, length)
            begins[dim] = ops.add(begins[dim], lane)
    return begins, Box(running, box.standing, box.lets)


def _scales(e: Expr, box: Box) -> tuple[int, dict[Var, int]] | None:
    """The constant and the scales of running variables in a sum; None for other expressions."""
    coefficients: dict[Var, int] = {}
    try:
        base = collect(e, 1, coefficients, {})
    except NotAffine:
        return None
    scales: dict[Var, int] = {}
    for var, scale in coefficients.items():
        if var in box.running:
            scales[var] = scale
        elif var in box.standing:
            base += scale * box.standing[var]
        elif scale:
            return None
    return base, {var: scale for var, scale in scales.items() if scale}


def _sum_of(base: int, scales: Mapping[Var, int], box: Box) -> Numbers:
    """The values of a sum of scaled variables."""
    numbers: Numbers = range(base, base + 1)
    for var, scale in sorted(scales.items(), key=lambda item: abs(item[1])):
        begin, extent = box.running[var]
        if extent <= 0:
            return range(0)
        first = scale * (begin if scale > 0 else begin + extent - 1)
        numbers = _plus(numbers, first, abs(scale), extent)
    return numbers


def _plus(numbers: Numbers, first: int, step: int, count: int) -> Numbers:
    """Each number plus each of first, first + step, ... (`count` of them)."""
    if isinstance(numbers, range):
        low, high = numbers[0] + first, numbers[-1] + first
        if len(numbers) == 1:
            return range(low, low + step * count, step)
        if step % numbers.step == 0 and step <= numbers.step * len(numbers):
            return range(low, high + step * (count - 1) + 1, numbers.step)
    if len(numbers) * count > _MOST_POINTS:
        raise Unknown("there are too many elements to count")
    offsets = first + step * np.arange(count)
    return _simplest(np.unique(np.add.outer(np.asarray(numbers), offsets)))


def _executed(
    begins: Sequence[Expr], conditions: Sequence[Expr], variables: frozenset[Var], box: Box
) -> Numbers:
    """The values of indices where conditions hold; of several, rows of values."""
    values = box.points(variables)
    holds = _where(conditions, values, box, variables)
    if not begins:
        return range(int(np.count_nonzero(holds)))
    columns = [
        np.broadcast_to(box.execute(begin, values), holds.shape)[holds].astype(np.int64)
        for begin in begins
    ]
    if len(columns) == 1:
        return _simplest(distinct_numbers(columns[0]))
    return distinct_rows(columns)


def _where(
    conditions: Sequence[Expr], values: dict[Var, Any], box: Box, variables: frozenset[Var]
) -> np.ndarray[Any, Any]:
    """Whether conditions hold, at each point."""
    shape = np.broadcast_shapes(*(np.shape(values[var]) for var in variables))
    holds = np.ones(shape, np.bool_)
    for condition in conditions:
        holds = np.logical_and(holds, box.execute(condition, values))
    return holds


def _simplest(numbers: np.ndarray[Any, Any]) -> Numbers:
    """Sorted numbers as a range, if they are evenly spaced."""
    if len(numbers) < 2:
        return range(int(numbers[0]), int(numbers[0]) + 1) if len(numbers) else range(0)
    steps = np.diff(numbers)
    if np.all(steps == steps[0]):
        return range(int(numbers[0]), int(numbers[-1]) + 1, int(steps[0]))
    return numbers


# -- unions of sets -------------------------------------------------------------------------


def _merged_dimensions(sets: Sequence[Sequence[Part]]) -> list[tuple[int, ...]]:
    """The finest parts of the dimensions of which all sets are products."""
    parts = {frozenset(dims) for parts in sets for dims, _ in parts}
    return [tuple(sorted(dims)) for dims, _ in connected((dims, dims) for dims in parts)]


def _joined(parts: Sequence[Part], dims: tuple[int, ...]) -> Numbers:
    """The numbers of a set in some dimensions."""
    own = [(some, numbers) for some, numbers in parts if some[0] in dims]
    if len(own) == 1:
        return own[0][1]
    if math.prod([len(numbers) for _, numbers in own]) > _MOST_POINTS:
        raise Unknown("there are too many elements to count")
    rows = np.zeros((1, 0), np.int64)
    for some, numbers in own:
        more = np.asarray(numbers).reshape(len(numbers), len(some))
        left = np.repeat(rows, len(more), axis=0)
        rows = np.concatenate([left, np.tile(more, (len(rows), 1))], axis=1)
    order = [dim for some, _ in own for dim in some]
    return np.unique(rows[:, np.argsort(order)], axis=0)


def _key(numbers: Numbers) -> Any:
    return numbers if isinstance(numbers, range) else (numbers.shape, numbers.tobytes())


def _union(products: Sequence[Sequence[Numbers]]) -> int:
    """The number of elements in the union of products of sets."""
    if sum(len(numbers) for product in products for numbers in product) > 4 * _MOST_POINTS:
        raise Unknown("there are too many elements to count")
    axes = []
    for column in zip(*products, strict=True):
        arrays = [_as_rows(numbers) for numbers in column]
        axes.append(np.unique(np.concatenate(arrays), axis=0, return_inverse=True)[1].reshape(-1))
    places = [np.cumsum([0, *map(len, column)]) for column in zip(*products, strict=True)]
    shape = [int(axis.max()) + 1 for axis in axes]
    if len(shape) == 1:
        return shape[0]
    if math.prod(shape) > _MOST_CELLS:
        raise Unknown("there are too many elements to count")
    touched = np.zeros(shape, np.bool_)
    for number in range(len(products)):
        chosen = [
            axis[bounds[number] : bounds[number + 1]]
            for axis, bounds in zip(axes, places, strict=True)
        ]
        touched[np.ix_(*chosen)] = True
    return int(np.count_nonzero(touched))


def _as_rows(numbers: Numbers) -> np.ndarray[Any, Any]:
    array = np.asarray(numbers)
    return array.reshape(len(array), -1)
