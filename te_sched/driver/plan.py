"""Plans: named steps one after the other, which can be shown with their times.

A step is a function that changes the work it is given; its name and the first sentence of its
docstring are what `build(..., show="steps")` prints. Must not know any step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from te_sched.analysis.findings import Findings
from te_sched.codegen.target import Target
from te_sched.config import Config
from te_sched.ir.expr import Buffer
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lower.show_passes import purpose
from te_sched.schedule.schedule import Schedule
from te_sched.te.tensor import Tensor

if TYPE_CHECKING:
    from te_sched.runtime.cuda_module import CudaModule
    from te_sched.runtime.module import Module


@dataclass(slots=True)
class Work:
    """What is built, and what the steps have made of it.

    `switches` lower to run, `outside` are those in force round `build`. `findings` of each function
    are told after it is lowered; `checked` are the functions with checks, where a GPU runs without
    them: none where nothing needs one, and None where nothing is to be checked.
    """

    inputs: Schedule | PrimFunc | IRModule | Mapping[str, Any]
    args: Sequence[Any] | None
    target: Target
    outside: Config
    switches: Config
    name: str = "main"
    binds: Mapping[Tensor, Buffer] | None = None
    verify: bool = True
    sanitize: bool = False
    functions: Mapping[str, PrimFunc] = field(default_factory=dict)
    findings: list[Findings] = field(default_factory=list)
    checked: Mapping[str, PrimFunc] | None = None
    known_as: str | None = None
    module: Module | CudaModule | None = None
    timer: StepTimer | None = None

    @property
    def schedule(self) -> Schedule:
        """The schedule, of which some steps are alone."""
        assert isinstance(self.inputs, Schedule)
        return self.inputs

    @property
    def is_scheduled(self) -> bool:
        """Whether a schedule is built."""
        return isinstance(self.inputs, Schedule)

    @property
    def is_for_gpu(self) -> bool:
        """Whether kernels are built."""
        return self.target.kind == "cuda"


class Step(NamedTuple):
    """One step of a plan, and for which work it is taken."""

    run: Callable[[Work], None]
    applies: Callable[[Work], bool] = lambda work: True


def run_plan(steps: Iterable[Step], work: Work) -> None:
    """Take the steps, until there is a module."""
    for step in steps:
        if work.module is None and step.applies(work):
            if work.timer is not None:
                work.timer.enter()
            step.run(work)
            if work.timer is not None:
                work.timer.leave(step.run)


class StepTimer:
    """Measures the time of steps and of their passes; `text` is the output."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, float, str]] = []
        self._started = self._since = 0.0
        self._of_passes: list[tuple[str, float, str]] = []

    def enter(self) -> None:
        """A step begins."""
        self._started, self._of_passes = time.perf_counter(), []

    def leave(self, step: Callable[..., Any]) -> None:
        """The step is done."""
        taken = time.perf_counter() - self._started
        self._rows += [(step.__name__, taken, purpose(step)), *self._of_passes]

    def begin(self, func: PrimFunc, title: str) -> None:
        """Passes begin."""
        self._since = time.perf_counter()

    def after(self, one: Callable[..., Any], func: PrimFunc) -> None:
        """A pass is done."""
        now = time.perf_counter()
        self._of_passes.append((f"  {one.__name__}", now - self._since, ""))
        self._since = now

    @property
    def text(self) -> str:
        """A table of names, milliseconds and purposes."""
        width = max((len(name) for name, _, _ in self._rows), default=0)
        lines = [
            f"{name:{width}} {1e3 * taken:9.2f} ms  {what}".rstrip()
            for name, taken, what in self._rows
        ]
        return "\n".join(lines)
