"""Feature extractors, by TVM's names."""

from __future__ import annotations

import sys
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.component import made
from te_sched.meta_schedule.feature_extractor.base import FeatureExtractor as FeatureExtractor
from te_sched.meta_schedule.feature_extractor.base import PyFeatureExtractor as PyFeatureExtractor
from te_sched.meta_schedule.feature_extractor.per_store_feature import (
    PerStoreFeature as PerStoreFeature,
)
from te_sched.meta_schedule.feature_extractor.random_feature_extractor import (
    RandomFeatureExtractor as RandomFeatureExtractor,
)
from te_sched.signatures import check_arguments

_EXTRACTORS: dict[str, Any] = {"per-store-feature": PerStoreFeature}


def create(kind: Any = "per-store-feature", *args: Any, **kwargs: Any) -> FeatureExtractor:
    """A feature extractor by its name; an extractor is returned as it is."""
    return made(FeatureExtractor, "feature extractor", _EXTRACTORS, kind, args, kwargs)


FeatureExtractor.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "FeatureExtractor",
    "PerStoreFeature",
    "PyFeatureExtractor",
    "RandomFeatureExtractor",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
