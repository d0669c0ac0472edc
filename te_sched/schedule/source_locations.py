"""Source locations of stages and axes, and drawings of their loops, for errors. Must not know any
error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from te_sched.errors import SourceLocation, Subject
from te_sched.ir.expr import IterVar
from te_sched.ir.source_lines import About, adding_lines
from te_sched.schedule.handles import StageOf
from te_sched.schedule.relations import Rebase
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import Operation
from te_sched.te.tensor import Tensor
from te_sched.trace.entries import Entry

if TYPE_CHECKING:
    from te_sched.schedule.program import ScheduleState

_ANNOTATING = ("parallel", "vectorize", "unroll", "bind", "tensorize", "pragma")


@dataclass(frozen=True, slots=True)
class At:
    """The `where` of an error: "stage C (declared at a.py:3), axis k (parallel at a.py:9)".

    The lines are looked up when an error iterates over it.
    """

    stage: StageState
    axis: IterVar | None = None

    def __iter__(self) -> Iterator[Subject]:
        yield _stage(self.stage)
        if self.axis is not None and not self.stage.is_group:
            yield _axis(self.stage, self.axis)


def _stage(stage: StageState) -> Subject:
    if stage.is_group:
        return Subject("stage", "", "a group")
    return Subject("stage", stage.op.name, lines=_declaration(stage))


def _declaration(stage: StageState) -> str:
    """ "declared at a.py:3", or "cache_write at a.py:9 of C, declared at a.py:3" of a stage that a
    primitive made.
    """
    op, prefix = stage.origin_op, ""
    while (entry := _maker(stage, op)) is not None:
        source: Any = entry.arguments["tensor"]
        op = (source[0] if isinstance(source, list | tuple) else source).op
        prefix = prefix or (f"{entry.method} at {entry.place} of " if entry.place.file else "")
    origin = f"{prefix}{op.name}" if prefix else ""
    declared = f"declared at {op.place}" if op.place.file else ""
    return ", ".join(filter(None, (origin, declared)))


def _maker(stage: StageState, op: Operation) -> Entry | None:
    """The call of a primitive that made the operation of a stage from another one."""
    for entry in stage.schedule.trace.entries:
        is_made = any(isinstance(result, Tensor) and result.op is op for result in entry.results)
        if is_made and "tensor" in entry.arguments:
            return entry
    return None


def _axis(stage: StageState, axis: IterVar) -> Subject:
    name, entry = axis.var.name, _decision(stage, axis)
    call = f"{entry.method} at {entry.place}" if entry is not None and entry.place.file else ""
    return Subject("axis", name, f"axis {name}", call)


def stage_named(schedule: ScheduleState, name: str) -> Subject:
    """The stage of a name with its line, or the name alone if several stages have it."""
    stages = [stage for stage in schedule.stages if stage.op.name == name]
    return _stage(stages[0]) if len(stages) == 1 else Subject("stage", name)


def _decision(stage: StageState, axis: IterVar) -> Entry | None:
    """The last call that annotated an axis, otherwise the one that created it."""
    axes = {axis, *(r.parent for r in stage.relations if type(r) is Rebase and r.rebased is axis)}
    decision: Entry | None = None
    for entry in _calls(stage):
        if entry.method in _ANNOTATING and any(
            part in axes for part in entry.arguments.values() if isinstance(part, IterVar)
        ):
            return entry
        if decision is None and entry.place.file and any(part in axes for part in entry.results):
            decision = entry
    return decision


def _calls(stage: StageState) -> Iterator[Entry]:
    """The calls of primitives of a stage, the last one first."""
    for entry in reversed(stage.schedule.trace.entries):
        target = entry.target
        if type(target) is StageOf and target.tensor.op is stage.origin_op:
            yield entry


def attached(stage: StageState) -> Subject:
    """ "stage C (declared at a.py:3) (compute_at at a.py:9)" of an attached stage."""
    subject = _stage(stage)
    for entry in _calls(stage):
        if entry.method == "compute_at" and entry.place.file:
            return subject._replace(text=str(subject), lines=f"compute_at at {entry.place}")
    return subject


def draw_loops(stage: StageState, marks: Mapping[IterVar | StageState, str]) -> str:
    """A drawing of the loops around a stage and its own, with the stages attached to them; `marks`
    are written beside loops and stages.
    """
    lines = [*_loops_around(stage, marks, {stage})]
    depth = len(lines)
    lines += _loops_of(stage, marks, depth, None)
    lines.append("  " * len(lines) + f"{stage.op.name} = ..." + _mark(marks, stage))
    return "\n".join(lines)


def _loops_around(
    stage: StageState, marks: Mapping[IterVar | StageState, str], seen: set[StageState]
) -> list[str]:
    spec = stage.attach_spec
    parent = spec.attach_stage
    if spec.attach_type != AttachType.SCOPE or parent is None or parent in seen:
        return []
    lines = _loops_around(parent, marks, {*seen, parent})
    return lines + _loops_of(parent, marks, len(lines), spec.attach_ivar)


def _loops_of(
    stage: StageState,
    marks: Mapping[IterVar | StageState, str],
    depth: int,
    last: IterVar | None,
) -> list[str]:
    """A line for each loop of a stage down to `last`, and one for each stage attached to it."""
    lines: list[str] = []
    for axis in stage.leaf_iter_vars:
        indent = "  " * (depth + len(lines))
        line = f"{indent}for {axis.var.name}{_how(stage, axis)}{_mark(marks, axis)}"
        for other in stage.schedule.stages:
            if other.attach_stage is stage and other.attach_ivar is axis and axis is not last:
                line += f"\n{indent}  {other.op.name} is computed here{_mark(marks, other)}"
        lines.append(line)
        if axis is last:
            break
    return lines


def _how(stage: StageState, axis: IterVar) -> str:
    attr = stage.iter_var_attrs.get(axis)
    if attr is None:
        return ""
    if attr.bind_thread is not None:
        return f" ({attr.bind_thread.thread_tag})"
    return "" if attr.iter_type == "DataPar" else f" ({attr.iter_type.lower()})"


def _mark(marks: Mapping[IterVar | StageState, str], key: IterVar | StageState) -> str:
    return f"   <-- {marks[key]}" if key in marks else ""


def adding_places(schedule: ScheduleState) -> AbstractContextManager[None]:
    """Add to errors where the stages and axes that they name were declared and scheduled.

    A lowered program has only names of stages and axes; an ambiguous name is left unchanged.
    """
    return adding_lines(lambda about: with_places(about, schedule))


def with_places(about: About, schedule: ScheduleState) -> list[Subject | SourceLocation]:
    """The subjects of an error with their lines."""
    subjects: Iterable[Subject | SourceLocation]
    match about:
        case [Subject("stage", owner, "", ""), Subject("axis", name, "", ""), *rest]:
            subjects = _axis_named(schedule, owner, name)
        case [Subject("stage", name, "", ""), *rest]:
            subjects = [stage_named(schedule, name)]
        case [Subject("axis", name, "", ""), *rest]:
            subjects = _axis_named(schedule, "", name)
        case [subject, *rest]:
            subjects = [subject]
        case _:
            return []
    return [*subjects, *with_places(rest, schedule)]


def _axis_named(schedule: ScheduleState, owner: str, name: str) -> Iterable[Subject]:
    """The axis of a name, if unique; `owner` is the name of its stage, or empty."""
    ends = [
        At(stage, axis)
        for stage in schedule.stages
        for axis in stage.leaf_iter_vars
        if owner in ("", stage.op.name) and axis.var.name == name
    ]
    owners = [stage_named(schedule, owner)] if owner else []
    return ends[0] if len(ends) == 1 else [*owners, Subject("axis", name)]
