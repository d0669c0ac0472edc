"""Scores of candidates from those of their stores."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from te_sched.meta_schedule.cost_model.pack_sum import PackSum, custom_callback


def test_a_candidate_is_its_main_store_and_the_sum() -> None:
    rows = PackSum([np.zeros((0, 2)), np.array([[2.0, 0.0], [3.0, 1.0]])]).rows
    assert rows[0].tolist() == [0, 0, 0, 0]
    assert rows[1] == pytest.approx([3, 1, np.log2(1 + 3 + 7), 1])


def test_a_ranking_is_measured_by_its_best() -> None:
    data = PackSum([np.zeros((1, 1))] * 3, [0.5, 1.0, 0.2])
    assert data.average_peak_score(np.array([3.0, 2.0, 1.0]), 2) == ("a-peak@2", 0.75)
    assert data.rmse(np.array([0.5, 1.0, 0.5]))[1] == pytest.approx(0.3 / 3**0.5)


def test_training_ends_when_the_error_stays(library: Any, caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    data = PackSum([rng.random((1, 4)) for _ in range(20)], rng.random(20))
    progress = custom_callback(
        early_stopping_rounds=3,
        verbose_eval=5,
        fevals=[lambda ys_pred, _: data.rmse(ys_pred)],
        evals=[(data.dmatrix, "tr")],
    )
    with caplog.at_level(logging.DEBUG, "te_sched.meta_schedule"):
        trees = library.train({"eta": 0.5}, data.dmatrix, 1000, callbacks=[progress])
    assert 3 < trees.num_boosted_rounds() < 200
    assert "XGB iter:   5\ttr-rmse" in caplog.text
