"""Schedulers of tasks: which task gets the next batch of trials.

`GradientBased` gives it to the task whose batch is expected to lower the weighted sum of latencies
most (Zheng et al., Ansor, OSDI 2020, section 6), `RoundRobin` to each in turn.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from operator import not_
from typing import Any, Self

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.analysis.programs.operations import count_operations
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, TeSchedError, repr_of
from te_sched.meta_schedule.builder.base import Builder, BuilderInput, BuilderResult
from te_sched.meta_schedule.component import Component, made, not_written
from te_sched.meta_schedule.cost_model.base import CostModel
from te_sched.meta_schedule.database.base import Database
from te_sched.meta_schedule.measure_callback.base import MeasureCallback
from te_sched.meta_schedule.profiler import Profiler
from te_sched.meta_schedule.runner.base import Runner, RunnerFuture, RunnerInput, RunnerResult
from te_sched.meta_schedule.search_strategy import MeasureCandidate
from te_sched.meta_schedule.tune_context import TuneContext
from te_sched.meta_schedule.utils import remove_build_dir
from te_sched.signatures import check_arguments, is_sequence
from te_sched.tensorir.random_numbers import RandomNumbers

_MOST_RECALLED = 256  # records of a task that a cost model learns from before the search
_MOST_EMPTY = 100  # batches of a task without a candidate, one after the other
_HEADER = (
    "ID",
    "Name",
    "FLOP",
    "Weight",
    "Speed (GFLOPS)",
    "Latency (us)",
    "Weighted Latency (us)",
    "Trials",
    "Done",
)


class TaskRecord:
    """What is known of a task: its context `ctx`, and the best seconds after each trial."""

    def __init__(self, ctx: TuneContext, task_weight: float = 1.0) -> None:
        self.ctx, self.task_weight = ctx, task_weight
        self.flop = _operations(ctx)
        self.is_terminated = self.was_asked = False
        self.build_error_count = self.run_error_count = 0
        self.empty_batches = 0
        self.measure_candidates: list[MeasureCandidate] | None = None
        self.builder_results: list[BuilderResult] | None = None
        self.runner_futures: list[RunnerFuture] | None = None
        self.has_reference = False  # or cannot have one
        self.reference_path: str | None = None
        self.latencies: list[float] = []

    @property
    def best(self) -> float:
        """The best seconds so far; infinite if there are none."""
        return self.latencies[-1] if self.latencies else math.inf


def _operations(task: TuneContext) -> float:
    if task.mod is None:
        return 0.0
    try:
        return float(count_operations(task.mod))
    except TeSchedError:  # `while` loops have no number of operations
        return 0.0


class TaskScheduler(Component):
    """Tunes tasks in turn, a batch of trials each time; `next_task_id` chooses the task."""

    def __init__(self) -> None:
        self.tasks_: list[TaskRecord] = []
        self.database_: Database | None = None
        self.cost_model_: CostModel | None = None
        self.measure_callbacks_: list[MeasureCallback] = []
        self.remaining_tasks_ = 0

    def _outer(self) -> Self:
        """The scheduler, which TVM's classes of Python reach by this name."""
        return self

    def next_task_id(self) -> int:
        """The number of the task that is next; -1 if all are done."""
        raise not_written(self, "PyTaskScheduler", "next_task_id")

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int,
        num_trials_per_iter: int,
        builder: Builder,
        runner: Runner,
        measure_callbacks: Sequence[MeasureCallback],
        database: Database | None,
        cost_model: CostModel | None,
    ) -> None:
        """Tune until each task is done or had `max_trials_per_task` trials, or all together had
        `max_trials_global`; a batch that was begun is finished. Batches have `num_trials_per_iter`
        trials, or fewer if some tasks would get none."""
        if len(tasks) != len(task_weights):
            raise DeclarationError(
                f"{len(tasks)} tasks have {len(task_weights)} weights",
                "",
                "give one weight for each task",
            )
        for weight in task_weights:
            if not 0 <= weight < math.inf:
                raise DeclarationError(
                    f"the weight of a task is {weight}", "", "give a number that is not negative"
                )
        self.tasks_ = [
            TaskRecord(task, float(weight))
            for task, weight in zip(tasks, task_weights, strict=True)
        ]
        self.remaining_tasks_ = len(self.tasks_)
        self.database_, self.cost_model_ = database, cost_model
        self.measure_callbacks_ = list(measure_callbacks)
        batch = min(num_trials_per_iter, max(1, max_trials_global // max(1, len(tasks))))
        with ExitStack() as ends:
            for task in self.tasks_:
                with Profiler.timeit("InitializeTask"):
                    task.ctx.pre_tuning(
                        max_trials_per_task,
                        batch,
                        database=database,
                        cost_model=cost_model,
                    )
                ends.callback(_end, task)
                self._recall(task)
            try:
                self._run(max_trials_global, builder, runner)
            except BaseException:
                ends.callback(runner.close)
                ends.callback(builder.close)
                self._keep_what_was_measured()
                raise

    def _keep_what_was_measured(self) -> None:
        """After Ctrl-C or an error: take the results that are there."""
        measured = [
            (number, [future.done() for future in task.runner_futures])
            for number, task in enumerate(self.tasks_)
            if task.runner_futures is not None
        ]
        for number, is_done in measured:
            task = self.tasks_[number]
            _remove(itertools.compress(task.builder_results or (), map(not_, is_done)))
            for name in ("measure_candidates", "builder_results", "runner_futures"):
                setattr(task, name, [*itertools.compress(getattr(task, name), is_done)])
            self.join_running_task(number)

    def _recall(self, task: TaskRecord) -> None:
        """Let the cost model learn from what an earlier search measured."""
        database, model = self.database_, self.cost_model_
        if database is None or model is None or task.ctx.mod is None:
            return
        records = database.get_top_k(database.commit_workload(task.ctx.mod), _MOST_RECALLED)
        if records:
            results = [RunnerResult(record.run_secs, None, record.machine) for record in records]
            model.update(task.ctx, [record.as_measure_candidate() for record in records], results)

    def _run(self, max_trials_global: int, builder: Builder, runner: Runner) -> None:
        trials = 0
        while trials < max_trials_global and (number := self.next_task_id()) != -1:
            task = self.tasks_[number]
            if task.is_terminated:
                raise DeclarationError(
                    f"next_task_id gave task {number}, which is done", "", "give -1 if all are done"
                )
            if task.runner_futures is not None:
                self.join_running_task(number)
            task.was_asked = True
            with Profiler.timeit("EvoSearch"):
                task.measure_candidates = task.ctx.generate_measure_candidates()
            if task.measure_candidates is None:
                self.terminate_task(number)
                continue
            task.empty_batches = 0 if task.measure_candidates else task.empty_batches + 1
            if task.empty_batches > _MOST_EMPTY:
                self.terminate_task(number)
                continue
            trials += len(task.measure_candidates)
            task.builder_results = self._build(task, builder)
            task.runner_futures = self._start(task, runner)
            if runner.is_exclusive:
                self.join_running_task(number)
        for number, task in enumerate(self.tasks_):
            if task.runner_futures is not None:
                self.join_running_task(number)
            if not task.is_terminated:
                self.terminate_task(number)

    def _build(self, task: TaskRecord, builder: Builder) -> list[BuilderResult]:
        assert task.measure_candidates is not None
        target = task.ctx.target
        inputs = [BuilderInput(candidate.sch.mod, target) for candidate in task.measure_candidates]
        if inputs and task.ctx.mod is not None and not task.has_reference:
            inputs.append(BuilderInput(task.ctx.mod, _of_processor(target)))
        with Profiler.timeit("SendToBuilder"):
            results = builder.build(inputs)
        _check_made(builder, results, BuilderResult, len(inputs))
        if len(results) > len(task.measure_candidates):
            self._take_reference(task, results.pop())
        return results

    def _take_reference(self, task: TaskRecord, result: BuilderResult) -> None:
        """Keep the built unscheduled program, with which candidates are compared."""
        task.has_reference, task.reference_path = True, result.artifact_path
        if result.artifact_path is None:
            task.ctx.logger.warning(
                "the unscheduled program of task %s cannot be built, candidates are not checked: "
                "%s",
                task.ctx.task_name,
                result.error_msg,
            )

    def _start(self, task: TaskRecord, runner: Runner) -> list[RunnerFuture]:
        """Begin to measure what could be built."""
        assert task.measure_candidates is not None
        assert task.builder_results is not None
        device = _device_of(task.ctx.target.kind.name)
        built = [
            RunnerInput(result.artifact_path, device, candidate.args_info, task.reference_path)
            for candidate, result in zip(task.measure_candidates, task.builder_results, strict=True)
            if result.artifact_path is not None
        ]
        futures: list[RunnerFuture] = []
        if built:
            with Profiler.timeit("SendToRunner"):
                futures = runner.run(built)
            _check_made(runner, futures, RunnerFuture, len(built))
        running = iter(futures)
        return [
            next(running) if result.artifact_path is not None else _failed(result.error_msg)
            for result in task.builder_results
        ]

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """Wait for the results of a task, and tell the strategy and the callbacks."""
        task = self.tasks_[task_id]
        futures, candidates = task.runner_futures, task.measure_candidates
        assert futures is not None
        assert candidates is not None
        with Profiler.timeit("JoinRunnerFutures"):
            results = [future.result() for future in futures]
        for future, result in zip(futures, results, strict=True):
            _check_made(future, result, RunnerResult)
        task.runner_futures = task.measure_candidates = None
        task.ctx.notify_runner_results(candidates, results)
        with Profiler.timeit("MeasureCallback"):
            for callback in self.measure_callbacks_:
                callback.apply(self, task_id, candidates, task.builder_results or [], results)
        for result, built in zip(results, task.builder_results or (), strict=True):
            seconds = result.run_secs if result.error_msg is None else None
            if built.artifact_path is None:
                task.build_error_count += 1
            elif not seconds:
                task.run_error_count += 1
            spent = sum(seconds) / len(seconds) if seconds else math.inf
            task.latencies.append(min(task.best, spent))
        task.builder_results = None
        task.ctx.logger.info("%s", self._line(task_id))
        return results

    def terminate_task(self, task_id: int) -> None:
        """Give a task no more trials."""
        task = self.tasks_[task_id]
        task.is_terminated = True
        if not task.latencies:
            task.ctx.logger.warning(
                "task %s ends without a trial: %s",
                task.ctx.task_name,
                "no schedule of its space is valid and new"
                if task.was_asked
                else "other tasks had all of max_trials_global",
            )
        self.remaining_tasks_ -= 1
        self.print_tuning_statistics()

    def touch_task(self, task_id: int) -> None:
        """Take the results of a task if all of them are there."""
        futures = self.tasks_[task_id].runner_futures
        if futures is not None and all(future.done() for future in futures):
            self.join_running_task(task_id)

    def statistics(self) -> str:
        """The tasks as a table, with the sum of their weighted latencies."""
        rows = [self._row(number, task) for number, task in enumerate(self.tasks_)]
        widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
        lines = [
            " | ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in (_HEADER, *rows)
        ]
        rule = "-" * (sum(widths) + 3 * len(widths))
        total = sum(task.best * task.task_weight for task in self.tasks_ if task.latencies) * 1e6
        trials = sum(len(task.latencies) for task in self.tasks_)
        head, *body = (f" {line} " for line in lines)
        return "\n".join(
            [
                head,
                rule,
                *body,
                rule,
                f"Total trials: {trials}",
                f"Total latency (us): {total:g}",
            ]
        )

    def print_tuning_statistics(self) -> None:
        """Log the table of tasks."""
        if self.tasks_:
            self.tasks_[0].ctx.logger.info("\n%s\n", self.statistics())

    def _row(self, number: int, task: TaskRecord) -> list[str]:
        has_time = math.isfinite(task.best)
        micros = task.best * 1e6
        return [
            str(number),
            task.ctx.task_name,
            str(int(task.flop)),
            f"{task.task_weight:g}",
            f"{task.flop / task.best / 1e9:.4f}" if has_time and task.best > 0 else "N/A",
            f"{micros:.4f}" if has_time else "N/A",
            f"{micros * task.task_weight:.4f}" if has_time else "N/A",
            str(len(task.latencies)),
            "Y" if task.is_terminated else "",
        ]

    def _line(self, number: int) -> str:
        """A line about the last batch of a task."""
        task = self.tasks_[number]
        failures = task.build_error_count + task.run_error_count
        best = f"{task.best * 1e6:.4g} us" if math.isfinite(task.best) else "none"
        trials = f"{len(task.latencies)} trials"
        return f"task {number} ({task.ctx.task_name}): {trials}, {failures} failed, best {best}"

    @staticmethod
    def create(kind: Any = "gradient", *args: Any, **kwargs: Any) -> TaskScheduler:
        """A scheduler by its name; a scheduler is returned as it is.

        >>> type(TaskScheduler.create("round-robin")).__name__
        'RoundRobin'
        """
        return made(TaskScheduler, "task scheduler", _SCHEDULERS, kind, args, kwargs)


def _device_of(kind: str) -> str:
    return "cpu" if kind == "llvm" else kind


def _of_processor(target: Target) -> Target:
    """Where the unscheduled program runs: it has no threads of a GPU."""
    return target if target.kind.name == "llvm" else Target("llvm")


def _check_made(part: Component, value: Any, kind: type[Any], count: int | None = None) -> None:
    """Refuse what a part of the search returned, unless it is an object of a class, or a list of
    `count` of them.
    """
    of_list = is_sequence(value) and all(isinstance(item, kind) for item in value)
    if isinstance(value, kind) if count is None else of_list and len(value) == count:
        return
    expected = f"a {kind.__name__}" if count is None else f"a list of {count} {kind.__name__}s"
    raise DeclarationError(
        f"{type(part).__name__} returned {repr_of(value)}, expected {expected}",
        "",
        f"return {expected}, also for failures",
    )


def _end(task: TaskRecord) -> None:
    """Remove the files of a task, also those of a batch that was not finished."""
    if task.reference_path is not None:
        remove_build_dir(task.reference_path)
    _remove(task.builder_results or ())
    task.ctx.post_tuning()


def _remove(results: Iterable[BuilderResult]) -> None:
    for result in results:
        if result.artifact_path is not None:
            remove_build_dir(result.artifact_path)


def _failed(message: str | None) -> RunnerFuture:
    result = RunnerResult(None, message or "the candidate was not built")
    return RunnerFuture(lambda: True, lambda: result)


class RoundRobin(TaskScheduler):
    """Gives each task a batch in turn."""

    def __init__(self) -> None:
        super().__init__()
        self._last = -1

    def next_task_id(self) -> int:
        count = len(self.tasks_)
        for step in range(1, count + 1):
            number = (self._last + step) % count
            if not self.tasks_[number].is_terminated:
                self._last = number
                return number
        return -1


class GradientBased(TaskScheduler):
    """Gives the batch to the task from which most is expected; each task has one batch first.

    Parameters
    ----------
    alpha : the weight of what the last trials gained, against what a task may still gain if its
        latency falls as the reciprocal of its trials.
    window_size : of the last trials, in batches.
    seed : -1 to draw one; it decides among equal tasks.
    """

    def __init__(self, *, alpha: float = 0.2, window_size: int = 3, seed: int = -1) -> None:
        super().__init__()
        self.alpha, self.window_size = alpha, window_size
        self._numbers = RandomNumbers(None if seed == -1 else seed)

    def next_task_id(self) -> int:
        open_tasks = [n for n, task in enumerate(self.tasks_) if not task.is_terminated]
        if not open_tasks:
            return -1
        for number in open_tasks:
            if self.tasks_[number].runner_futures is None and not self.tasks_[number].latencies:
                return number
        for number in open_tasks:
            if self.tasks_[number].runner_futures is not None:
                self.join_running_task(number)
        gains = [self._gain(self.tasks_[number]) for number in open_tasks]
        best = [n for n, gain in zip(open_tasks, gains, strict=True) if gain == max(gains)]
        return best[self._numbers.below(len(best))]

    def _gain(self, task: TaskRecord) -> float:
        """The expected fall of the weighted latency with one more trial."""
        trials = len(task.latencies)
        if trials == 0 or not math.isfinite(task.best):
            return 0.0
        window = min(self.window_size * max(1, trials // 4), trials - 1)
        before = task.latencies[-1 - window]
        fell = (before - task.best) / window if window and math.isfinite(before) else 0.0
        return task.task_weight * (self.alpha * fell + (1 - self.alpha) * task.best / trials)


PyTaskScheduler = TaskScheduler
_SCHEDULERS: dict[str, type[TaskScheduler]] = {
    "gradient": GradientBased,
    "round-robin": RoundRobin,
}
create = TaskScheduler.create

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
