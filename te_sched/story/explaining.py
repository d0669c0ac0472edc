"""explain: the story of a schedule, from its trace; a function without a schedule is one step.

Must not know the details of a step, nor HTML.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy

import te_sched
from te_sched import files
from te_sched.codegen.target import (
    Arguments,
    Target,
    as_target,
    check_available,
    target_after_program,
)
from te_sched.errors import ScheduleError, SourceLocation, kind_of, place_of_error, repr_of
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.lowering.pipeline import check_name, check_parameters
from te_sched.lowering.statements import binds_threads
from te_sched.progress import progress
from te_sched.schedule.bindings import has_threads
from te_sched.schedule.schedule import Schedule
from te_sched.signatures import bound
from te_sched.story.compiling import StepCompiler, from_error, wrong_result
from te_sched.story.machine import caches, peak_gigaflops
from te_sched.story.model import StoryData, StoryStep, Timing
from te_sched.story.stage_list import StageList
from te_sched.story.states import BlockState, State, TensorState
from te_sched.story.step_details import StepBuilder
from te_sched.story.steps import (
    Snapshot,
    TraceReplay,
    shown_path,
    shown_place,
    source_line,
    source_lines,
)
from te_sched.story.story import Story
from te_sched.story.timing import BUDGET, Run, Timed, measure_all
from te_sched.te.tensor import Tensor
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.observing import unobserved
from te_sched.views.loop_tree import default_args

Explained = Schedule | BlockSchedule | PrimFunc | IRModule


@bound
def explain(
    schedule: Explained,
    args: Arguments = None,
    *,
    name: str = "main",
    target: str | Target | None = None,
    title: str | None = None,
    source: str | os.PathLike[str] | None = None,
    measure: bool = True,
    budget: float = BUDGET,
    max_steps: int | None = None,
    error: BaseException | None = None,
) -> Story:
    """Explain a schedule: a report of the effect of each primitive. Each step shows the loops with
    their working sets and operations, the program and its changes, the dataflow, the generated
    code, and the run time. A step that cannot be lowered or built has a problem, and the report
    continues. docs/explain.md defines the figures. A function or module without a schedule is one
    step.

    Parameters
    ----------
    schedule : the result of te.create_schedule or tir.Schedule, or a function or module of them; it
        is not changed.
    args : the parameters of the function, as for `lower`; by default all inputs, then the outputs.
        Functions have their own. A string or Target in its place is the target.
    name : the name of the function, as for `lower`; in a module of several, the one that is timed.
    target : as for `build`; by default "cuda" where loops are bound to threads of a GPU.
    title : of the page.
    source : the file of the program, if it is not that of the first primitive; or its text.
    measure : time the steps that can run, with random inputs: each is run once, the last first, and
        then repeated for about 0.2 s.
    budget : seconds that all steps together may take; those that take longer are stopped, and have
        no time.
    max_steps : the largest number of steps; beyond it, several primitives form one step.
    error : an exception of a primitive, `lower`, `build` or of the program, shown as the last step.

    Raises
    ------
    ScheduleError for arguments of other types, BuildError for a target without code generation.
    """
    arguments, text = target_after_program(args, target, "explain")
    _check(schedule, arguments, max_steps, error)
    check_name(name)
    if not isinstance(budget, int | float) or not 0 < budget < float("inf"):
        raise ScheduleError(
            f"budget of explain must be a positive number of seconds, got {repr_of(budget)}",
            "",
            "give a number, or pass measure=False to measure nothing",
        )
    with unobserved():
        states = _States(schedule, arguments, name)
        wanted = as_target(text if text is not None or not states.is_bound() else "cuda")
        check_available(wanted)
        seconds = budget if measure else None
        return Story(_data(states, wanted, title, source, seconds, max_steps, error))


class _States:
    """The kinds of programs that are explained: their steps, and what is shown of each."""

    def __init__(self, program: Explained, args: Sequence[Any] | None, name: str) -> None:
        if isinstance(program, PrimFunc):
            program = IRModule({str(program.attrs.get("global_symbol", name)): program})
        self.given = program
        self.args, self.name = args, name
        if isinstance(program, Schedule):
            self.args = default_args(program) if args is None else list(args)
        else:
            self.name = _function_of(program, name)

    def is_bound(self) -> bool:
        """Whether loops are bound to threads of a GPU."""
        if isinstance(self.given, Schedule):
            return has_threads(self.given)
        return any(binds_threads(func.body) for func in _module(self.given).functions.values())

    def replay(self, max_steps: int | None) -> TraceReplay | None:
        """The replay of the trace, of what has one."""
        return None if isinstance(self.given, IRModule) else TraceReplay(self.given, max_steps)

    def at(self, snapshot: Snapshot, replay: TraceReplay | None) -> State:
        """The program of a step."""
        schedule = snapshot.schedule
        if not isinstance(schedule, Schedule):
            return BlockState(_module(schedule), self.name)
        assert replay is not None
        arguments = [replay.argument(arg) for arg in self.args or ()]
        return TensorState(schedule, arguments, self.name)

    @property
    def title(self) -> str:
        """The title of the page, if the user gives none."""
        if isinstance(self.given, Schedule):
            return f"The schedule of {', '.join(op.name for op in self.given.outputs)}"
        what = "function" if isinstance(self.given, IRModule) else "schedule of"
        name = _module(self.given)[self.name].attrs.get("global_symbol", self.name)
        return f"The {what} {name}"

    @property
    def trace(self) -> str:
        """The program of the trace, if there is one."""
        return "" if isinstance(self.given, IRModule) else str(self.given.trace)


def _module(program: BlockSchedule | IRModule) -> IRModule:
    """The functions of blocks and loops."""
    module = program.mod if isinstance(program, BlockSchedule) else program
    functions = module.functions_of_loops
    is_mixed = len(functions) < len(module.functions)
    return IRModule(functions, module.attrs) if is_mixed else module


def _function_of(program: BlockSchedule | IRModule, name: str) -> str:
    """The function of a module to time: the one of that name, or the only one."""
    names = list(_module(program).functions)
    if name in names or len(names) == 1:
        return name if name in names else names[0]
    raise ScheduleError(
        f"explain needs the name of a function: the module has {len(names)}",
        "" if names else "it has no functions",
        f"pass name=..., one of {', '.join(names)}" if names else "give a module of functions",
    )


def _data(
    states: _States,
    target: Target,
    title: str | None,
    source: str | os.PathLike[str] | None,
    budget: float | None,
    max_steps: int | None,
    error: BaseException | None,
) -> StoryData:
    replay = states.replay(max_steps)
    snapshots = [Snapshot(0, states.given)] if replay is None else replay.snapshots()
    step_builder = StepBuilder(StepCompiler(target, budget is not None))
    steps: list[StoryStep] = []
    stages = StageList()
    places: list[tuple[int, SourceLocation]] = []
    arguments: list[Sequence[Any]] = []
    for snapshot in progress(snapshots, "explaining", 1 if replay is None else len(replay)):
        state = states.at(snapshot, replay)
        steps.append(step_builder.step(snapshot, state))
        stages.see(state.parts(), snapshot.number)
        places.append((snapshot.number, snapshot.place))
        arguments.append(state.args)
    if budget is not None:
        parameters = arguments[-1] if states.args is None else states.args
        steps, runs = _of_these_parameters(steps, step_builder.runs, arguments, parameters)
        timed = measure_all(parameters, runs, budget)
        peak = _peak(state.result_types, target) if timed else None
        steps = [
            _with_time(step, timed[step.number], peak) if step.number in timed else step
            for step in steps
        ]
    if error is not None:
        location = place_of_error(error)
        steps = _with_error(steps, error, location)
        places.append((len(steps) - 1, location))
    path, text = _source(source, [site for _, site in places])
    return StoryData(
        title=title or states.title,
        target=str(target),
        arguments=tuple(arg.name for arg in (states.args or state.args)),
        stages=stages.listed(),
        steps=tuple(steps),
        program=text,
        program_path=shown_path(path),
        highlights=tuple((number, site.line) for number, site in places if _is(site, path)),
        trace=states.trace,
        versions=_versions(),
        caches=caches() if target.kind == "llvm" else (),
        part="stage" if isinstance(states.given, Schedule) else "buffer",
    )


def _of_these_parameters(
    steps: list[StoryStep],
    runs: Mapping[int, Run],
    arguments: Sequence[Sequence[Any]],
    parameters: Sequence[Any],
) -> tuple[list[StoryStep], dict[int, Run]]:
    """The steps and runs of functions that take the parameters, which primitives may change."""
    wanted = _types(parameters)
    other = {number for number in runs if _types(arguments[number]) != wanted}
    noted = [
        replace(step, timing=Timing(note=_OTHERS)) if step.number in other else step
        for step in steps
    ]
    return noted, {number: run for number, run in runs.items() if number not in other}


def _types(parameters: Sequence[Any]) -> list[tuple[str, str]]:
    return [(parameter.dtype, str(getattr(parameter, "shape", ""))) for parameter in parameters]


def _peak(dtypes: set[str], target: Target) -> float | None:
    """The processor's peak in GFLOP/s for the dtype of the results; None unless it is a float."""
    if target.kind != "llvm" or not dtypes or not dtypes <= {"float32", "float64"}:
        return None
    return peak_gigaflops(min(dtypes))


