"""Tuners that descend to a minimum."""

from __future__ import annotations

from te_sched.autotvm.tuner import DropletTuner
from te_sched.autotvm.tuner.droplet_tuner import p_value
from tests.autotvm.templates import made_up, task_of
from tests.autotvm.tuner.chosen import chosen


def test_a_droplet_descends_to_a_minimum() -> None:
    task = task_of(4096)

    def cost(index: int) -> float:
        y, x = task.config_space.point2knob(index)
        return 1.0 + abs(y - 9) + abs(x - 4)

    tuner = DropletTuner(task, start_position=[1, 1])
    found = chosen(tuner, measure=made_up(cost))
    assert cost(tuner.best_config.index) == 1.0
    assert found[0] == task.config_space.knob2point([1, 1])
    assert len(found) == len(set(found))


def test_differences_within_noise_are_no_improvement() -> None:
    assert p_value([1.0, 2.0, 3.0], [1.1, 2.1, 3.1]) > 0.5
    assert p_value([1.0, 1.0], [2.0, 2.0]) == 0.0
    assert p_value([1.0], [2.0]) == 0.0
    assert p_value([1.0, 1.1, 0.9], [9.0, 9.1, 8.9]) < 1e-6
