"""Gradient-boosted trees over features of configurations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.autotvm.tuner.xgboost_cost_model import XGBoostCostModel
from tests.autotvm.templates import records_of, task_of


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
