"""Where in the user's program a stage or an axis comes from, and its loops drawn as text: what
errors show. Must not know what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from te_sched.errors import TeSchedError
from te_sched.ir.expr import IterVar
from te_sched.schedule.handles import StageOf
from te_sched.schedule.relations import Rebase
from te_sched.schedule.state import AttachType, StageState
from te_sched.trace.entries import Entry

if TYPE_CHECKING:
    from te_sched.schedule.program import ScheduleState

_SAYS_HOW = ("parallel", "vectorize", "unroll", "bind", "tensorize", "pragma")
# "stage C, axis k", "stage C" or "axis k", without a place behind
_NAMED = re.compile(
    r"(?:\bstage (?P<stage>[^\s,()]++)(?! \())?"
    r"(?(stage)(?:, axis (?P<axis>[^\s,()]++)(?! \())?|\baxis (?P<alone>[^\s,()]++)(?! \())"
)


class At(NamedTuple):
    """The `where` of an error, which becomes a text when there is one."""

    stage: StageState
    axis: IterVar | None = None

    def __str__(self) -> str:
        return place_of(self.stage, self.axis)


def place_of(stage: StageState, axis: IterVar | None = None) -> str:
    """ "stage C (declared at a.py:3), axis k (parallel at a.py:9)"."""
    if stage.is_group:
        return "a group"
    declared = str(stage.origin_op.place)
    text = f"stage {stage.op.name}" + (f" (declared at {declared})" if declared else "")
    return text if axis is None else f"{text}, axis {axis.var.name}{_history(stage, axis)}"


def place_named(schedule: ScheduleState, name: str) -> str:
    """The place of the stage that a program knows by name alone; of several, the name."""
    found = [stage for stage in schedule.stages if stage.op.name == name]
    return place_of(found[0]) if len(found) == 1 else f"stage {name}"


def _history(stage: StageState, axis: IterVar) -> str:
    entry = _decision(stage, axis)
    return f" ({entry.method} at {entry.place})" if entry is not None and entry.place.file else ""


def _decision(stage: StageState, axis: IterVar) -> Entry | None:
    """The last call that said how an axis runs, or else the one that made it."""
    known = {axis, *(r.parent for r in stage.relations if type(r) is Rebase and r.rebased is axis)}
    made: Entry | None = None
    for entry in reversed(stage.schedule.trace.entries):
        target = entry.target
        if type(target) is not StageOf or target.tensor.op is not stage.origin_op:
            continue
        if entry.method in _SAYS_HOW and any(
            part in known for part in entry.arguments.values() if isinstance(part, IterVar)
        ):
            return entry
        if made is None and entry.place.file and any(part in known for part in entry.results):
            made = entry
    return made


def attached_at(stage: StageState) -> str:
    """ " (compute_at at a.py:9)" of an attached stage."""
    for entry in reversed(stage.schedule.trace.entries):
        target = entry.target
        is_same = type(target) is StageOf and target.tensor.op is stage.origin_op
        if is_same and entry.method == "compute_at" and entry.place.file:
            return f" (compute_at at {entry.place})"
    return ""


def draw_loops(stage: StageState, marks: Mapping[IterVar | StageState, str]) -> str:
    """The loops round a stage and its own, with what is computed inside of them; `marks` are put
    beside loops and stages.
    """
    lines = [*_loops_round(stage, marks, {stage})]
    depth = len(lines)
    lines += _loops_of(stage, marks, depth, None)
    lines.append("  " * len(lines) + f"{stage.op.name} = ..." + _mark(marks, stage))
    return "\n".join(_with_inner(lines))


def _with_inner(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield from line.split("\n")


def _loops_round(
    stage: StageState, marks: Mapping[IterVar | StageState, str], seen: set[StageState]
) -> list[str]:
    spec = stage.attach_spec
    parent = spec.attach_stage
    if spec.attach_type != AttachType.SCOPE or parent is None or parent in seen:
        return []
    lines = _loops_round(parent, marks, {*seen, parent})
    return lines + _loops_of(parent, marks, len(lines), spec.attach_ivar)


def _loops_of(
    stage: StageState,
    marks: Mapping[IterVar | StageState, str],
    depth: int,
    last: IterVar | None,
) -> list[str]:
    """A line for each loop of a stage, down to `last`; of the stages attached there, one more."""
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


def add_places(error: TeSchedError, schedule: ScheduleState) -> None:
    """Say where the stages and axes that an error names were declared and scheduled.

    Programs know these by name alone; a name that several have stays as it is.
    """

    def found(match: re.Match[str]) -> str:
        stage_name, axis_name = match["stage"], match["axis"] or match["alone"]
        ends = [
            (stage, axis)
            for stage in schedule.stages
            for axis in (stage.leaf_iter_vars if axis_name else [None])
            if stage_name in (None, stage.op.name) and (axis is None or axis.var.name == axis_name)
        ]
        if len(ends) == 1:
            return place_of(*ends[0])
        stages = [stage for stage in schedule.stages if stage.op.name == stage_name]
        if len(stages) != 1:
            return match[0]
        return place_of(stages[0]) + (f", axis {axis_name}" if axis_name else "")

    error.where = _NAMED.sub(found, error.where)
