"""Tuners with a cost model."""

from __future__ import annotations

import random
import sys
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pytest

from te_sched.autotvm.tuner import XGBTuner
from te_sched.autotvm.tuner.model_based_tuner import (
    CostModel,
    ModelBasedTuner,
    ModelOptimizer,
    submodular_pick,
)
from te_sched.autotvm.tuner.sa_model_optimizer import SimulatedAnnealingOptimizer
from te_sched.autotvm.tuner.xgboost_cost_model import XGBoostCostModel
from te_sched.errors import DeclarationError, TeSchedError
from tests.autotvm.templates import made_up, records_of, task_of


class Oracle(CostModel):
    """Knows the made-up costs: configuration 200 of 4096 is the fastest."""

    def __init__(self) -> None:
        self.trained: list[int] = []
        self.base: Any = None

    def fit(self, xs: Sequence[int], ys: Sequence[float], plan_size: int) -> None:
        self.trained.append(len(xs))

    def fit_log(self, records: Any, plan_size: int, min_seed_records: int = 500) -> bool:
        return len(records) >= min_seed_records

    def predict(self, xs: Sequence[int], output_margin: bool = False) -> Any:
        return -np.abs(np.asarray(xs, float) - 120)

    def load_basemodel(self, base_model: Any) -> None:
        self.base = base_model

    def spawn_base_model(self) -> Oracle:
        return Oracle()


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


def test_walks_find_the_highest_predictions() -> None:
    random.seed(4)
    optimizer = SimulatedAnnealingOptimizer(task_of(4096), temp=0.5, early_stop=20)
    found = optimizer.find_maximums(Oracle(), 5, {120, 121})
    assert set(found) == {119, 122, 118, 117, 123}
    assert found[0] == 119


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


def test_without_xgboost_there_is_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(TeSchedError, match=r"(?s)needs xgboost.*pip install xgboost-cpu"):
        XGBTuner(task_of(8))


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"feature_type": "loops"}, "invalid feature_type 'loops'"),
        ({"loss_type": "none"}, "invalid loss_type 'none'"),
        ({"optimizer": "grid"}, "invalid optimizer 'grid'"),
        ({"diversity_filter_ratio": 0.5}, r"diversity_filter_ratio is 0\.5"),
    ],
)
def test_a_tuner_rejects_odd_options(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(DeclarationError, match=fault):
        XGBTuner(task_of(8), **options)


# With the library.


@pytest.fixture(autouse=False)
def xgboost() -> Any:
    return pytest.importorskip("xgboost")


@pytest.mark.parametrize("loss", ["reg", "rank", "rank-binary"])
@pytest.mark.parametrize("features", ["itervar", "curve", "knob"])
def test_trees_learn_an_order(xgboost: Any, features: str, loss: str) -> None:
    task = task_of(64)  # 49 configurations
    space = task.config_space
    speeds = [1.0 + sum(space.point2knob(one)) for one in range(49)]
    model = XGBoostCostModel(task, features, loss)
    assert not model.predict([1, 2]).any()
    model.fit(range(0, 49, 2), speeds[::2], 8)
    scores = model.predict(range(49))
    order = np.argsort(-scores)[:12]
    assert np.mean([speeds[one] for one in order]) > np.mean(speeds) + 2


def test_a_base_model_counts_less_with_each_training(xgboost: Any) -> None:
    task = task_of(64)
    model = XGBoostCostModel(task, "knob")
    base = model.spawn_base_model()
    assert not base.fit_log(records_of(task, [1.0] * 8), 8, min_seed_records=9)
    assert base.fit_log(records_of(task, [float(one) for one in range(1, 9)]), 8, 8)
    model.load_basemodel(base)
    first = model.predict(range(8))
    assert first[0] > first[7]
    model.fit(range(8), [float(one) for one in range(8)], 8)
    found = model.predict(range(8))
    assert found[7] > found[0]


def test_configurations_that_a_template_refuses_have_no_features(xgboost: Any) -> None:
    task = task_of(64)
    task.config_space.multi_filter(lambda one: one["tile_x"].size[1] < 8)
    model = XGBoostCostModel(task, "itervar")
    model.fit(range(21), range(21), 8)
    assert len(model.predict([0, 48])) == 2


def test_records_without_features_are_left_out(
    xgboost: Any, caplog: pytest.LogCaptureFixture
) -> None:
    task = task_of(64)
    records = records_of(task, [1.0, 2.0])
    records[1][0].config._entity_map.clear()
    model = XGBoostCostModel(task, "itervar")
    assert not model.fit_log(records, 8, 2)
    assert "A record of tests/product is left out" in caplog.text


def test_a_tuner_with_trees_finds_the_best(xgboost: Any) -> None:
    random.seed(0)
    task = task_of(4096)
    tuner = XGBTuner(task, plan_size=8, feature_type="knob")

    def cost(index: int) -> float:
        y, x = task.config_space.point2knob(index)
        return 1.0 + abs(y - 9) + abs(x - 4)

    tuner.tune(48, made_up(cost))
    assert cost(tuner.best_config.index) <= 2.0


class Fixed(ModelOptimizer):
    def find_maximums(self, model: Any, num: int, exclusive: Collection[int]) -> list[int]:
        return [5]


def test_an_optimizer_of_the_user_makes_plans(xgboost: Any) -> None:
    tuner = XGBTuner(task_of(64), plan_size=4, feature_type="knob", optimizer=Fixed())
    tuner.tune(5, made_up())
    assert 5 in tuner.visited
