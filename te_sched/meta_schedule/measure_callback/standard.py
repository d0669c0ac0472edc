"""The callbacks of every search: keep the results, let the model learn, remove built files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_sched.meta_schedule.builder.base import BuilderResult
from te_sched.meta_schedule.database.base import FAILED, TuningRecord
from te_sched.meta_schedule.measure_callback.base import MeasureCallback
from te_sched.meta_schedule.runner.base import RunnerResult
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.meta_schedule.utils import remove_build_dir

if TYPE_CHECKING:
    from te_sched.meta_schedule.task_scheduler import TaskScheduler


class AddToDatabase(MeasureCallback):
    """Adds a record of each candidate to the database, also of failures."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        database = task_scheduler.database_
        task = task_scheduler.tasks_[task_id].ctx
        if database is None or task.mod is None:
            return
        workload = database.commit_workload(task.mod)
        for candidate, result in zip(measure_candidates, runner_results, strict=True):
            database.commit_tuning_record(
                TuningRecord(
                    candidate.sch.trace,
                    workload,
                    result.run_secs if result.run_secs is not None else [FAILED],
                    task.target,
                    candidate.args_info,
                    error_msg=result.error_msg,
                    machine=result.machine,
                )
            )


class UpdateCostModel(MeasureCallback):
    """Lets the cost model learn from the candidates."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        model = task_scheduler.cost_model_
        if model is not None and measure_candidates:
            task = task_scheduler.tasks_[task_id].ctx
            model.update(task, measure_candidates, runner_results)


class RemoveBuildArtifact(MeasureCallback):
    """Removes the folders of built candidates."""

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: list[MeasureCandidate],
        builder_results: list[BuilderResult],
        runner_results: list[RunnerResult],
    ) -> None:
        for result in builder_results:
            if result.artifact_path is not None:
                remove_build_dir(result.artifact_path)
