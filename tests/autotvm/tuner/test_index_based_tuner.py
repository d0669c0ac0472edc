"""Tuners that choose indices."""

from __future__ import annotations

from te_sched.autotvm.tuner import GridSearchTuner, RandomTuner
from tests.autotvm.templates import task_of
from tests.autotvm.tuner.chosen import chosen


def test_a_grid_begins_with_the_first_legal_index_of_its_range() -> None:
    task = task_of(8)
    task.config_space.multi_filter(lambda one: one["tile_x"].size[1] >= 2)
    tuner = GridSearchTuner(task, range_idx=(2, 6))
    assert (tuner.index, tuner.visited_max) == (4, 3)
    assert chosen(tuner) == [4, 5, 6]
    assert not tuner.has_next()


def test_a_random_tuner_stays_in_its_range() -> None:
    assert sorted(chosen(RandomTuner(task_of(8), range_idx=(3, 6)))) == [3, 4, 5, 6]