def _with_time(step: StoryStep, timed: Timed, peak: float | None) -> StoryStep:
    """A step with its time, its rate, and the outputs that differ."""
    timing, operations = timed.timing, step.operations
    if timing.runs and operations:
        rate = operations / timing.shortest / 1e6
        timing = replace(timing, gigaflops=rate, of_peak=rate / peak if peak else None)
    return replace(
        step,
        timing=timing,
        problems=(*step.problems, *map(wrong_result, timed.different)),
    )


_OTHERS = "Not measured: the parameters of the last step have other shapes."
_PHASES = {
    "ScheduleError": "schedule",
    "LoweringError": "lower",
    "BuildError": "build",
    "CallError": "run",
}


def _with_error(
    steps: list[StoryStep], error: BaseException, location: SourceLocation
) -> list[StoryStep]:
    """The steps with the exception, as one more step unless the last one has it."""
    last = steps[-1]
    kinds = [kind.__name__ for kind in type(error).__mro__]
    phase = next((_PHASES[kind] for kind in kinds if kind in _PHASES), "program")
    problem = from_error(phase, error)
    if any(problem.fault == last_problem.fault for last_problem in last.problems):
        return steps
    step = StoryStep(
        number=last.number + 1,
        title=source_line(location) or problem.fault,
        where=shown_place(location),
        source_line=source_line(location),
        nest=last.nest,
        program=last.program,
        dataflow=last.dataflow,
        problems=(problem,),
        memory=last.memory,
    )
    return [*steps, step]


