"""Tuners by generations."""

from __future__ import annotations

import random
from typing import Any

from te_sched import autotvm
from te_sched.autotvm.tuner import GATuner
from tests.autotvm.templates import MadeUpRunner, NoBuilder, made_up, task_of
from tests.autotvm.tuner.chosen import chosen


def test_generations_prefer_what_is_fast() -> None:
    random.seed(1)
    task = task_of(4096)  # 169 configurations

    def cost(index: int) -> float:
        y, x = task.config_space.point2knob(index)
        return 1.0 + abs(y - 6) + abs(x - 3)

    tuner = GATuner(task, pop_size=12)
    found = chosen(tuner, 60, measure=made_up(cost))
    assert tuner.best_config.index in found
    assert cost(tuner.best_config.index) <= 3.0


def test_a_generation_that_failed_is_followed_by_another() -> None:
    class Failing(MadeUpRunner):
        def run(self, measure_inputs: Any, build_results: Any) -> Any:
            results = super().run(measure_inputs, build_results)
            return [one._replace(error_no=4, costs=(ValueError("no"),)) for one in results]

    tuner = GATuner(task_of(64), pop_size=8)
    option = autotvm.measure_option(NoBuilder(1, 4), Failing())
    assert len(set(chosen(tuner, 20, measure=option))) == 20
    assert tuner.best_config is None
