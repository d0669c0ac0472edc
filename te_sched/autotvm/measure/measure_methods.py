"""Building and running candidates in worker processes of this machine.

A candidate that crashes, hangs or needs too much memory costs that candidate. Before it is timed,
its results are compared with those of the program without a schedule. Must not know tuners.
"""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from te_sched.autotvm.measure.candidates import build_candidate, run_candidate, run_reference
from te_sched.autotvm.measure.measure import (
    BuildResult,
    MeasureBuilder,
    MeasureErrorNo,
    MeasureInput,
    MeasureResult,
    MeasureRunner,
    check_part,
)
from te_sched.autotvm.task.space import FallbackConfigEntity, InstantiationError
from te_sched.autotvm.task.task import Instance, Task
from te_sched.errors import DeclarationError, TeSchedError, repr_of
from te_sched.processors import machine_memory
from te_sched.signatures import checked
from te_sched.transform import PassContext
from te_sched.tuning.artifacts import temporary_folder
from te_sched.tuning.timing import TimingOptions
from te_sched.tuning.workers import Failure, FailureKind, loading, outcome_of, with_switches
from te_sched.worker_pool import WorkerPool

__all__ = ["BuildResult", "LocalBuilder", "LocalRunner", "measure_option"]

logger = logging.getLogger("autotvm")
_REFERENCE_TIMEOUT = 120.0  # seconds; a program without a schedule may be slow
_PREFIX = "te_sched-autotvm-"  # of folders
_BUILD_ERRORS = {
    FailureKind.TIMEOUT: MeasureErrorNo.BUILD_TIMEOUT,
    FailureKind.WRONG_ANSWER: MeasureErrorNo.COMPILE_HOST,
    FailureKind.ERROR: MeasureErrorNo.COMPILE_HOST,
}
_RUN_ERRORS = {
    FailureKind.TIMEOUT: MeasureErrorNo.RUN_TIMEOUT,
    FailureKind.WRONG_ANSWER: MeasureErrorNo.WRONG_ANSWER,
    FailureKind.ERROR: MeasureErrorNo.RUNTIME_DEVICE,
}


def measure_option(builder: Any, runner: Any) -> dict[str, Any]:
    """The parts of a measurement: a builder and a runner, or "local" for the usual ones.

    >>> sorted(measure_option("local", LocalRunner(number=10)))
    ['builder', 'runner']

    Raises
    ------
    DeclarationError for other objects.
    """
    builder = LocalBuilder() if isinstance(builder, str) and builder == "local" else builder
    runner = LocalRunner() if isinstance(runner, str) and runner == "local" else runner
    return {
        "builder": check_part(builder, MeasureBuilder, "builder"),
        "runner": check_part(runner, MeasureRunner, "runner"),
    }


class WorkerBuilder(MeasureBuilder):
    """Builds candidates in worker processes of this machine.

    Parameters
    ----------
    timeout : seconds that building a candidate may take.
    n_parallel : the number of processes, by default that of processors.
    build_kwargs : {"build_option": {...}} has options of a PassContext for the build.
    build_func : "default", or a function that links object files: see Module.export_library.
    memory_limit : bytes that a process may have, by default the memory of the machine.
    """

    @checked
    def __init__(
        self,
        timeout: float = 10,
        n_parallel: int | None = None,
        build_kwargs: Mapping[str, Any] | None = None,
        build_func: Any = "default",
        do_fork: bool = False,
        runtime: Any = None,
        memory_limit: int | None = None,
    ) -> None:
        del do_fork, runtime
        super().__init__(timeout, n_parallel, build_kwargs)
        if not callable(build_func) and not (
            isinstance(build_func, str) and build_func == "default"
        ):
            raise DeclarationError(
                f"invalid build_func {repr_of(build_func)}",
                "te_sched builds for this machine",
                'use "default", or a function like te_sched.contrib.cc.create_shared',
            )
        self._fcompile: Callable[..., Any] | None = build_func if callable(build_func) else None
        limit = memory_limit or machine_memory()
        self.executor: Any = WorkerPool(self.n_parallel, timeout, limit, loading(build_candidate))
        self._folder = temporary_folder(_PREFIX)

    def set_task(self, task: Task, build_kwargs: Mapping[str, Any] | None = None) -> None:
        """Begin with a task; files of the one before are deleted."""
        super().set_task(task, build_kwargs)
        self._folder = temporary_folder(_PREFIX)

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[BuildResult | MeasureResult]:
        """Build candidates; of those that fail the result is the MeasureResult."""
        calls = [(time.perf_counter(), self._begin(inp)) for inp in measure_inputs]
        return [self._finish(*call) for call in calls]

    def _begin(self, inp: MeasureInput) -> Any:
        """A future, or the error of the template."""
        try:
            s, args = _instantiated(inp)
            with PassContext(config=self.build_kwargs.get("build_option") or {}):
                build = with_switches(build_candidate)
        except Exception as error:
            return error
        target = inp.target
        if inp.task.target_host is not None:
            target = target.with_host(inp.task.target_host)
        return self.executor.submit(build, s, args, target, self._folder.name, self._fcompile)

    def _finish(self, start: float, call: Any) -> BuildResult | MeasureResult:
        if isinstance(call, Exception):
            return _failed(call, MeasureErrorNo.INSTANTIATION_ERROR, start)
        result: BuildResult | Failure = outcome_of(call.result)
        if isinstance(result, Failure):
            return _failed(result.error, _BUILD_ERRORS[result.kind], start)
        return result


