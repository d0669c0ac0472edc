"""A tuner with a cost model: it measures what the model predicts to be fast, and trains it again.

Must not know the model, and how its maxima are found.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.measure.measure import MeasureInput, MeasureResult
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.callback import speed
from te_sched.autotvm.tuner.tuner import Tuner
from te_sched.signatures import checked, scores_of

_EXPLORED = 0.05  # the share of a plan that is tried at random


class ConfigCostModel:
    """The base of models that predict the speed of the configurations of a task."""

    def fit(self, xs: Sequence[int], ys: Sequence[float], plan_size: int) -> None:
        """Train with speeds `ys` of configurations of indices `xs`."""
        raise NotImplementedError

    def fit_log(self, records: Sequence[Any], plan_size: int, min_seed_records: int = 500) -> bool:
        """Train with records, also of other tasks; False if there are too few."""
        raise NotImplementedError

    def predict(self, xs: Sequence[int], output_margin: bool = False) -> Any:
        """Scores of configurations; the fastest has the highest."""
        raise NotImplementedError

    def load_basemodel(self, base_model: Any) -> None:
        """Begin from a model that was trained with records."""
        raise NotImplementedError

    def spawn_base_model(self) -> ConfigCostModel:
        """A new model with the same options, to train with records."""
        raise NotImplementedError


class ModelOptimizer:
    """The base of what finds configurations with the highest predictions."""

    def find_maximums(
        self, model: ConfigCostModel, num: int, exclusive: Collection[int]
    ) -> list[int]:
        """The indices of at most `num` configurations, the best first; none of `exclusive`."""
        raise NotImplementedError


CostModel = ConfigCostModel


class ModelBasedTuner(Tuner):
    """The base of tuners with a cost model.

    Parameters
    ----------
    cost_model : predicts the speed of configurations.
    model_optimizer : finds those with the highest predictions.
    plan_size : measurements between trainings.
    diversity_filter_ratio : if given, configurations for that many plans are found, of which those
        that differ make one plan.
    """

    def __init__(
        self,
        task: Task,
        cost_model: ConfigCostModel,
        model_optimizer: ModelOptimizer,
        plan_size: int,
        diversity_filter_ratio: float | None = None,
    ) -> None:
        super().__init__(task)
        self.cost_model, self.model_optimizer = cost_model, model_optimizer
        self.plan_size, self.diversity_filter_ratio = plan_size, diversity_filter_ratio
        self.trials: list[int] = []
        self.trial_pt, self.train_ct = 0, 0
        self.visited: set[int] = set()
        self.xs: list[int] = []
        self.ys: list[float] = []
        self.flops_max = 0.0
        self._size = len(self.space)

    def has_next(self) -> bool:
        """Whether there are configurations that were not tried."""
        return len(self.visited) < self._size

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The next of the plan, and random ones at its end."""
        batch: list[ConfigEntity] = []
        while len(batch) < batch_size and self.has_next():
            index = self._next()
            self.visited.add(index)
            batch.append(self.space.get(index))
        return batch

    def _next(self) -> int:
        last = len(self.trials) - int(_EXPLORED * self.plan_size)
        while self.trial_pt < last:
            index = self.trials[self.trial_pt]
            self.trial_pt += 1
            if index not in self.visited:
                return index
        candidate: int = self.space.get_rand_index(to_exclude=self.visited)
        return candidate

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Train the model after each `plan_size` measurements, and make a plan."""
        for inp, result in zip(inputs, results, strict=True):
            flops = speed(inp, result)
            self.visited.add(inp.config.index)
            self.xs.append(inp.config.index)
            self.ys.append(flops)
            self.flops_max = max(self.flops_max, flops)
        if len(self.xs) >= self.plan_size * (self.train_ct + 1) and self.flops_max > 0:
            self.cost_model.fit(self.xs, self.ys, self.plan_size)
            self._plan(self.cost_model)
            self.train_ct += 1

    def _plan(self, model: ConfigCostModel) -> None:
        ratio = self.diversity_filter_ratio
        count = int(self.plan_size * (ratio or 1))
        candidates = self.model_optimizer.find_maximums(model, count, self.visited)
        if ratio is not None and candidates:
            scores = scores_of(model, lambda: model.predict(candidates), len(candidates))
            knobs = [self.space.point2knob(candidate) for candidate in candidates]
            candidates = [
                candidates[pick] for pick in submodular_pick(scores.tolist(), knobs, self.plan_size)
            ]
        self.trials, self.trial_pt = candidates, 0

    def load_history(self, data_set: Sequence[Any], min_seed_records: int = 500) -> None:
        """Train a base model with the records of a log, and make the first plan by it."""
        base = self.cost_model.spawn_base_model()
        if base.fit_log(data_set, self.plan_size, min_seed_records):
            self.cost_model.load_basemodel(base)
            self._plan(self.cost_model)

    def reset(self) -> None:
        """Forget what was measured, but not the model."""
        super().reset()
        self.trials = []
        self.trial_pt, self.train_ct, self.flops_max = 0, 0, 0.0
        self.visited, self.xs, self.ys = set(), [], []


@checked
def submodular_pick(
    scores: Sequence[float],
    knobs: Sequence[Sequence[int]],
    n_pick: int,
    knob_weight: float = 1.0,
) -> list[int]:
    """The numbers of points that are picked one after the other: each has the highest sum of its
    score and the count of its choices of knobs that none before has.

    >>> submodular_pick([0.9, 0.8, 0.1], [[0, 0], [0, 0], [1, 1]], 2)
    [0, 2]
    """
    picked: list[int] = []
    left = dict.fromkeys(range(len(scores)))
    seen: set[tuple[int, int]] = set()
    while left and len(picked) < n_pick:
        best = max(
            left,
            key=lambda candidate: (
                scores[candidate] + knob_weight * len({*enumerate(knobs[candidate])} - seen)
            ),
        )
        del left[best]
        picked.append(best)
        seen |= {*enumerate(knobs[best])}
    return picked


_tell_of_absent_names(__name__)
