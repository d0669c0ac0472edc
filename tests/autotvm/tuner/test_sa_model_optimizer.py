"""Walks of simulated annealing."""

from __future__ import annotations

import random

from te_sched.autotvm.tuner.sa_model_optimizer import SimulatedAnnealingOptimizer
from tests.autotvm.templates import task_of
from tests.autotvm.tuner.models import Oracle


def test_walks_find_the_highest_predictions() -> None:
    random.seed(4)
    optimizer = SimulatedAnnealingOptimizer(task_of(4096), temp=0.5, early_stop=20)
    found = optimizer.find_maximums(Oracle(), 5, {120, 121})
    assert set(found) == {119, 122, 118, 117, 123}
    assert found[0] == 119
