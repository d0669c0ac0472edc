"""The base of cost models, which score candidates before they are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from te_sched.meta_schedule.component import Component, not_written
from te_sched.meta_schedule.search_strategy import MeasureCandidate

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class CostModel(Component):
    """A model of the speed of candidates: larger scores are better."""

    @property
    def can_rank(self) -> bool:
        """Whether scores say more than chance, so that it pays to look for high ones."""
        return True

    def load(self, path: str) -> None:
        """Read what `save` wrote."""
        raise not_written(self, "PyCostModel", "load")

    def save(self, path: str) -> None:
        """Write the state of the model to a file."""
        raise not_written(self, "PyCostModel", "save")

    def update(
        self, context: TuneContext, candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        """Learn from measured candidates."""
        raise not_written(self, "PyCostModel", "update")

    def predict(
        self, context: TuneContext, candidates: list[MeasureCandidate]
    ) -> NDArray[np.float64]:
        """A score of each candidate."""
        raise not_written(self, "PyCostModel", "predict")


PyCostModel = CostModel
