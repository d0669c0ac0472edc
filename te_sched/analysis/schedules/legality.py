"""Legality of schedules: iterations that run at the same time must be independent.

`lower` prints any schedule; `build` checks it here first. Must not know targets beyond what threads
can combine.
"""

from __future__ import annotations

from te_sched.errors import BuildError
from te_sched.ir.expr import IterVar
from te_sched.lowering.bounds import is_private
from te_sched.schedule.relations import Flags, spread_down
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At, draw_loops
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import ScanOp

_AT_ONCE = {"Parallelized": "parallelize {}", "Vectorized": "vectorize {}"}


def check_legality(schedule: Schedule) -> None:
    """Refuse a schedule whose loops would race.

    Raises
    ------
    BuildError for the first concurrent axis (parallel, vectorize, a GPU block or virtual thread)
    whose iterations update the same elements or depend on the previous one, for two axes of a
    stage that are bound to the same threads, and for threads that reduce into memory of their own.
    """
    for stage in schedule.stages:
        if stage.attach_type not in (AttachType.INLINE, AttachType.INLINED_ALREADY):
            _check_threads(stage)
            _check_stage(stage)


def _check_threads(stage: StageState) -> None:
    """Refuse two axes on one thread axis: only pairs of equal values would be executed."""
    bound: dict[str, IterVar] = {}
    for axis in stage.leaf_iter_vars:
        attr = stage.iter_var_attrs.get(axis)
        tag = attr.bind_thread.thread_tag if attr and attr.bind_thread is not None else ""
        if not tag.startswith(("threadIdx", "blockIdx")):
            continue
        first = bound.setdefault(tag, axis)
        if first is not axis:
            raise _refusal(
                stage,
                axis,
                f"axes {first.var.name} and {axis.var.name} of stage {stage.op.name} are both "
                f"bound to {tag}",
                "both would have the same value at any time",
                f"fuse {first.var.name} and {axis.var.name} and bind the fused axis, or bind "
                f"{axis.var.name} to another thread axis",
            )


def _check_stage(stage: StageState) -> None:
    reduced = _stemming_from(stage, stage.op.reduce_axis)
    steps = _stemming_from(stage, (stage.op.scan_axis,) if isinstance(stage.op, ScanOp) else ())
    if not reduced and not steps:
        return
    for axis in stage.leaf_iter_vars:
        if axis in reduced:
            _check_memory(stage, axis)
        how = _runs_at_once(stage, axis)
        if how is not None and axis in steps:
            kind = "scan"
            why = "each step of a scan reads the step before it"
            help = how.format("another axis of the update instead")
        elif how is not None and axis in reduced:
            kind = "reduction"
            why = "its iterations add to the same elements at the same time"
            help = _cure_of_reduction(stage, axis, how)
        else:
            continue
        subject = f"{kind} axis {axis.var.name} of stage {stage.op.name}"
        raise _refusal(stage, axis, f"cannot {how.format(subject)}", why, help)


def _check_memory(stage: StageState, axis: IterVar) -> None:
    """Refuse threads that reduce into memory of their own: lowering gives each of them all of the
    stage, and the reduction axis its first value.
    """
    attr = stage.iter_var_attrs.get(axis)
    tag = attr.bind_thread.thread_tag if attr and attr.bind_thread is not None else ""
    if tag.startswith("threadIdx") and is_private(stage.scope, tag):
        raise _refusal(
            stage,
            axis,
            f"threads of {tag} cannot reduce over {axis.var.name} in stage {stage.op.name}, whose "
            f"scope is {stage.scope}",
            f"each thread has {stage.scope} memory of its own, and would see one value of "
            f"{axis.var.name} alone",
            f'leave out s[{stage.op.name}].set_scope, or give it the scope "shared"',
        )


def _cure_of_reduction(stage: StageState, axis: IterVar, how: str) -> str:
    if axis in _stemming_from(stage, stage.op.axis):
        return f"{how.format('a data axis')}, and do not fuse data axes with reduction axes"
    return (
        f"{how.format('a data axis')}, or compute the partial results in a separate stage with "
        f"s.rfactor({stage.op.name}, {axis.var.name}) and {how.format('the new axis of it')}"
    )


def _stemming_from(stage: StageState, roots: tuple[IterVar, ...]) -> Flags:
    return spread_down(stage.relations, dict.fromkeys(roots, 1))


def _runs_at_once(stage: StageState, axis: IterVar) -> str | None:
    """The annotation that makes an axis concurrent, if its iterations cannot be combined."""
    attr = stage.iter_var_attrs.get(axis)
    if attr is None:
        return None
    if attr.bind_thread is not None:
        tag = attr.bind_thread.thread_tag
        return None if tag.startswith("threadIdx") else f"bind {{}} to {tag}"
    return _AT_ONCE.get(attr.iter_type or "")


def _refusal(stage: StageState, axis: IterVar, fault: str, why: str, help: str) -> BuildError:
    return BuildError(
        fault,
        why,
        help,
        At(stage, axis),
        draw_loops(stage, {axis: "refused"}),
        can_override=True,
    )
