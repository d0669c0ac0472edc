"""explain: the story of a schedule, from its trace.

Must not know the details of a step, nor HTML.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy

import te_sched
from te_sched import files
from te_sched.codegen.target import Target, as_target, check_available
from te_sched.errors import ScheduleError, SourceLocation, kind_of, place_of_error, repr_of
from te_sched.lower.pipeline import check_name
from te_sched.progress import progress
from te_sched.schedule.bindings import has_threads
from te_sched.schedule.schedule import Schedule
from te_sched.story.compiling import Builder, from_error, wrong_result
from te_sched.story.machine import caches, peak_gigaflops
from te_sched.story.model import StoryData, StoryStep
from te_sched.story.stage_list import StageList
from te_sched.story.step_details import StepBuilder
from te_sched.story.steps import TraceReplay, shown_path, shown_place, source_line, source_lines
from te_sched.story.story import Story
from te_sched.story.timing import BUDGET, Timed, measure_all
from te_sched.te.tensor import Tensor
from te_sched.trace.observing import unobserved
from te_sched.views.loop_tree import default_args


def explain(
    schedule: Schedule,
    args: Sequence[Any] | None = None,
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
    continues. docs/explain.md defines the figures.

    Parameters
    ----------
    schedule : the result of te.create_schedule; it is not changed.
    args : the parameters of the function, as for `lower`; by default all inputs, then the outputs.
    name : the name of the function, as for `lower`.
    target : as for `build`; by default "cuda" where loops are bound to threads of a GPU.
    title : of the page.
    source : the file of the program, if it is not that of the first primitive; or its text.
    measure : time the steps that can run, with random inputs, in about 0.2 s each; the last first.
    budget : seconds that all steps together may take; the time of others is estimated.
    max_steps : the largest number of steps; beyond it, several primitives form one step.
    error : an exception of a primitive, `lower`, `build` or of the program, shown as the last step.

    Raises
    ------
    ScheduleError for arguments of other types, BuildError for a target without code generation.
    """
    _check(schedule, args, max_steps, error)
    check_name(name)
    if not isinstance(budget, int | float) or not 0 < budget < float("inf"):
        raise ScheduleError(
            f"budget of explain must be a positive number of seconds, got {repr_of(budget)}",
            "",
            "give a number, or pass measure=False to measure nothing",
        )
    wanted = as_target(target if target is not None or not has_threads(schedule) else "cuda")
    check_available(wanted)
    with unobserved():
        seconds = budget if measure else None
        return Story(_data(schedule, args, name, wanted, title, source, seconds, max_steps, error))


def _data(
    schedule: Schedule,
    args: Sequence[Any] | None,
    name: str,
    target: Target,
    title: str | None,
    source: str | os.PathLike[str] | None,
    budget: float | None,
    max_steps: int | None,
    error: BaseException | None,
) -> StoryData:
    replay = TraceReplay(schedule, max_steps)
    parameters = default_args(schedule) if args is None else list(args)
    step_builder = StepBuilder(Builder(target, budget is not None, name))
    steps: list[StoryStep] = []
    stages = StageList()
    places: list[tuple[int, SourceLocation]] = []
    for snapshot in progress(replay.snapshots(), "explaining", len(replay)):
        steps.append(step_builder.step(snapshot, [replay.argument(arg) for arg in parameters]))
        stages.see(snapshot.schedule, snapshot.number)
        places.append((snapshot.number, snapshot.place))
    if budget is not None:
        timed = measure_all(parameters, step_builder.runs, budget)
        peak = _peak(schedule, target) if timed else None
        steps = [
            _with_time(step, timed[step.number], peak) if step.number in timed else step
            for step in steps
        ]
    if error is not None:
        place = place_of_error(error)
        steps = _with_error(steps, error, place)
        places.append((len(steps) - 1, place))
    path, text = _source(source, [place for _, place in places])
    names = ", ".join(op.name for op in schedule.outputs)
    return StoryData(
        title=title or f"The schedule of {names}",
        target=str(target),
        arguments=tuple(arg.name for arg in parameters),
        stages=stages.listed(),
        steps=tuple(steps),
        program=text,
        program_path=shown_path(path),
        highlights=tuple((number, place.line) for number, place in places if _is(place, path)),
        trace=str(schedule.trace),
        versions=_versions(),
        caches=caches() if target.kind == "llvm" else (),
    )


def _peak(schedule: Schedule, target: Target) -> float | None:
    """The processor's peak in GFLOP/s for the dtype of the results; None unless it is a float."""
    dtypes = {tensor.dtype for op in schedule.outputs for tensor in op.outputs}
    if target.kind != "llvm" or not dtypes <= {"float32", "float64"}:
        return None
    return peak_gigaflops(min(dtypes))


def _with_time(step: StoryStep, timed: Timed, peak: float | None) -> StoryStep:
    """A step with its time, its rate, and the outputs that differ."""
    timing, operations = timed.timing, step.operations
    if timing.runs and operations:
        rate = operations / timing.median / 1e6
        timing = replace(timing, gigaflops=rate, of_peak=rate / peak if peak else None)
    return replace(
        step,
        timing=timing,
        problems=(*step.problems, *map(wrong_result, timed.different)),
    )


_PHASES = {
    "ScheduleError": "schedule",
    "LoweringError": "lower",
    "BuildError": "build",
    "CallError": "run",
}


def _with_error(
    steps: list[StoryStep], error: BaseException, place: SourceLocation
) -> list[StoryStep]:
    """The steps with the exception, as one more step unless the last one has it."""
    last = steps[-1]
    kinds = [kind.__name__ for kind in type(error).__mro__]
    phase = next((_PHASES[kind] for kind in kinds if kind in _PHASES), "program")
    problem = from_error(phase, error)
    if any(problem.fault == one.fault for one in last.problems):
        return steps
    step = StoryStep(
        number=last.number + 1,
        title=source_line(place) or problem.fault,
        where=shown_place(place),
        source_line=source_line(place),
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
        path = next((place.file for place in places if place.file), "")
    return path, "".join(source_lines(path))


def _is(place: SourceLocation, path: str) -> bool:
    """Whether a line is part of the program that the story shows."""
    return bool(place.file) and os.path.abspath(place.file) == os.path.abspath(path)


def _versions() -> tuple[tuple[str, str], ...]:
    return (
        ("te_sched", te_sched.__version__),
        ("python", platform.python_version()),
        ("llvm", ".".join(map(str, llvm.llvm_version_info))),
        ("numpy", numpy.__version__),
    )


def _check(schedule: Any, args: Any, max_steps: Any, error: Any) -> None:
    """Refuse arguments of wrong types."""
    if not isinstance(schedule, Schedule):
        raise ScheduleError(
            f"explain needs a schedule, got {kind_of(schedule)}",
            "it is not a schedule and has no primitives",
            "pass what te.create_schedule returned: te_sched.explain(s, [A, B, C])",
        )
    if args is not None and (isinstance(args, Tensor | str) or not isinstance(args, Sequence)):
        raise ScheduleError(
            f"args of explain must be a list of arguments, got {kind_of(args)}",
            "",
            "write te_sched.explain(s, [A, B, C])",
        )
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
