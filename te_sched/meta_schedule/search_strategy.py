"""Strategies: which schedules of a space are measured next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.component import Component, named, not_written
from te_sched.tir.schedule import Schedule


class MeasureCandidate:
    """A schedule to measure, with the arguments that its function takes."""

    def __init__(self, sch: Schedule, args_info: Sequence[ArgInfo]) -> None:
        self.sch = sch
        self.args_info = list(args_info)


class SearchStrategy(Component):
    """A strategy: `pre_tuning`, then candidates and their results in turn, then `post_tuning`."""

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: list[Schedule],
        database: Any = None,
        cost_model: Any = None,
    ) -> None:
        """Begin a search of at most `max_trials` candidates, `num_trials_per_iter` at once."""
        raise not_written(self, "PySearchStrategy", "pre_tuning")

    def post_tuning(self) -> None:
        """End the search."""
        raise not_written(self, "PySearchStrategy", "post_tuning")

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The next candidates; None if there are no more."""
        raise not_written(self, "PySearchStrategy", "generate_measure_candidates")

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[Any]
    ) -> None:
        """Take the results of the last candidates."""
        raise not_written(self, "PySearchStrategy", "notify_runner_results")

    @staticmethod
    def create(kind: Any = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """A strategy by its name; a strategy is returned as it is."""
        if isinstance(kind, SearchStrategy):
            return kind
        found: SearchStrategy = named("search strategy", _STRATEGIES, kind)(*args, **kwargs)
        return found


PySearchStrategy = SearchStrategy
_STRATEGIES: dict[str, type[SearchStrategy]] = {}
create = SearchStrategy.create
