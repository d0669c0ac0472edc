"""The base of runners, which measure what builders have built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.component import Component, not_written

LONGEST = 4  # times what the measurements of a fast function take


class EvaluatorConfig(NamedTuple):
    """How a function is timed: `number` runs a measurement, `repeat` measurements.

    `min_repeat_ms` raises `number` until a measurement takes that long; `enable_cpu_cache_flush`
    empties the caches before each. The defaults are several short measurements, which order
    candidates as well as TVM's single one of 100 ms in a quarter of the time.

    Slow functions are measured less often, once at least: until LONGEST times what `repeat`
    measurements of `min_repeat_ms` take (0.1 s by default), but not if that is 0 or caches are
    emptied.
    """

    number: int = 1
    repeat: int = 5
    min_repeat_ms: int = 5
    enable_cpu_cache_flush: bool = False


class RunnerInput:
    """A built module, the kind of device that runs it ("cpu"), and its arguments.

    `reference_path` is where the unscheduled program lies: the module must compute the same.
    """

    def __init__(
        self,
        artifact_path: str,
        device_type: str,
        args_info: Sequence[ArgInfo],
        reference_path: str | None = None,
    ) -> None:
        self.artifact_path, self.device_type = artifact_path, device_type
        self.args_info, self.reference_path = list(args_info), reference_path


class RunnerResult:
    """Measured seconds of a run, or why there are none; `machine` is the name of where it ran."""

    def __init__(
        self, run_secs: Sequence[float] | None, error_msg: str | None, machine: str | None = None
    ) -> None:
        self.run_secs = None if run_secs is None else [float(duration) for duration in run_secs]
        self.error_msg, self.machine = error_msg, machine


class RunnerFuture(Component):
    """A measurement that may still be going on."""

    def __init__(
        self,
        f_done: Callable[[], bool] | None = None,
        f_result: Callable[[], RunnerResult] | None = None,
    ) -> None:
        self._f_done, self._f_result = f_done, f_result

    def done(self) -> bool:
        """Whether `result` returns at once."""
        if self._f_done is None:
            raise not_written(self, "PyRunnerFuture", "done")
        return self._f_done()

    def result(self) -> RunnerResult:
        """Wait for the measurement."""
        if self._f_result is None:
            raise not_written(self, "PyRunnerFuture", "result")
        return self._f_result()


class Runner(Component):
    """Measures candidates.

    If `is_exclusive`, other work on this machine disturbs it: schedulers wait for its results.
    """

    is_exclusive = False

    def run(self, runner_inputs: list[RunnerInput]) -> list[RunnerFuture]:
        """Begin to measure all; the futures are in the order of the inputs."""
        raise not_written(self, "PyRunner", "run")

    def close(self) -> None:
        """End processes and measurements that are going on; the runner can be used again."""


PyRunnerFuture = RunnerFuture
PyRunner = Runner
