"""The base of callbacks after a batch of candidates was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_sched.meta_schedule.builder.base import BuilderResult
from te_sched.meta_schedule.component import Component, not_written
from te_sched.meta_schedule.runner.base import RunnerResult
from te_sched.meta_schedule.search_strategy import MeasureCandidate

if TYPE_CHECKING:
    from te_sched.meta_schedule.task_scheduler import TaskScheduler


class MeasureCallback(Component):
    """What is done with the results of a batch."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        """Take the results of task number `task_id`."""
        raise not_written(self, "PyMeasureCallback", "apply")


PyMeasureCallback = MeasureCallback
