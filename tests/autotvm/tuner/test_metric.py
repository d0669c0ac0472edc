"""Curves of how many of the best are among the first trials."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.autotvm.tuner import metric


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        (metric.max_curve([1, 3, 2]), [1, 3, 3]),
        (metric.mean_curve([1, 3, 2]), [1, 2, 2]),
        (metric.recall_curve([0, 2, 1], 2), [0.5, 0.5, 1.0]),
        (metric.cover_curve([1, 0]), [0.0, 1.0]),
    ],
)
def test_curves(curve: Any, expected: list[float]) -> None:
    assert curve.tolist() == expected


def test_average_recall_of_predictions() -> None:
    assert metric.average_recall([1, 2, 3], [2, 1, 3], 2) == 0.75


def test_curves_of_no_trials_are_empty() -> None:
    for curve in (metric.max_curve, metric.mean_curve, metric.recall_curve, metric.cover_curve):
        assert curve([]).size == 0
