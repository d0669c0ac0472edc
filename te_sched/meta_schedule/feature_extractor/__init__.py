"""Feature extractors, by TVM's names."""

from te_sched.meta_schedule.feature_extractor.base import FeatureExtractor as FeatureExtractor
from te_sched.meta_schedule.feature_extractor.base import PyFeatureExtractor as PyFeatureExtractor

__all__ = ["FeatureExtractor", "PyFeatureExtractor"]
