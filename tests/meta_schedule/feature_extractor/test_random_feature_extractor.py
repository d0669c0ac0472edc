"""Random features."""

from __future__ import annotations

import numpy as np

from te_sched.meta_schedule import MeasureCandidate, TuneContext
from te_sched.meta_schedule.feature_extractor import RandomFeatureExtractor
from te_sched.tir.schedule import Schedule
from tests.meta_schedule.feature_extractor.rows import (
    matmul,
)


def test_random_features_depend_on_the_seed_alone() -> None:
    first, second = RandomFeatureExtractor(seed=3), RandomFeatureExtractor(seed=3)
    candidates, context = [MeasureCandidate(Schedule(matmul(8)), None)] * 5, TuneContext()
    for a, b in zip(
        first.extract_from(context, candidates),
        second.extract_from(context, candidates),
        strict=True,
    ):
        assert (a.numpy() == b.numpy()).all()
    state = first.random_state
    a = first.extract_from(context, candidates)[0].numpy()
    first.random_state = state
    assert np.array_equal(a, first.extract_from(context, candidates)[0].numpy())
