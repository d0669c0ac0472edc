"""Extractors by name."""

from __future__ import annotations

from te_sched.meta_schedule import feature_extractor
from te_sched.meta_schedule.feature_extractor import PerStoreFeature, RandomFeatureExtractor


def test_an_extractor_is_created_by_its_name() -> None:
    assert isinstance(feature_extractor.create(), PerStoreFeature)
    extractor = RandomFeatureExtractor()
    assert feature_extractor.create(extractor) is extractor
