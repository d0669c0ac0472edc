"""Check that splits with `disable_predication=True` need no guards.

Constant conditions are checked at build time, those on symbolic sizes by each call. Must not know
statements.
"""

from __future__ import annotations

from te_sched.errors import BuildError
from te_sched.ir.argument_sizes import Size
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.visitor import reads_data, variables_of
from te_sched.lowering.bounds import infer_bound
from te_sched.schedule.guards import unproved_promises
from te_sched.schedule.relations import Ranges, Split
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import AttachType, StageState

_WHY = "split(..., disable_predication=True) promises that its loops make as many iterations"


def promised_sizes(schedule: Schedule) -> list[Size]:
    """The conditions on symbolic sizes under which loops without guards stay within their axes.

    Raises
    ------
    BuildError for the first split whose loops exceed their axis, or cannot be checked by a call.
    """
    splits = [
        relation
        for stage in schedule.stages
        for relation in stage.relations
        if isinstance(relation, Split)
    ]
    if not any(split.disable_predication for split in splits):
        return []
    normal = schedule.normalize()
    ranges = infer_bound(normal)
    loops = {axis.var for axis in ranges}
    return [
        _size(stage, split, ranges, loops)
        for stage in normal.stages
        if stage.attach_type not in (AttachType.INLINE, AttachType.INLINED_ALREADY)
        for split in unproved_promises(stage, ranges)
    ]


def _size(stage: StageState, split: Split, ranges: Ranges, loops: set[Var]) -> Size:
    parent, outer, inner = (
        ranges[axis].extent for axis in (split.parent, split.outer, split.inner)
    )
    iterations = outer * inner
    if isinstance(parent, IntImm) and isinstance(iterations, IntImm):
        raise _refusal(
            stage,
            split,
            f"has {outer} * {inner} = {iterations} iterations, expected {parent}",
        )
    if not _is_of_call(parent, loops):
        raise _refusal(
            stage,
            split,
            f"has {parent} iterations, which are known only inside the loops",
        )
    what = f"the number of iterations of axis {split.parent.var.name} of {stage.op.name}"
    around = tuple([ranges[axis].extent for axis in stage.op.axis])
    around = tuple([extent for extent in around if _is_of_call(extent, loops)])
    return Size(what, parent, iterations, _WHY, around)


def _is_of_call(extent: Expr, loops: set[Var]) -> bool:
    """Whether an extent depends only on the sizes of a call."""
    return not reads_data(extent) and loops.isdisjoint(variables_of(extent))


def _refusal(stage: StageState, split: Split, fault: str) -> BuildError:
    axis = split.parent
    return BuildError(
        f"split of axis {axis.var.name} of stage {stage.op.name} without a guard {fault}",
        f"{_WHY} as the axis",
        "leave out disable_predication, so that a guard is added where one is needed",
        At(stage, axis),
        can_override=True,
    )
