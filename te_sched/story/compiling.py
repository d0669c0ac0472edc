"""The generated code of a program, or the reason why it is refused, and the program to time.

For a GPU this is CUDA source and the report of the checked mode for some blocks; times need a GPU.
Must not know steps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.analysis import check
from te_sched.analysis.findings import Finding
from te_sched.codegen.checker import Report
from te_sched.codegen.checker.report import ViolationKind
from te_sched.codegen.target import Target
from te_sched.driver import build, functions_for_processor
from te_sched.errors import BuildError, TeSchedError
from te_sched.ir.stmt import For, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.lowering.statements import stores_and_calls
from te_sched.runtime import cpu, cuda
from te_sched.runtime.build import build_functions
from te_sched.runtime.cuda_module import CudaModule
from te_sched.story.model import Line, Output, Problem, Timing
from te_sched.story.outputs import of_kernels, of_processor
from te_sched.story.stages import Stages
from te_sched.story.states import State
from te_sched.story.timing import Run, arrays, why_no_arrays

_MOST_STATEMENTS = 2000  # limit of programs that are compiled for a story
_BLOCKS, _STEPS = 2, 1000  # blocks of a kernel that are checked, and iterations of their loops
_MOST_CHECKED = 1e8  # elements of the arguments
_ON_PROCESSOR = (
    "No loop is bound to threads of the GPU yet, so there are no kernels: this step would run on "
    "the processor."
)
_CHECKED = (
    f"{_BLOCKS} blocks of each kernel, stopped after {_STEPS} iterations of loops, with random "
    "inputs and every access watched: races, barriers, bounds; passes through the banks of shared "
    "memory, and sectors of 32 bytes of global memory, that the requests of a warp take."
)
_ACCESS = re.compile(r"  (?:read|write) +(\w+)\[")
_NO_TIME = Timing()
_NO_GPU = "Not measured: there is no GPU here."


@dataclass(frozen=True, slots=True)
class Built:
    """The result of building: texts or problems, and `run` where the program can be timed."""

    outputs: tuple[Output, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    timing: Timing = _NO_TIME
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class StepCompiler:
    """Builds programs for a target, to be timed if `is_timed`."""

    target: Target
    is_timed: bool

    def build(self, state: State, func: PrimFunc) -> Built:
        """The code or the problems of a program whose lowered function is `func`."""
        count = stores_and_calls(func.body)
        if count > _MOST_STATEMENTS:
            note = f"The program has {count} stores and calls: it is not compiled here."
            return Built(notes=(note,), timing=Timing(note="Not measured: it is not compiled."))
        try:
            if self.target.kind == "cuda":
                return self._for_gpu(state)
            return self._for_processor(state)
        except TeSchedError as error:
            return Built(problems=_of_build(error, state))

    def _for_processor(self, state: State) -> Built:
        name = state.name
        functions = functions_for_processor(state.inputs, state.given, self.target, name)
        outputs = of_processor(functions, self.target, state.stages)
        if not self.is_timed:
            return Built(outputs)
        module = build_functions(functions, self.target)
        return Built(outputs, run=Run(module, cpu(0), name))

    def _for_gpu(self, state: State) -> Built:
        if not state.is_bound:
            return Built(notes=(_ON_PROCESSOR,))
        module = build(state.inputs, state.given, self.target, name=state.name)
        assert isinstance(module, CudaModule)
        stages = state.stages
        outputs = (*of_kernels(module.kernels, stages), *_checked(module, state.args, stages))
        if not self.is_timed:
            return Built(outputs)
        device = cuda(0)
        if device.emulated or not device.exist:
            return Built(outputs, timing=Timing(note=_NO_GPU))
        return Built(outputs, run=Run(module, device, state.name))


def _checked(module: CudaModule, args: Sequence[Any], stages: Stages) -> tuple[Output, ...]:
    """The report of the checked mode for some blocks, on random numbers."""
    hosts = [module.program[name] for name in module.function_names]
    if why_no_arrays(args) or any(_has_loops(host) for host in hosts):
        return ()
    values = [array.numpy() for array in arrays(args, cpu(0))]
    if sum(value.size for value in values) > _MOST_CHECKED:
        return ()
    try:
        report = module.check(*values, max_blocks=_BLOCKS, max_steps=_STEPS)
    except TeSchedError as error:
        return (Output("check", "Checked mode", (Line(error.summary),)),)
    lines = tuple(Line(line, _stages_of(line, stages)) for line in _text(report).splitlines())
    return (Output("check", "Checked mode", lines, note=_CHECKED),)


def wrong_result(name: str) -> Problem:
    """The problem of an output that differs from that of the first step."""
    return Problem(
        "run",
        "wrong result",
        f"output {name} differs from that of the first measured step",
        f"output {name}",
        "the inputs are the same",
        "te_sched.build(..., sanitize=True) watches each access of a program for a processor, "
        "module.check(...) those of kernels",
    )


def _has_loops(func: PrimFunc) -> bool:
    return any(isinstance(node, For) for node in statements(func.body))


def _stages_of(line: str, stages: Stages) -> tuple[str, ...]:
    """The stage of a line about a read or write of a buffer."""
    access = _ACCESS.match(line)
    stage = stages.of_printed(access[1]) if access is not None else ""
    return (stage,) if stage else ()


def _text(report: Report) -> str:
    """A report without its remark that it is incomplete."""
    report.findings = [
        finding for finding in report.findings if finding.kind is not ViolationKind.STEP_LIMIT
    ]
    report.unchecked = []
    return str(report)


def from_error(phase: str, error: BaseException) -> Problem:
    """The text of an error."""
    kind = type(error).__name__
    if not isinstance(error, TeSchedError):
        return Problem(phase, kind, str(error) or kind)
    return Problem(phase, kind, error.fault, error.where, error.why, error.advice, error.loops)


def _of_build(error: TeSchedError, state: State) -> tuple[Problem, ...]:
    """The problems of a program that does not build: the error, and findings about other axes."""
    first = from_error("build", error)
    if not isinstance(error, BuildError):
        return (first,)
    try:
        findings = check(state.inputs, state.given).refuted
    except TeSchedError:
        return (first,)
    said = [*error.names("axis"), *error.names("loop")] if error.can_override else ()
    others = [_from_finding(finding, state) for finding in findings if finding.axis not in said]
    return (first, *(problem for problem in others if problem.fault != first.fault))


def _from_finding(finding: Finding, state: State) -> Problem:
    where = ", ".join(map(str, finding.about(state.subject_of)))
    return Problem("build", finding.kind, finding.message, where, finding.why, finding.help)
