"""Tuners that choose indices."""

from __future__ import annotations

import pytest

from te_sched.autotvm.tuner import GridSearchTuner, RandomTuner
from te_sched.errors import DeclarationError
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


@pytest.mark.parametrize("range_idx", [(3, 99), (-1, 3), (4, 3)])
def test_a_range_of_other_indices_is_refused(range_idx: tuple[int, int]) -> None:
    with pytest.raises(DeclarationError, match=r"range_idx is \(.*, expected a first and a last"):
        RandomTuner(task_of(8), range_idx=range_idx)
