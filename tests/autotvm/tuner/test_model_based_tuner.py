"""Tuners with a cost model: plans, records, picks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from te_sched.autotvm.tuner.model_based_tuner import (
    CostModel,
    ModelBasedTuner,
    ModelOptimizer,
    submodular_pick,
)
from te_sched.autotvm.tuner.sa_model_optimizer import SimulatedAnnealingOptimizer
from tests.autotvm.templates import made_up, records_of, task_of
from tests.autotvm.tuner.models import Oracle


def tuner_of(**options: Any) -> tuple[Oracle, ModelBasedTuner]:
    task, model = task_of(4096), Oracle()
    optimizer = SimulatedAnnealingOptimizer(task, n_iter=60, parallel_size=16)
    return model, ModelBasedTuner(task, model, optimizer, plan_size=8, **options)


@pytest.mark.parametrize("ratio", [None, 2])
def test_a_plan_has_what_the_model_predicts_to_be_fast(ratio: float | None) -> None:
    random.seed(2)
    model, tuner = tuner_of(diversity_filter_ratio=ratio)
    tuner.tune(24, made_up(lambda index: 1.0 + abs(index - 120)))
    assert model.trained == [8, 16, 24]
    assert len(tuner.visited) == 24
    assert abs(tuner.best_config.index - 120) <= 2


def test_a_tuner_with_a_model_tries_each_configuration_once() -> None:
    _, tuner = tuner_of()
    tuner.tune(1000, made_up())
    assert len(tuner.visited) == len(tuner.xs) == 169
    tuner.reset()
    assert tuner.has_next()
    assert tuner.xs == []


def test_records_of_a_log_make_the_first_plan() -> None:
    model, tuner = tuner_of()
    records = records_of(task_of(8), [1.0] * 8)
    tuner.load_history(records, min_seed_records=9)
    assert model.base is None
    tuner.load_history(records, min_seed_records=8)
    assert model.base is not None
    assert abs(tuner.next_batch(1)[0].index - 120) <= 3


def test_diverse_points_are_picked() -> None:
    assert submodular_pick([3.0, 2.9, 1.0], [[0, 0], [0, 0], [1, 1]], 2, 0.5) == [0, 1]
    assert submodular_pick([3.0, 2.9, 2.5], [[0, 0], [0, 0], [1, 1]], 5) == [0, 2, 1]


def test_parts_must_be_written() -> None:
    for call in (
        lambda: CostModel().fit([], [], 1),
        lambda: CostModel().fit_log([], 1),
        lambda: CostModel().predict([]),
        lambda: CostModel().load_basemodel(None),
        lambda: CostModel().spawn_base_model(),
        lambda: ModelOptimizer().find_maximums(CostModel(), 1, ()),
    ):
        with pytest.raises(NotImplementedError):
            call()
