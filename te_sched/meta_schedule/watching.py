"""The progress of a search on the terminal: how many candidates were measured."""

from __future__ import annotations

import math
from functools import partial

from te_sched.meta_schedule.builder.base import BuilderResult
from te_sched.meta_schedule.measure_callback.base import MeasureCallback
from te_sched.meta_schedule.runner.base import Runner, RunnerFuture, RunnerInput, RunnerResult
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.meta_schedule.task_scheduler import TaskScheduler
from te_sched.progress import Count


class Watched(Runner):
    """A runner that counts the candidates that were measured, with the best time of one task."""

    def __init__(self, runner: Runner, bar: Count, has_one_task: bool) -> None:
        self._runner, self.is_exclusive = runner, runner.is_exclusive
        self._bar, self._best, self._has_one_task = bar, math.inf, has_one_task

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """Measure all, and count each when its result is taken."""
        running = self._runner.run(runner_inputs)
        return [RunnerFuture(future.done, partial(self._seen, future)) for future in running]

    def _seen(self, future: RunnerFuture) -> RunnerResult:
        result = future.result()
        if result.run_secs and result.error_msg is None:
            self._best = min(self._best, sum(result.run_secs) / len(result.run_secs))
        self.add(1)
        return result

    def add(self, count: int) -> None:
        """Count trials."""
        has_best = self._has_one_task and math.isfinite(self._best)
        self._bar.add(count, f"best {self._best * 1e6:.4g} us" if has_best else "")


class CountUnbuilt(MeasureCallback):
    """Counts the candidates that no runner sees, since they could not be built."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        self._watched.add(sum(result.artifact_path is None for result in builder_results))
