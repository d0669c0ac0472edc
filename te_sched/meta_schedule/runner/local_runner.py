"""A runner in a worker process of this machine, which measures one candidate after the other."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

from te_sched.errors import TeSchedError
from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.log_file import LOGGER
from te_sched.meta_schedule.runner.base import (
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from te_sched.meta_schedule.runner.measuring import default_alloc_argument as default_alloc_argument
from te_sched.meta_schedule.runner.measuring import default_run_evaluator as default_run_evaluator
from te_sched.meta_schedule.runner.measuring import measured, save_reference, timing_of
from te_sched.meta_schedule.utils import get_global_func_with_default_on_worker, half_of_memory
from te_sched.signatures import checked
from te_sched.tuning.gpu_model import MODEL, is_modeled
from te_sched.tuning.workers import Failure, loading, outcome_of, with_switches
from te_sched.worker_pool import WorkerPool

_Function = str | Callable[..., Any] | None
_LONGER = 10.0  # times the limit of a candidate that the unscheduled program may take
_SLOWER = 100.0  # times what the unscheduled program takes, and
_SILENT = 10.0  # seconds for an unscheduled program and its worker before the log says so
_PATIENCE = 10.0  # seconds: longer candidates are hopeless


class LocalRunner(Runner):
    """Measures candidates in a worker process, one after the other.

    If the unscheduled program is known (`RunnerInput.reference_path`), a candidate is first run on
    random arguments, and its results are compared; one that computes something else has an error
    message for a result. So has one that crashes, or takes too long or too much memory.

    Kernels for CUDA run on the GPU. Without a GPU they run on the emulated device, and the seconds
    are those of a model: see `te_sched.tuning.gpu_model`.

    Parameters
    ----------
    timeout_sec : for each candidate. Those whose unscheduled program is known have 10 s and a
        hundred times what it takes, if that is less and slow functions are measured less often
        (`EvaluatorConfig`).
    evaluator_config : how often it runs.
    cooldown_sec : seconds to wait after each.
    alloc_repeat : sets of arguments that are measured in turn.
    f_alloc_argument : a function of the device, the JSON of the arguments and `alloc_repeat`, that
        returns the sets; or its registered name.
    f_run_evaluator : a function of the module, the device, the configuration and the sets of
        arguments, that returns seconds.
    f_cleanup : called after each.
    initializer : called first in the worker.
    memory_limit : bytes for the worker, by default half of the machine's memory.

    Raises
    ------
    DeclarationError for a name that is not registered.
    """

    is_exclusive = True

    @checked
    def __init__(
        self,
        timeout_sec: float = 30.0,
        evaluator_config: EvaluatorConfig | None = None,
        cooldown_sec: float = 0.0,
        alloc_repeat: int = 1,
        f_alloc_argument: _Function = None,
        f_run_evaluator: _Function = None,
        f_cleanup: _Function = None,
        initializer: Callable[[], None] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> None:
        if initializer is None:
            for name in (f_alloc_argument, f_run_evaluator, f_cleanup):
                get_global_func_with_default_on_worker(name, None)
        self.timeout_sec = timeout_sec
        self.evaluator_config = evaluator_config or EvaluatorConfig()
        self.cooldown_sec, self.alloc_repeat = cooldown_sec, alloc_repeat
        self._functions = (f_alloc_argument, f_run_evaluator, f_cleanup)
        limit = half_of_memory() if memory_limit is None else memory_limit
        self._pool = WorkerPool(1, timeout_sec, limit, loading(measured, initializer))
        self._references: dict[str, Future[float]] = {}

    def close(self) -> None:
        """End the worker; what it has not measured yet has no result. `run` starts a new one."""
        self._pool.restart()

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """Begin to measure all, one after the other."""
        for runner_input in runner_inputs:
            self._prepare(runner_input.reference_path, runner_input.args_info)
        limits = [self._limit(entry.reference_path) for entry in runner_inputs]
        futures = [
            self._pool.submit(
                with_switches(measured),
                entry.artifact_path,
                entry.device_type,
                [info.as_json() for info in entry.args_info],
                entry.reference_path,
                self.evaluator_config,
                self.alloc_repeat,
                self.cooldown_sec,
                self._functions,
                timeout=limit,
            )
            for entry, limit in zip(runner_inputs, limits, strict=True)
        ]
        return [
            RunnerFuture(
                future.done, partial(self._result, future, limit, machine_of(entry.device_type))
            )
            for future, limit, entry in zip(futures, limits, runner_inputs, strict=True)
        ]

    def _prepare(self, path: str | None, infos: Sequence[ArgInfo]) -> None:
        """Run an unscheduled program, so that the worker has its results for the candidates."""
        if path is None or path in self._references:
            return
        future = self._references[path] = self._pool.submit(
            with_switches(save_reference),
            path,
            [info.as_json() for info in infos],
            timeout=_LONGER * self.timeout_sec,
        )
        future.add_done_callback(_warn)

    def _limit(self, path: str | None) -> float:
        """The seconds that a candidate may take."""
        reference = self._references.get(path or "")
        if reference is None or self._functions[1] is not None:
            return self.timeout_sec
        if not wait([reference], _SILENT).done:  # the worker runs it before candidates
            LOGGER.warning(
                "waited %g s for the unscheduled program, which is given up when it has run for "
                "%g s; Ctrl-C ends the search",
                _SILENT,
                _LONGER * self.timeout_sec,
            )
            wait([reference])
        is_known = not reference.cancelled() and reference.exception() is None
        if not is_known or not timing_of(self.evaluator_config).limit:
            return self.timeout_sec
        return min(self.timeout_sec, _PATIENCE + _SLOWER * reference.result())

    def _result(self, future: Future[list[float]], limit: float, machine: str) -> RunnerResult:
        outcome = outcome_of(future.result)
        if isinstance(outcome, Failure):
            return RunnerResult(None, outcome.message("LocalRunner", f"{limit:.3g}"), machine)
        return RunnerResult(outcome, None, machine)


def machine_of(device_type: str) -> str:
    """The name of this machine, with a note if seconds are those of a model."""
    return f"{platform.node()} ({MODEL})" if is_modeled(device_type) else platform.node()


def _warn(future: Future[float]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        text = error.summary if isinstance(error, TeSchedError) else repr(error)
        LOGGER.warning("the unscheduled program failed, candidates are not checked: %s", text)


class LocalRunnerFuture(RunnerFuture):
    """A measurement that is over."""

    def __init__(self, res: list[float] | None = None, error_message: str | None = None) -> None:
        result = RunnerResult(res, error_message, platform.node())
        super().__init__(lambda: True, lambda: result)
