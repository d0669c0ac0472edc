"""A schedule that cannot be lowered, as a tree of its stages, axes and attachments. Must not know
how loops are made.
"""

from __future__ import annotations

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import TeSchedError
from te_sched.ir.expr import IntImm, IterVar
from te_sched.schedule.relations import Ranges
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import PlaceholderOp
from te_sched.views.lines import TreeLine
from te_sched.views.notation import Notation

_HOW = {"Parallelized": "parallel", "Vectorized": "vectorized", "Unrolled": "unrolled"}
_NOTATION = Notation()


def stage_tree(schedule: Schedule, error: TeSchedError) -> tuple[TreeLine, ...]:
    """The stages with their axes, attached ones below the axis, after the reason why there are no
    loops."""
    names = ", ".join([op.name for op in schedule.outputs])
    reason = error.summary
    reason = " ".join(reason.split())
    lines = [
        TreeLine(0, "function", f"schedule of {names}", node=schedule),
        TreeLine(1, "other", f"not lowered: {reason}", node=error),
    ]
    attached: dict[tuple[StageState, IterVar], list[StageState]] = {}
    roots: list[StageState] = []
    for stage in schedule.stages:
        spec = stage.attach_spec
        parent, axis = spec.attach_stage, spec.attach_ivar
        if spec.attach_type == AttachType.SCOPE and parent is not None and axis is not None:
            attached.setdefault((parent, axis), []).append(stage)
        elif not isinstance(stage.op, PlaceholderOp):
            roots.append(stage)
    stack: list[tuple[StageState, int, int]] = [(stage, 0, 1) for stage in reversed(roots)]
    seen: set[StageState] = set()
    while stack:
        state, first, depth = stack.pop()
        if first == 0:
            if state in seen:
                continue
            seen.add(state)
            lines.append(_stage_line(state, depth))
        axes, ranges = state.leaf_iter_vars, _ranges(state)
        for position in range(first, len(axes)):
            lines.append(_axis_line(state, axes[position], ranges, depth + 1 + position))
            inside = attached.get((state, axes[position]))
            if inside:
                stack.append((state, position + 1, depth))
                stack += [(stage, 0, depth + 2 + position) for stage in reversed(inside)]
                break
    lines += [
        _stage_line(
            stage, 1, f", at an axis that {stage.attach_stage.origin_op.name} does not have"
        )
        for stages in attached.values()
        for stage in stages
        if stage not in seen and stage.attach_stage is not None
    ]
    return tuple(lines)


def stage_lines(stage: StageState) -> tuple[TreeLine, ...]:
    """One stage and its axes."""
    ranges = _ranges(stage)
    axes = enumerate(stage.leaf_iter_vars, 1)
    lines = [_axis_line(stage, axis, ranges, depth) for depth, axis in axes]
    return (_stage_line(stage, 0), *lines)


def _ranges(stage: StageState) -> Ranges:
    """The ranges of the axes of a stage that is computed whole, as far as they are known."""
    roots = stage.op.root_iter_vars()
    ranges = {axis: axis.dom for axis in roots if axis.dom is not None}
    analyzer = Analyzer()
    try:
        for relation in stage.relations:
            relation.ranges_down(ranges, analyzer, None)
    except (KeyError, TeSchedError):  # an axis without a domain: those below it have none either
        pass
    return ranges


def _stage_line(stage: StageState, depth: int, note: str = "") -> TreeLine:
    name = stage.origin_op.name
    if stage.attach_type in (AttachType.INLINE, AttachType.INLINED_ALREADY):
        note = ", inlined"
    scope = f" in {stage.scope}" if stage.scope else ""
    text = f"stage {name}{scope}{note}"
    return TreeLine(depth, "stage", text, (name,), scope=stage.scope, node=stage)


def _axis_line(stage: StageState, axis: IterVar, ranges: Ranges, depth: int) -> TreeLine:
    attr = stage.iter_var_attrs.get(axis)
    how = "" if attr is None else _HOW.get(attr.iter_type, "")
    kind, name = "loop", axis.var.name
    if attr is not None and attr.bind_thread is not None:
        kind, how = "thread", attr.bind_thread.thread_tag
    domain = ranges.get(axis, axis.dom)
    extent = domain.extent if domain is not None else None
    span = "" if domain is None else f"  {_NOTATION.text(domain)}"
    text = f"{how or 'for'} {name}{span}"
    count = extent.value if isinstance(extent, IntImm) else None
    return TreeLine(depth, kind, text, (stage.origin_op.name,), count, how, node=axis)
