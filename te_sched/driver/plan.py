"""Plans: sequences of named steps, which can be printed with their times.

A step is a function that changes the work it is given; its name and the first sentence of its
docstring are what `build(..., show="steps")` prints. Must not know any step.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from te_sched.analysis.findings import Findings
from te_sched.codegen.target import Target
from te_sched.config import Config
from te_sched.ir.expr import Buffer
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.show_passes import purpose
from te_sched.schedule.schedule import Schedule
from te_sched.te.tensor import Tensor
from te_sched.wording import STAGES, worded, words_for

if TYPE_CHECKING:
    from te_sched.runtime.cuda_module import CudaModule
    from te_sched.runtime.module import Module


@dataclass(slots=True)
class Work:
    """The inputs of a build, and the results of its steps.

    `switches` are those for lowering to run, `outside` those of the caller of `build`. `findings`
    are reported after lowering; `checked` are the functions with run-time checks for a GPU, which
    runs the kernels without them: empty if none is needed, and None if checks are off. `callers`
    are lowered functions that call the others, for a CPU. `prepared` are functions for LLVM, in
    place of `functions` and `callers`, that are made one after the other, and can be asked for
    again.
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
    callers: Mapping[str, PrimFunc] = field(default_factory=dict)
    prepared: Iterable[tuple[str, PrimFunc]] | None = None

    @property
    def schedule(self) -> Schedule:
        """The schedule, for steps that only apply to schedules."""
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
    """A step of a plan, and the condition under which it runs."""

    run: Callable[[Work], None]
    applies: Callable[[Work], bool] = lambda work: True


def run_plan(steps: Iterable[Step], work: Work) -> None:
    """Run the steps until there is a module."""
    with worded(STAGES if work.is_scheduled else words_for(functions_in(work.inputs))):
        for step in steps:
            if work.module is None and step.applies(work):
                if work.timer is not None:
                    work.timer.enter()
                step.run(work)
                if work.timer is not None:
                    work.timer.leave(step.run)


def functions_in(inputs: Any) -> Iterator[Any]:
    """The functions of a module, or of modules by their names."""
    parts = inputs.functions if isinstance(inputs, IRModule) else inputs
    if not isinstance(parts, Mapping):
        yield inputs
        return
    for part in parts.values():
        yield from functions_in(part)


class StepTimer:
    """Measures the time of steps and of their passes; `text` is the output."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, float, str]] = []
        self._started = self._since = 0.0
        self._of_passes: list[tuple[str, float, str]] = []

    def enter(self) -> None:
        """Start the time of a step."""
        self._started, self._of_passes = time.perf_counter(), []

    def leave(self, step: Callable[..., Any]) -> None:
        """Stop the time of the step."""
        taken = time.perf_counter() - self._started
        self._rows += [(step.__name__, taken, purpose(step)), *self._of_passes]

    def begin(self, func: PrimFunc, title: str) -> None:
        """Start the time of passes."""
        self._since = time.perf_counter()

    def after(self, pass_func: Callable[..., Any], func: PrimFunc) -> None:
        """Stop the time of a pass."""
        now = time.perf_counter()
        self._of_passes.append((f"  {pass_func.__name__}", now - self._since, ""))
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
