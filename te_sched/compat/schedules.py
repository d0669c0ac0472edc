"""Functions over whole schedules that stood in tvm.schedule (te.schedule)."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.ir.expr import IterVar, ProducerLoad, Range
from te_sched.ir.visitor import walk
from te_sched.lower.bounds import infer_bound
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import AttachType, Stage
from te_sched.te.operation import ComputeOp

__all__ = ["AutoInlineElemWise", "AutoInlineInjective", "InferBound"]


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline every stage that is computed element by element and not scheduled yet."""
    _inline_where(sch, _is_injective)


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inline every stage that reads what it reads at its own index, and is not scheduled yet."""
    _inline_where(sch, _is_elementwise)


def InferBound(sch: Schedule) -> dict[IterVar, Range]:
    """The range of every axis of a schedule."""
    return dict(infer_bound(sch.normalize()))


def _inline_where(sch: Schedule, is_meant: Callable[[ComputeOp], bool]) -> None:
    for stage in sch.stages:
        if isinstance(stage.op, ComputeOp) and _is_untouched(stage) and is_meant(stage.op):
            stage.compute_inline()


def _is_untouched(stage: Stage) -> bool:
    return (
        not stage.is_output
        and stage.attach_type == AttachType.GROUP_ROOT
        and not stage.relations
        and not stage.iter_var_attrs
        and tuple(stage.leaf_iter_vars) == tuple(stage.all_iter_vars)
    )


def _is_injective(op: ComputeOp) -> bool:
    return not op.reduce_axis


def _is_elementwise(op: ComputeOp) -> bool:
    own = [axis.var for axis in op.axis]
    return _is_injective(op) and all(
        len(node.indices) == len(own)
        and all(index is var for index, var in zip(node.indices, own, strict=True))
        for body in op.body
        for node in walk(body)
        if type(node) is ProducerLoad
    )