LocalBuilder = WorkerBuilder  # TVM's name, which meta_schedule has, too


def _instantiated(inp: MeasureInput) -> Instance:
    with inp.target:
        s, args = inp.task.instantiate(inp.config)
    if not inp.config.valid():
        reasons = "; ".join(map(str, inp.config.errors))
        raise InstantiationError(
            f"template {inp.task.name} refuses configuration {inp.config.index}",
            reasons,
            "measure another configuration",
        )
    return s, args


def _failed(error: Exception, number: MeasureErrorNo, start: float) -> MeasureResult:
    return MeasureResult((error,), number, time.perf_counter() - start, time.time())


class WorkerRunner(MeasureRunner):
    """Runs candidates one after the other in a worker process of this machine.

    Each candidate is run with random arguments, the same for all, or `ref_input`, and must compute
    what the program computes without a schedule; otherwise its result is WRONG_ANSWER.

    Parameters
    ----------
    timeout : seconds that a candidate may take.
    number : runs of a repetition, whose mean is a cost.
    repeat : repetitions.
    min_repeat_ms : `number` is raised until a repetition takes that long.
    cooldown_interval : seconds between candidates.
    enable_cpu_cache_flush : empty the caches before each run.
    check_correctness : whether results are compared.
    memory_limit : bytes that the process may have, by default the memory of the machine.
    """

    @checked
    def __init__(
        self,
        timeout: float = 10,
        number: int = 4,
        repeat: int = 3,
        min_repeat_ms: float = 0,
        cooldown_interval: float = 0.1,
        enable_cpu_cache_flush: bool = False,
        module_loader: Any = None,
        check_correctness: bool = True,
        memory_limit: int | None = None,
    ) -> None:
        super().__init__(timeout, 1)
        if module_loader is not None:
            raise DeclarationError(
                "LocalRunner has no module loaders",
                "candidates are files of this machine",
                "leave module_loader out",
            )
        self._timing = TimingOptions(number, repeat, min_repeat_ms, enable_cpu_cache_flush)
        self._cooldown = cooldown_interval
        self.check_correctness = check_correctness
        self.ref_input: Sequence[Any] = ()
        limit = memory_limit or machine_memory()
        self.executor: Any = WorkerPool(1, timeout, limit, loading(run_candidate))
        self._folder = temporary_folder(_PREFIX)
        self._tasks = itertools.count()
        self._reference = ""

    def set_task(self, task: Task) -> None:
        """Begin with a task."""
        super().set_task(task)
        self._reference = ""
        if self.check_correctness:
            self._reference = os.path.join(self._folder.name, f"reference_{next(self._tasks)}")

    def run(
        self,
        measure_inputs: Sequence[MeasureInput],
        build_results: Sequence[BuildResult | MeasureResult],
    ) -> list[MeasureResult]:
        """Measure candidates; the results of those that could not be built are passed on."""
        if self._reference and not os.path.exists(self._reference):
            self._make_reference()
        return [
            self._measured(build_result)
            for _, build_result in zip(measure_inputs, build_results, strict=True)
        ]

    def _measured(self, built: BuildResult | MeasureResult) -> MeasureResult:
        if isinstance(built, MeasureResult):
            return built
        start = time.perf_counter()
        run = with_switches(run_candidate)
        arguments = built, self._timing, self._reference, self._cooldown, self.ref_input
        result: MeasureResult | Failure = outcome_of(
            lambda: self.executor.submit(run, *arguments).result()
        )
        if isinstance(result, Failure):
            return _failed(result.error, _RUN_ERRORS[result.kind], start)
        return result

    def _make_reference(self) -> None:
        """Compute the results that candidates must have; the first candidate does, if this fails.

        Any configuration declares the program; its schedule is not used.
        """
        task = self.task
        if task is None or task.target is None:
            return
        try:
            with task.target:
                _, args = task.instantiate(FallbackConfigEntity())
            run = with_switches(run_reference)
            self.executor.submit(
                run, args, self._reference, self.ref_input, timeout=_REFERENCE_TIMEOUT
            ).result()
        except Exception as error:
            logger.warning(
                "The results of task %s are compared with those of its first candidate, as the "
                "program without a schedule could not be run: %s",
                task.name,
                error.fault if isinstance(error, TeSchedError) else repr(error),
            )


LocalRunner = WorkerRunner  # TVM's name, which meta_schedule has, too
