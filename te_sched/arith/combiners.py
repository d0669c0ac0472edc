"""Counterexamples to the laws that a reduction needs to be computed in another order.

A reducer is declared as associative and commutative, with a neutral identity; nothing enforces it.
Here its combiner is evaluated on random values, of one dtype each: the values one after the other,
against the same values in another order or in groups. Must not know schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched.arith.evaluate import Unevaluable, evaluate
from te_sched.ir import dtypes
from te_sched.ir.expr import CommReducer, Expr

State = tuple[Any, ...]  # an array of trials for each component
Law = Callable[["Combination", Sequence[State]], State]

_TRIALS = 16
_POINTS = 4
_TOLERANCE = 1e-3  # relative, of floats: rounding errors do not count


class Combination:
    """A combiner and its identity, as functions of arrays."""

    def __init__(self, combiner: CommReducer) -> None:
        self._combiner = combiner
        self.identity: State = tuple([_value(identity, {}) for identity in combiner.identity])

    def combine(self, total: State, point: State) -> State:
        """The results for a total so far and the next values."""
        parameters = (*self._combiner.lhs, *self._combiner.rhs)
        values = dict(zip(parameters, (*total, *point), strict=True))
        return tuple([_value(result, dict(values)) for result in self._combiner.result])

    def fold(self, points: Sequence[State]) -> State:
        """The values combined one after the other, from the identity."""
        total = self.identity
        for point in points:
            total = self.combine(total, point)
        return total


def in_another_order(reducer: Combination, points: Sequence[State]) -> State:
    """The points combined in another order, as reordered loops do."""
    first, second, *rest = points
    return reducer.fold([*rest, second, first])


def in_groups(reducer: Combination, points: Sequence[State]) -> State:
    """Partial results of every second point, and of none, combined: as rfactor and threads do."""
    groups = (points[::2], points[1::2], ())
    return reducer.fold([reducer.fold(group) for group in groups])


def find_counterexample(combiner: CommReducer, law: Law) -> str | None:
    """Values for which a law does not hold, as text; None if none was found.

    >>> from te_sched import te
    >>> k = te.reduce_axis((0, 4), "k")
    >>> last = te.comm_reducer(lambda x, y: x - y, lambda dtype: te.const(0, dtype))
    >>> find_counterexample(last(k.var, axis=k).combiner, in_groups)
    '3, 12, 4, 11 give -30 one after the other, and 30 in groups'
    >>> find_counterexample(te.sum(k.var, axis=k).combiner, in_groups)
    """
    rng = np.random.default_rng(0)
    try:
        with np.errstate(all="ignore"):
            reducer = Combination(combiner)
            samples = [_samples(var.dtype, rng) for var in combiner.rhs]
            points = list(zip(*samples, strict=True)) or [()] * _POINTS  # of no values: a count
            expected, actual = reducer.fold(points), law(reducer, points)
    except Unevaluable:
        return None
    differs = np.zeros(_TRIALS, bool)
    for a, b in zip(expected, actual, strict=True):
        differs |= _differs(np.asarray(a), np.asarray(b))
    if not differs.any():
        return None
    trial = int(np.argmax(differs))
    values = ", ".join([_text(point, trial) for point in points])
    return (
        f"{values} give {_text(expected, trial)} one after the other, and {_text(actual, trial)} "
        f"{law.__name__.replace('_', ' ')}"
    )


def _value(e: Expr, values: dict[Any, Any]) -> Any:
    return evaluate(e, values, {}, of_reals=True)


def _samples(dtype: str, rng: np.random.Generator) -> list[Any]:
    """Trials for each point. All are different in a trial, so that reducers that choose a value
    have no ties.
    """
    numbers = rng.permuted(np.tile(np.arange(1, 17), (_TRIALS, 1)), axis=1)[:, :_POINTS].T
    if dtypes.is_bool(dtype):
        return list(numbers % 2 == 0)
    if dtypes.is_float(dtype):
        return list(numbers * rng.choice((-0.25, 0.25), numbers.shape))
    return list(numbers)


def _differs(a: Any, b: Any) -> Any:
    if a.dtype.kind != "f":
        return a != b
    is_known = np.isfinite(a) & np.isfinite(b)
    return is_known & (np.abs(a - b) > _TOLERANCE * np.maximum(np.abs(a), np.abs(b)))


def _text(values: State, trial: int) -> str:
    texts = [f"{np.broadcast_to(value, (_TRIALS,))[trial]:g}" for value in values]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
