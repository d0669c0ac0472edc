"""A cost model that knows nothing: random scores."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from te_sched import files
from te_sched.errors import DeclarationError, repr_of
from te_sched.meta_schedule.cost_model.base import CostModel
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.signatures import is_index
from te_sched.tensorir.random_numbers import MODULUS, RandomNumbers

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class RandomModel(CostModel):
    """Random scores, to compare other models with.

    Parameters
    ----------
    seed : models of one seed give the same scores; None draws one.
    path : a file that `save` wrote, from which the state is read.
    max_range : scores are from 0 to this.

    >>> RandomModel(seed=1).max_range
    100
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        path: str | os.PathLike[str] | None = None,
        max_range: int = 100,
    ) -> None:
        if max_range < 0:
            raise DeclarationError(
                f"max_range is {repr_of(max_range)}, expected an integer", "", "give 0 or more"
            )
        self.max_range = max_range
        self._numbers = RandomNumbers(seed)
        if path is not None:
            self.load(os.fspath(path))

    @property
    def can_rank(self) -> bool:
        return False

    def load(self, path: str) -> None:
        content = files.read(
            path, "load", "give a file that RandomModel.save wrote", DeclarationError
        )
        try:
            state = json.loads(content)["random_state"]
            if not (is_index(state) and 0 < state < MODULUS):
                raise ValueError(f"its state is {repr_of(state)}")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DeclarationError(
                f"cannot load {path}: it does not have the state of a RandomModel",
                f"{type(error).__name__}: {error}",
                "give a file that RandomModel.save wrote",
            ) from None
        self._numbers.state = state

    def save(self, path: str) -> None:
        state = json.dumps({"random_state": self._numbers.state})
        files.write(path, state, "save", error=DeclarationError)

    def update(
        self, context: TuneContext, candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        """Nothing: it does not learn."""

    def predict(
        self, context: TuneContext, candidates: list[MeasureCandidate]
    ) -> NDArray[np.float64]:
        drawn = [self._numbers.next() for _ in candidates]
        return np.asarray(drawn, "float64") * (self.max_range / MODULUS)
