"""How well a cost model ranks configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from te_sched.autotvm.utils import get_rank
from te_sched.signatures import checked


@checked
def max_curve(trial_scores: Sequence[float]) -> Any:
    """The best score of the first n trials, for each n.

    >>> max_curve([1, 3, 2])
    array([1, 3, 3])
    """
    return np.maximum.accumulate(trial_scores)


@checked
def mean_curve(trial_scores: Sequence[float]) -> Any:
    """The mean score of the first n trials, for each n.

    >>> mean_curve([1, 3, 2])
    array([1., 2., 2.])
    """
    return np.cumsum(trial_scores) / np.arange(1, len(trial_scores) + 1)


@checked
def recall_curve(trial_ranks: Sequence[int], top: int | None = None) -> Any:
    """The share of the n best (or of the `top` best) among the first n trials, for each n.

    >>> recall_curve([0, 2, 1])
    array([1. , 0.5, 1. ])
    """
    ranks = np.asarray(trial_ranks)
    counts = range(1, len(ranks) + 1)
    return np.array(
        [np.mean(ranks[:n] < n) if top is None else np.sum(ranks[:n] < top) / top for n in counts]
    )


@checked
def cover_curve(trial_ranks: Sequence[int]) -> Any:
    """The share of the best, without a gap, that are among the first n trials, for each n.

    >>> cover_curve([0, 2, 1])
    array([0.33333333, 0.33333333, 1.        ])
    """
    seen: set[int] = set()
    covered, curve = 0, []
    for rank in trial_ranks:
        seen.add(int(rank))
        while covered in seen:
            covered += 1
        curve.append(covered / len(trial_ranks))
    return np.array(curve)


@checked
def average_recall(preds: Sequence[float], labels: Sequence[float], N: int) -> float:
    """The mean of the recall curve of the first N trials in the order of predictions.

    >>> average_recall([3.0, 2.0, 1.0], [3.0, 2.0, 1.0], 2)
    1.0
    """
    order = np.argsort(-np.asarray(preds), kind="stable")
    ranks = get_rank(np.asarray(labels)[order])
    return float(np.mean(recall_curve(ranks)[:N]))
