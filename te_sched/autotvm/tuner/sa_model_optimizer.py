"""Simulated annealing: random walks in a space that prefer higher predictions of a model."""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Iterable, Sequence
from functools import partial

import numpy as np

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.task.space import ConfigSpace
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.model_based_tuner import ConfigCostModel, ModelOptimizer
from te_sched.signatures import checked, scores_of


class SimulatedAnnealingOptimizer(ModelOptimizer):
    """Finds configurations with high predictions by many walks at once.

    Parameters
    ----------
    n_iter : steps of each walk.
    temp : the temperature, or the first and the last one.
    persistent : whether walks begin where those before ended.
    parallel_size : walks.
    early_stop : stop after this number of steps without anything better.
    """

    @checked
    def __init__(
        self,
        task: Task,
        n_iter: int = 500,
        temp: float | Sequence[float] = (1, 0),
        persistent: bool = True,
        parallel_size: int = 128,
        early_stop: int = 50,
        log_interval: int = 50,
    ) -> None:
        del log_interval
        self._space = task.config_space or ConfigSpace()
        self._steps, self._patience = n_iter, early_stop
        first, last = (temp, temp) if isinstance(temp, int | float) else temp
        self._temperatures = np.linspace(first, last, n_iter)
        self._is_persistent, self._walks = persistent, parallel_size
        self._points: list[int] | None = None

    def find_maximums(
        self, model: ConfigCostModel, num: int, exclusive: Collection[int]
    ) -> list[int]:
        """The indices of at most `num` configurations, the best first; none of `exclusive`."""
        space, best = self._space, list[tuple[float, int]]()
        points = self._points or [int(index) for index in space.sample_ints(self._walks)]
        scores = scores_of(model, lambda: model.predict(points), len(points))
        seen = set(exclusive)
        self._collect(best, num, points, scores, seen)
        idle = 0
        for temperature in self._temperatures:
            new = [space.random_walk(point) for point in points]
            new_scores = scores_of(model, partial(model.predict, new), len(new))
            gains = (new_scores - scores) / max(float(temperature), 1e-5)
            chances = np.exp(np.minimum(gains, 0.0))
            for number in np.flatnonzero([random.random() < chance for chance in chances]):
                points[number], scores[number] = new[number], new_scores[number]
            idle = 0 if self._collect(best, num, new, new_scores, seen) else idle + 1
            if idle >= self._patience:
                break
        if self._is_persistent:
            self._points = points
        return [index for _, index in sorted(best, reverse=True)]

    @staticmethod
    def _collect(
        best: list[tuple[float, int]],
        num: int,
        points: Sequence[int],
        scores: Iterable[float],
        seen: set[int],
    ) -> bool:
        """Keep the `num` best that were not seen; whether there was one."""
        has_found = False
        for index, score in zip(points, scores, strict=True):
            if index in seen:
                continue
            seen.add(index)
            if len(best) < num:
                heapq.heappush(best, (score, index))
                has_found = True
            elif score > best[0][0]:
                heapq.heapreplace(best, (score, index))
                has_found = True
        return has_found


_tell_of_absent_names(__name__)
