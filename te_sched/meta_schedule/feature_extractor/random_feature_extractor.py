"""Random features, to try cost models with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from te_sched import nd
from te_sched.meta_schedule.feature_extractor.base import FeatureExtractor
from te_sched.meta_schedule.search_strategy import MeasureCandidate

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class RandomFeatureExtractor(FeatureExtractor):
    """Random features of a random number of rows.

    Parameters
    ----------
    feature_size : the numbers of a row.
    max_block_num : the most rows.
    seed : extractors of one seed give the same features.
    """

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0) -> None:
        self.feature_size, self.max_block_num = feature_size, max_block_num
        self._random = np.random.RandomState(seed % (1 << 32))

    @property
    def random_state(self) -> Any:
        """The state of the generator of random numbers, to set it again."""
        return self._random.get_state()

    @random_state.setter
    def random_state(self, state: Any) -> None:
        self._random.set_state(state)

    def extract_from(self, context: TuneContext, candidates: list[MeasureCandidate]) -> list[Any]:
        """An array for each candidate."""
        return [
            nd.array(
                self._random.rand(
                    self._random.randint(1, self.max_block_num + 1), self.feature_size
                )
            )
            for _ in candidates
        ]
