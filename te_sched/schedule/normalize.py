"""Normalization of a schedule before bound inference.

Works in place, on a copy that `Schedule.normalize` makes. Must not know ranges or statements.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_not
from typing import Any

from te_sched.errors import ScheduleError, Subject
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IterVar, ProducerLoad, Reduce, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.reals import as_reals
from te_sched.ir.visitor import Mapper, replace, substitute, walk
from te_sched.schedule.program import ScheduleState
from te_sched.schedule.relations import Rebase
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.operation import MOST_NODES, ComputeOp, domain_loads
from te_sched.te.tensor import Tensor

Rebased = dict[tuple[StageState, IterVar], IterVar]


def normalize(schedule: ScheduleState) -> None:
    """Inline stages, rebase loops and update attachments, in this order."""
    inject_inline(schedule)
    rebased = rebase_loops(schedule)
    mend_attachments(schedule, rebased)


def fold_reals(schedule: ScheduleState) -> None:
    """Fold real arithmetic as TVM does, to print the same text; works on a normalized schedule.

    Stages that are only multiplied by zero are removed.
    """
    renewed: dict[Tensor, Tensor] = {}
    for stage in schedule.stages:
        op = stage.op.replace_inputs(renewed)
        if isinstance(op, ComputeOp):
            body = tuple(map(as_reals, op.body))
            if any(map(is_not, body, op.body)):
                op = ComputeOp(op.name, op.tag, op.attrs, op.axis, body)
        if op is not stage.op:
            renewed.update(zip(stage.op.outputs, op.outputs, strict=True))
            schedule.replace_operation(stage, op)
    if renewed:
        _drop_unread(schedule)


def _drop_unread(schedule: ScheduleState) -> None:
    read: set[Tensor] = set()
    for stage in reversed(list(schedule.stages)):
        is_read = stage.is_output or any(tensor in read for tensor in stage.op.outputs)
        if is_read or not isinstance(stage.op, ComputeOp):
            read.update(stage.op.input_tensors)
        else:
            schedule.stages.remove(stage)


class _TensorInliner(Mapper):
    """Replaces loads of inlined tensors by their expressions."""

    def __init__(self, inlined: Mapping[Tensor, ComputeOp]) -> None:
        self.inlined = inlined

    def visit_ProducerLoad(self, node: ProducerLoad) -> Expr:
        load: ProducerLoad = self.generic(node)
        op = self.inlined.get(load.producer)  # type: ignore[call-overload]
        if op is None:
            return load
        axes = [axis.var for axis in op.axis]
        values = {
            axis: ops.cast(axis.dtype, index)
            for axis, index in zip(axes, load.indices, strict=True)
        }
        body: Expr = substitute(op.body[0], values)
        return body


def inject_inline(schedule: ScheduleState) -> None:
    """Substitute inlined stages into their consumers; producers come first, so bodies are final."""
    if not any(stage.attach_type == AttachType.INLINE for stage in schedule.stages):
        return
    inlined: dict[Tensor, ComputeOp] = {}
    sizes: dict[Tensor, int] = {}
    inliner = _TensorInliner(inlined)
    renewed: dict[Tensor, Tensor] = {}
    for stage in schedule.stages:
        op = stage.op.replace_inputs(renewed)
        if isinstance(op, ComputeOp) and any(tensor in inlined for tensor in op.input_tensors):
            _check_size(op, sizes)
            op = _with_body(op, inliner)
        if op is not stage.op:
            renewed.update(zip(stage.op.outputs, op.outputs, strict=True))
            schedule.replace_operation(stage, op)
        if stage.attach_type == AttachType.INLINE:
            stage.attach_type = AttachType.INLINED_ALREADY
            assert isinstance(op, ComputeOp)
            inlined[op.output(0)] = op
            sizes[op.output(0)] = _size(op, {})


def _size(op: ComputeOp, sizes: Mapping[Tensor, int]) -> int:
    """The number of nodes of a body, where `sizes` has that of loads of inlined tensors."""
    size = 0
    for node in walk(op.body[0]):
        producer: Any = getattr(node, "producer", None)
        size += sizes.get(producer, 1)
    return size


def _check_size(op: ComputeOp, sizes: Mapping[Tensor, int]) -> None:
    if (size := _size(op, sizes)) > MOST_NODES:
        raise ScheduleError(
            f"cannot inline {', '.join(arg.name for arg in op.input_tensors if arg in sizes)} into "
            f"{op.name}: the expression would have {size} operations, more than {MOST_NODES}",
            "each read of an inlined tensor computes it again, with all inlined tensors it reads",
            "use compute_at or compute_root for some of them",
            Subject("stage", op.name),
        )


def _with_body(op: ComputeOp, inliner: _TensorInliner) -> ComputeOp:
    for load in domain_loads(op.body[0]):
        if load.producer in inliner.inlined:
            raise ScheduleError(
                f"cannot inline {load.producer.name} into {op.name}: {spelled(load)} is in the "
                "range of a reduction axis",
                "ranges of reduction axes are not rewritten",
                "use compute_at or compute_root for it",
                Subject("stage", op.name),
            )
    first = inliner.visit(op.body[0])
    if isinstance(first, Reduce):
        body = (first, *[replace(first, value_index=i) for i in range(1, len(op.body))])
    else:
        body = (first, *[inliner.visit(value) for value in op.body[1:]])
    for value in body:
        _check_reductions(op, value)
    return ComputeOp(op.name, op.tag, op.attrs, op.axis, body)


def _check_reductions(op: ComputeOp, value: Expr) -> None:
    below = walk(value)
    next(below)
    if any(type(node) is Reduce for node in below):
        raise ScheduleError(
            f"cannot inline a reduction into {op.name}, which computes with its result",
            "a reduction is a loop, not an expression",
            "use compute_at or compute_root for the reduction",
            Subject("stage", op.name),
        )


def rebase_loops(schedule: ScheduleState) -> Rebased:
    """Make the loops over the axes of each operation start at zero, whatever their range.

    Axes bound to threads are left as they are. Returns the new axis of each old one, by stage:
    operations may share a reduction axis.
    """
    rebased: Rebased = {}
    for stage in schedule.stages:
        if stage.attach_type == AttachType.INLINED_ALREADY:
            continue
        leaves = {axis: index for index, axis in enumerate(stage.leaf_iter_vars)}
        for axis in stage.op.root_iter_vars():
            leaf_index = leaves.get(axis)
            attr = stage.iter_var_attrs.get(axis)
            if leaf_index is None or (attr is not None and attr.bind_thread is not None):
                continue
            other = IterVar(None, Var(axis.var.name, axis.var.dtype), axis.kind)
            stage.relations.append(Rebase(axis, other))
            if attr is not None:
                stage.iter_var_attrs[other] = attr
            stage.leaf_iter_vars[leaf_index] = other
            rebased[stage, axis] = other
    return rebased


def mend_attachments(schedule: ScheduleState, rebased: Rebased) -> None:
    """Move stages attached at an axis that is no longer a loop to the loop it became.

    For a split axis that is its inner part, for the inner part of a fusion the fused axis. An axis
    that was fused as the outer part has no such loop: bound inference reports it.
    """
    for stage in (*schedule.stages, *schedule.groups):
        if stage.attach_type != AttachType.SCOPE:
            continue
        assert stage.attach_stage is not None
        assert stage.attach_ivar is not None
        axis = rebased.get((stage.attach_stage, stage.attach_ivar), stage.attach_ivar)
        stage.attach_ivar = _innermost(stage.attach_stage, axis)


def _innermost(stage: StageState, axis: IterVar) -> IterVar:
    if any(axis is leaf for leaf in stage.leaf_iter_vars):
        return axis
    for relation in stage.relations:  # in the order they were made, so one walk follows them all
        if relation.inputs and relation.inputs[-1] is axis:
            axis = relation.outputs[-1]
    return axis
