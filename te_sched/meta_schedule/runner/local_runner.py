"""A runner in a worker process of this machine, which measures one candidate after the other."""

from __future__ import annotations

import platform
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from te_sched.meta_schedule.runner.base import (
    EvaluatorConfig,
    Runner,
    RunnerFuture,
    RunnerInput,
    RunnerResult,
)
from te_sched.meta_schedule.runner.measuring import default_alloc_argument as default_alloc_argument
from te_sched.meta_schedule.runner.measuring import default_run_evaluator as default_run_evaluator
from te_sched.meta_schedule.runner.measuring import measured
from te_sched.meta_schedule.utils import (
    get_global_func_with_default_on_worker,
    half_of_memory,
)
from te_sched.worker_pool import WorkerPool, WorkerTimeoutError

_Function = str | Callable[..., Any] | None


class LocalRunner(Runner):
    """Measures candidates in a worker process, one after the other.

    If the unscheduled program is known (`RunnerInput.reference_path`), a candidate is first run on
    random arguments, and its results are compared; one that computes something else has an error
    message for a result. So has one that crashes, or takes too long or too much memory.

    Parameters
    ----------
    timeout_sec : for each candidate.
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
        self._pool = WorkerPool(1, timeout_sec, limit, initializer)

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """Measure all; the results are there when this returns, so that nothing else runs."""
        futures = [
            self._pool.submit(
                measured,
                one.artifact_path,
                one.device_type,
                [info.as_json() for info in one.args_info],
                one.reference_path,
                self.evaluator_config,
                self.alloc_repeat,
                self.cooldown_sec,
                self._functions,
            )
            for one in runner_inputs
        ]
        results = [self._result(one) for one in futures]
        return [LocalRunnerFuture(one.run_secs, one.error_msg) for one in results]

    def _result(self, future: Future[list[float]]) -> RunnerResult:
        try:
            return RunnerResult(future.result(), None)
        except WorkerTimeoutError:
            message = f"LocalRunner: Timeout, killed after {self.timeout_sec:g} seconds"
            return RunnerResult(None, message)
        except Exception as error:
            return RunnerResult(None, f"LocalRunner: An exception occurred\n{error}")


class LocalRunnerFuture(RunnerFuture):
    """A measurement that is over."""

    def __init__(self, res: list[float] | None = None, error_message: str | None = None) -> None:
        result = RunnerResult(res, error_message, platform.node())
        super().__init__(lambda: True, lambda: result)
