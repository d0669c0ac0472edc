"""A genetic algorithm: configurations are lists of knobs, the fast ones are crossed and mutated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.measure.measure import MeasureInput, MeasureResult
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.callback import speed
from te_sched.autotvm.tuner.tuner import Tuner
from te_sched.signatures import checked

_TRIES = 32  # mutations before a random configuration is taken


class GATuner(Tuner):
    """Tries configurations in generations. Python's random.seed makes it repeatable.

    Parameters
    ----------
    pop_size : configurations of a generation.
    elite_num : how many of the best of all are parents of each generation.
    mutation_prob : the probability that a knob changes at random.
    """

    @checked
    def __init__(
        self, task: Task, pop_size: int = 100, elite_num: int = 3, mutation_prob: float = 0.1
    ) -> None:
        super().__init__(task)
        self.elite_num, self.mutation_prob = elite_num, mutation_prob
        self._size = len(self.space)
        self.pop_size = min(pop_size, self._size)
        indices = [int(index) for index in self.space.sample_ints(self.pop_size)]
        self.visited = set(indices)
        self.genes: list[list[int]] = [self.space.point2knob(index) for index in indices]
        self.scores: list[float] = []
        self.elites: list[tuple[float, list[int]]] = []
        self.trial_pt = 0

    def has_next(self) -> bool:
        """Whether there are configurations that were not tried."""
        waiting = len(self.genes) - self.trial_pt
        return waiting > 0 or len(self.visited) < self._size

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """Configurations of this generation; those of the next follow when all are measured."""
        chosen = self.genes[self.trial_pt : self.trial_pt + batch_size]
        self.trial_pt += len(chosen)
        return [self.space.get(self.space.knob2point(gene)) for gene in chosen]

    def update(self, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        """Learn from measurements; make the next generation after the last of this one."""
        self.scores += [speed(inp, result) for inp, result in zip(inputs, results, strict=True)]
        if len(self.scores) >= len(self.genes) and len(self.visited) < self._size:
            self._evolve()

    def load_history(self, data_set: Sequence[Any], min_seed_records: int = 500) -> None:
        """Do nothing: generations start anew."""

    def _evolve(self) -> None:
        measured = list(zip(self.scores, self.genes, strict=False))
        self.elites = sorted([*self.elites, *measured], reverse=True)[: self.elite_num]
        parents = [*measured, *self.elites]
        weights = [score for score, _ in parents]
        if not any(weights):
            weights = [1.0] * len(parents)
        self.genes = []
        while len(self.genes) < self.pop_size and len(self.visited) < self._size:
            first, second = (parent for _, parent in random.choices(parents, weights, k=2))
            child = self._child(first, second)
            self.visited.add(self.space.knob2point(child))
            self.genes.append(child)
        self.scores, self.trial_pt = [], 0

    def _child(self, first: list[int], second: list[int]) -> list[int]:
        """A configuration that was not tried, made of two by crossing and mutation."""
        dims = self.space.dims
        point = random.randrange(len(dims) + 1)
        child = first[:point] + second[point:]
        for _ in range(_TRIES):
            for number, size in enumerate(dims):
                if random.random() < self.mutation_prob:
                    child[number] = random.randrange(size)
            index = self.space.knob2point(child)
            if index not in self.visited and self.space.is_index_valid(index):
                return child
        other: int = self.space.get_rand_index(to_exclude=self.visited)
        return self.space.point2knob(other)


_tell_of_absent_names(__name__)
