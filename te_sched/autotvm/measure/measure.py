"""What a measurement is: its input, result and errors, and the bases of builders and runners.

Must not know how candidates are built and run.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.task.space import ConfigEntity
from te_sched.autotvm.task.task import Task
from te_sched.codegen.target import Target
from te_sched.errors import DeclarationError, kind_of, repr_of
from te_sched.processors import usable_processors
from te_sched.public_members import PublicObject, missing_method
from te_sched.signatures import checked


class MeasureInput(NamedTuple):
    """A configuration of a task to measure on a target."""

    target: Target
    task: Task
    config: ConfigEntity


class MeasureResult(NamedTuple):
    """The result of a measurement.

    Parameters
    ----------
    costs : seconds of a run, for each repetition; in case of an error the exception.
    error_no : a MeasureErrorNo.
    all_cost : seconds of the whole measurement.
    timestamp : when it ended, in seconds since 1970.
    """

    costs: tuple[Any, ...]
    error_no: int
    all_cost: float
    timestamp: float

    def __repr__(self) -> str:
        return (
            f"MeasureResult(costs={self.costs}, error_no={int(self.error_no)}, "
            f"all_cost={self.all_cost}, timestamp={self.timestamp})"
        )


class MeasureErrorNo(enum.IntEnum):
    """Why a measurement has no times."""

    NO_ERROR = 0
    INSTANTIATION_ERROR = 1  # the template refuses the configuration
    COMPILE_HOST = 2  # the schedule is not legal, or cannot be compiled
    COMPILE_DEVICE = 3
    RUNTIME_DEVICE = 4  # the program fails or crashes
    WRONG_ANSWER = 5  # the results are not those of the unscheduled program
    BUILD_TIMEOUT = 6
    RUN_TIMEOUT = 7
    UNKNOWN_ERROR = 8


class BuildResult(NamedTuple):
    """A candidate that was built.

    Parameters
    ----------
    filename : the object file.
    arg_info : shape and dtype of each argument.
    error : None; the measurement of a candidate that cannot be built is a MeasureResult.
    time_cost : seconds that it took.
    device : the kind of device that runs it.
    """

    filename: str
    arg_info: tuple[tuple[tuple[int, ...], str], ...]
    error: Exception | None
    time_cost: float
    device: str = "cpu"


class MeasureBuilder(PublicObject):
    """The base of builders.

    Parameters
    ----------
    timeout : seconds that building a candidate may take.
    n_parallel : how many are built at the same time, by default the number of processors.
    build_kwargs : options of the build, which override those of the runner.
    """

    @checked
    def __init__(
        self,
        timeout: float = 10,
        n_parallel: int | None = None,
        build_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.timeout = timeout
        self.n_parallel = usable_processors() if n_parallel is None else n_parallel
        self.user_build_kwargs = dict(build_kwargs or {})
        self.build_kwargs: dict[str, Any] = {}
        self.task: Task | None = None

    def set_task(self, task: Task, build_kwargs: Mapping[str, Any] | None = None) -> None:
        """Begin with a task; `build_kwargs` are the runner's options of the build."""
        self.task = task
        self.build_kwargs = {**(build_kwargs or {}), **self.user_build_kwargs}

    def build(self, measure_inputs: Sequence[MeasureInput]) -> list[BuildResult | MeasureResult]:
        """Build candidates; of those that fail the result is the MeasureResult."""
        raise missing_method(self, "build")


class MeasureRunner(PublicObject):
    """The base of runners.

    Parameters
    ----------
    timeout : seconds that a measurement may take.
    n_parallel : how many are made at the same time.
    """

    @checked
    def __init__(self, timeout: float = 5, n_parallel: int | None = None) -> None:
        self.timeout, self.n_parallel = timeout, n_parallel or 1
        self.task: Task | None = None

    def set_task(self, task: Task) -> None:
        """Begin with a task."""
        self.task = task

    def get_build_kwargs(self) -> dict[str, Any]:
        """Options that the device needs of the build."""
        return {}

    def run(
        self,
        measure_inputs: Sequence[MeasureInput],
        build_results: Sequence[BuildResult | MeasureResult],
    ) -> list[MeasureResult]:
        """Measure candidates that a builder has built."""
        raise missing_method(self, "run")


Builder = MeasureBuilder
Runner = MeasureRunner


class MeasureBatch(Protocol):
    """A function that measures configurations, `n_parallel` at a time."""

    n_parallel: int

    def __call__(self, measure_inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        """Measure."""


class _Batch:
    def __init__(self, builder: MeasureBuilder, runner: MeasureRunner) -> None:
        self._builder, self._runner, self.n_parallel = builder, runner, builder.n_parallel

    def __call__(self, measure_inputs: Sequence[MeasureInput]) -> list[MeasureResult]:
        return self._runner.run(measure_inputs, self._builder.build(measure_inputs))


def check_part(part: Any, kind: type, what: str) -> Any:
    """A builder or runner; refuses other objects."""
    if not isinstance(part, kind):
        raise DeclarationError(
            f"{repr_of(part)} is not a {what}",
            f"it is {kind_of(part)}",
            f'pass "local", autotvm.Local{what.capitalize()}(), or an object of your own class '
            f"that is derived from autotvm.measure.{what.capitalize()}",
            in_tvm=f"Invalid {what}",
        )
    return part


@checked
def create_measure_batch(task: Task, option: Mapping[str, Any]) -> MeasureBatch:
    """The function that measures configurations of a task, by the parts of `measure_option`."""
    builder: MeasureBuilder = check_part(option.get("builder"), MeasureBuilder, "builder")
    runner: MeasureRunner = check_part(option.get("runner"), MeasureRunner, "runner")
    runner.set_task(task)
    builder.set_task(task, runner.get_build_kwargs())
    return _Batch(builder, runner)


Callback = Callable[[Any, Sequence[MeasureInput], Sequence[MeasureResult]], Any]

_tell_of_absent_names(__name__)
