"""The base of feature extractors, which describe candidates by numbers for cost models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from te_sched.meta_schedule.component import Component, not_written
from te_sched.meta_schedule.search_strategy import MeasureCandidate

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class FeatureExtractor(Component):
    """A description of candidates by numbers."""

    def extract_from(self, context: TuneContext, candidates: list[MeasureCandidate]) -> list[Any]:
        """An array for each candidate: a row for each store of its program."""
        raise not_written(self, "PyFeatureExtractor", "extract_from")


PyFeatureExtractor = FeatureExtractor
