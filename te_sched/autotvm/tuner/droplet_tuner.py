"""Descent along coordinates: the neighbors of the best configuration, in wider and wider steps.

After "Automatic Tuning of Tensor Kernels by Droplet Search" (Canesche and others, 2024), which
assumes that the speed has one maximum along each knob. Must not know what knobs do.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.measure.measure import MeasureInput, MeasureResult
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.tuner import Tuner
from te_sched.signatures import checked

_SLOWEST = 99999.0  # seconds, of what was not measured
Position = list[int]


class DropletTuner(Tuner):
    """Tries the neighbors of the best configuration, from a first one.

    Parameters
    ----------
    start_position : the number of the choice of each knob to begin with, by default the first.
    pvalue : a configuration is better if its times are less with an error probability below that.
    """

    @checked
    def __init__(
        self, task: Task, start_position: Sequence[int] | None = None, pvalue: float = 0.05
    ) -> None:
        super().__init__(task)
        self.dims: list[int] = self.space.dims
        start = list(start_position) if start_position is not None else [0] * len(self.dims)
        self.best_choice: tuple[int, Position, list[float]] = (-1, start, [_SLOWEST])
        self.visited: set[int] = set()
        self.execution, self.step = 1, 1
        self.total_execution = max(self.dims, default=1)
        self.pvalue, self.batch, self.iter = pvalue, 16, 0
        self.next: list[tuple[int, Position]] = []
        index = self.space.knob2point(start)
        if not self.space.is_index_valid(index):
            index = self.space.get_rand_index()
        self._add(index)

    def _add(self, index: int) -> None:
        self.visited.add(index)
        self.next.append((index, self.space.point2knob(index)))

    def has_next(self) -> bool:
        """Whether there are neighbors that were not tried."""
        if not self.next:
            self._widen()
        return bool(self.next)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The next neighbors, as many as there are."""
        chosen, self.next = self.next[:batch_size], self.next[batch_size:]
        return [self.space.get(index) for index, _ in chosen]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Move to the best neighbor, if it is better."""
        self.iter += 1
        has_moved = False
        for inp, result in zip(inputs, results, strict=True):
            costs = [_SLOWEST] if result.error_no else list(map(float, result.costs))
            if self._is_better(costs):
                index = inp.config.index
                self.best_choice = (index, self.space.point2knob(index), costs)
                has_moved = True
        if has_moved:
            self.execution = 1
            self.visited -= {index for index, _ in self.next}
            self.next = []
            self._spread()

    def load_history(self, data_set: Sequence[Any], min_seed_records: int = 500) -> None:
        """Do nothing: the descent starts anew."""

    def _is_better(self, costs: Sequence[float]) -> bool:
        best = self.best_choice[2]
        is_less = statistics.fmean(costs) < statistics.fmean(best)
        return is_less and p_value(costs, best) <= self.pvalue

    def _spread(self) -> None:
        """Add the neighbors of the best configuration at the present distance."""
        for index in map(self.space.knob2point, self._neighbors()):
            if index not in self.visited and self.space.is_index_valid(index):
                self._add(index)

    def _neighbors(self) -> Iterator[Position]:
        """Positions that differ by the distance in one knob, then in two."""
        best, distance = self.best_choice[1], self.step * self.execution
        for count in (1, 2):
            for places in itertools.combinations(range(len(best)), count):
                for signs in itertools.product((1, -1), repeat=count):
                    new = [*best]
                    for position, sign in zip(places, signs, strict=True):
                        new[position] += sign * distance
                    if all(0 <= at < size for at, size in zip(new, self.dims, strict=True)):
                        yield new

    def _widen(self) -> None:
        """Raise the distance until there are neighbors, or it is that of the whole space."""
        while not self.next and self.execution <= self.total_execution:
            self._spread()
            self.execution += 1


def p_value(first: Sequence[float], second: Sequence[float]) -> float:
    """The probability that times with equal means differ as much: Welch's test, with the normal
    distribution in place of Student's. Of single times it is 0.

    >>> p_value([1.0, 1.1, 0.9], [1.0, 1.1, 0.9])
    1.0
    """
    if min(len(first), len(second)) < 2:
        return 0.0
    spread = statistics.variance(first) / len(first) + statistics.variance(second) / len(second)
    difference = abs(statistics.fmean(first) - statistics.fmean(second))
    if spread == 0:
        return 0.0 if difference else 1.0
    return math.erfc(difference / math.sqrt(2 * spread))


_tell_of_absent_names(__name__)
