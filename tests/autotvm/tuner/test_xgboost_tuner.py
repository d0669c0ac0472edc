"""The tuner with gradient-boosted trees."""

from __future__ import annotations

import random
import sys
from collections.abc import Collection
from typing import Any

import pytest

from te_sched.autotvm.tuner import XGBTuner
from te_sched.autotvm.tuner.model_based_tuner import ModelOptimizer
from te_sched.errors import DeclarationError, TeSchedError
from tests.autotvm.templates import made_up, task_of


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
