"""Tuners that try the indices of a space in their order, or at random."""

from __future__ import annotations

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.autotvm.tuner.tuner import Tuner
from te_sched.errors import DeclarationError, repr_of
from te_sched.signatures import checked


class IndexBaseTuner(Tuner):
    """The base of tuners that choose configurations by their index.

    Parameters
    ----------
    range_idx : the first and the last index to try, by default all.
    """

    @checked
    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task)
        begin, last = (0, self.space.range_length - 1) if range_idx is None else range_idx
        if not 0 <= begin <= last < self.space.range_length:
            raise DeclarationError(
                f"range_idx is {repr_of(range_idx)}, expected a first and a last index",
                f"the space has {self.space.range_length} indices",
                "use 0 <= first <= last < len(space)",
            )
        self.begin_idx, self.end_idx = begin, last + 1
        self.range_length = self.end_idx - self.begin_idx
        self.visited_max = self.space.subrange_length(self.begin_idx, self.end_idx)
        self.visited: set[int] = set()

    def has_next(self) -> bool:
        """Whether an index of the range was not tried."""
        return len(self.visited) < self.visited_max


class GridSearchTuner(IndexBaseTuner):
    """Tries configurations in the order of their indices."""

    def __init__(self, task: Task, range_idx: tuple[int, int] | None = None) -> None:
        super().__init__(task, range_idx)
        self.index: int | None = self.begin_idx
        if not self.space.is_index_valid(self.begin_idx):
            self._advance()

    def _advance(self) -> None:
        if self.index is not None:
            begin, end = self.begin_idx, self.end_idx
            self.index = self.space.get_next_index(self.index, start=begin, end=end)

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """The configurations of the next indices."""
        batch: list[ConfigEntity] = []
        while len(batch) < batch_size and self.index is not None:
            batch.append(self.space.get(self.index))
            self.visited.add(self.index)
            self._advance()
        return batch


class RandomTuner(IndexBaseTuner):
    """Tries configurations at random, each once. Python's random.seed makes it repeatable."""

    def next_batch(self, batch_size: int) -> list[ConfigEntity]:
        """Random configurations that were not tried."""
        batch: list[ConfigEntity] = []
        while len(batch) < batch_size and self.has_next():
            index = self.space.get_rand_index(self.begin_idx, self.end_idx, self.visited)
            self.visited.add(index)
            batch.append(self.space.get(index))
        return batch


_tell_of_absent_names(__name__)