def _source(
    source: str | os.PathLike[str] | None, places: Sequence[SourceLocation]
) -> tuple[str, str]:
    """The path and the text of the user's program."""
    if isinstance(source, str) and "\n" in source:
        return "", source
    if source is not None:
        path = os.path.abspath(files.check_path(source, "explain the program"))
    else:
        path = next((location.file for location in places if location.file), "")
    return path, "".join(source_lines(path))


def _is(location: SourceLocation, path: str) -> bool:
    """Whether a line is part of the program that the story shows."""
    return bool(location.file) and os.path.abspath(location.file) == os.path.abspath(path)


def _versions() -> tuple[tuple[str, str], ...]:
    return (
        ("te_sched", te_sched.__version__),
        ("python", platform.python_version()),
        ("llvm", ".".join(map(str, llvm.llvm_version_info))),
        ("numpy", numpy.__version__),
    )


def _check(schedule: Any, args: Any, max_steps: Any, error: Any) -> None:
    """Refuse arguments of wrong types."""
    if not isinstance(schedule, Explained):
        raise ScheduleError(
            f"explain needs a schedule or a function, got {kind_of(schedule)}",
            "it is not a schedule and has no primitives",
            "pass what te.create_schedule or tir.Schedule returned: te_sched.explain(s, [A, B, C])",
        )
    if args is not None and (isinstance(args, Tensor | str) or not isinstance(args, Sequence)):
        raise ScheduleError(
            f"args of explain must be a list of arguments, got {kind_of(args)}",
            "",
            "write te_sched.explain(s, [A, B, C])",
        )
    check_parameters("explain", schedule, args, error=ScheduleError)
    if max_steps is not None and (not isinstance(max_steps, int) or max_steps < 2):
        raise ScheduleError(
            f"max_steps of explain must be None or at least 2, got {repr_of(max_steps)}",
            "the declared schedule is one step, its primitives at least one more",
            "give a number of at least 2, or None",
        )
    if error is not None and not isinstance(error, BaseException):
        raise ScheduleError(
            f"error of explain must be an exception, got {kind_of(error)}",
            "",
            "pass what was caught: except TeSchedError as error",
        )
