"""Functions on whole schedules, from tvm.te.schedule and tvm.driver.build_module.

They return the results of single steps of lowering: consumers, ranges of axes, the loops.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from te_sched.ir.expr import Buffer, Expr, IntImm, IterVar, ProducerLoad, Range
from te_sched.ir.stmt import IRModule, Stmt
from te_sched.ir.visitor import substitute, variables_of, walk
from te_sched.lowering.assemble import schedule_ops
from te_sched.lowering.bounds import attach_path, infer_bound
from te_sched.lowering.pipeline import lower
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.stage import AttachType, Stage
from te_sched.te.operation import ComputeOp, Operation, PlaceholderOp, ScanOp
from te_sched.te.tensor import Tensor

__all__ = [
    "AutoInlineBroadcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "CreateAttachPath",
    "CreateReadGraph",
    "InferBound",
    "PostDFSOrder",
    "ScanFixPointAnalysis",
    "ScanGetBody",
    "ScheduleOps",
    "schedule_to_module",
]


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline all stages without a reduction that are not scheduled."""
    _inline_where(sch, _is_injective)


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inline all stages that read their inputs at their own index and are not scheduled."""
    _inline_where(sch, _is_elementwise)


def AutoInlineBroadcast(sch: Schedule) -> None:
    """Inline all stages that read their inputs at their own indices, some of them omitted or
    constant, and are not scheduled.
    """
    _inline_where(sch, _is_broadcast)


def InferBound(sch: Schedule) -> dict[IterVar, Range]:
    """The range of every axis of a schedule."""
    return dict(infer_bound(sch.normalize()))


def ScheduleOps(
    sch: Schedule, dom_map: Mapping[IterVar, Range], debug_keep_trivial_loop: bool = False
) -> Stmt:
    """The loops of a schedule, as one statement.

    `dom_map`, the result of `InferBound`, is inferred again; loops of one iteration are omitted.

    Raises
    ------
    LoweringError if the schedule cannot be turned into loops.
    """
    del dom_map, debug_keep_trivial_loop
    normalized = sch.normalize()
    ranges = infer_bound(normalized)
    inputs = [
        stage.op.output(0) for stage in normalized.stages if isinstance(stage.op, PlaceholderOp)
    ]
    outputs = [tensor for op in normalized.outputs for tensor in op.outputs]
    args = list(dict.fromkeys([*inputs, *outputs]))
    return schedule_ops(normalized, ranges, args, "main").body


def schedule_to_module(
    sch: Schedule,
    args: Sequence[Any] | None = None,
    name: str = "main",
    binds: Mapping[Tensor, Buffer] | None = None,
) -> IRModule:
    """The loops of a schedule as a module, before any pass: `lower(stop_after="schedule_ops")`.

    Raises
    ------
    LoweringError if args do not match, or the schedule cannot be turned into loops.
    """
    return lower(sch, args, name, binds, stop_after="schedule_ops")


def CreateReadGraph(ops: Iterable[Operation]) -> dict[Operation, tuple[Tensor, ...]]:
    """The tensors that each operation reads, for operations and all their dependencies."""
    graph: dict[Operation, tuple[Tensor, ...]] = {}
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op not in graph:
            graph[op] = tuple(op.input_tensors)
            waiting += [tensor.op for tensor in graph[op]]
    return graph


def PostDFSOrder(
    roots: Iterable[Operation], read_graph: Mapping[Operation, Sequence[Tensor]]
) -> list[Operation]:
    """The operations of a read graph, producers first."""
    done: dict[Operation, None] = {}
    waiting = [(op, False) for op in reversed(list(roots))]
    while waiting:
        op, is_ready = waiting.pop()
        if is_ready:
            done[op] = None
        elif op not in done:
            waiting.append((op, True))
            waiting += [(tensor.op, False) for tensor in reversed(read_graph[op])]
    return list(done)


def CreateAttachPath(sch: Schedule) -> dict[Operation, list[IterVar]]:
    """The loops around the attachment point of each operation, innermost first."""
    return {stage.op: attach_path(stage) for stage in sch.stages}


def ScanGetBody(scan_op: ScanOp) -> list[Operation]:
    """The operations of a step of a scan: those that depend on a state, and the scan itself."""
    states = {tensor.op for tensor in scan_op.state_placeholder}
    updates = [tensor.op for tensor in scan_op.update]
    graph = CreateReadGraph(updates)
    body: dict[Operation, None] = {}
    for op in PostDFSOrder(updates, graph):
        if any(tensor.op in states or tensor.op in body for tensor in graph[op]):
            body[op] = None
    return [*body, scan_op]


def ScanFixPointAnalysis(scan_op: ScanOp) -> dict[IterVar, IntImm]:
    """For each spatial axis of a scan, 1 if elements depend only on elements of the states with the
    same index, so that all steps can be computed index by index; otherwise 0.
    """
    states = {tensor.op for tensor in scan_op.state_placeholder}
    free = {position: True for state in scan_op.outputs for position in range(1, len(state.shape))}
    for update in scan_op.update:
        axes = [axis.var for axis in update.op.axis]
        for indices in _reads(update, tuple(axes), states):
            for position in free:
                is_same = position < len(indices) and indices[position] is axes[position]
                others = [index for at, index in enumerate(indices) if at != position]
                is_elsewhere = any(axes[position] in variables_of(index) for index in others)
                free[position] &= is_same and not is_elsewhere
    positions = [position for output in scan_op.outputs for position in range(1, len(output.shape))]
    return {
        axis: IntImm(int(free[position]))
        for axis, position in zip(scan_op.spatial_axis_, positions, strict=True)
    }


def _reads(
    tensor: Tensor, indices: tuple[Expr, ...], states: set[Operation]
) -> Iterable[tuple[Expr, ...]]:
    """The indices at which an element of a tensor reads states, directly or indirectly."""
    if tensor.op in states:
        yield indices
    elif isinstance(tensor.op, ComputeOp):
        own = dict(zip([axis.var for axis in tensor.op.axis], indices, strict=True))
        for node in walk(tensor.op.body[tensor.value_index]):
            if type(node) is ProducerLoad and isinstance(node.producer, Tensor):
                moved = tuple([substitute(index, own) for index in node.indices])
                yield from _reads(node.producer, moved, states)


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
    own = tuple([axis.var for axis in op.axis])
    return _is_injective(op) and all(
        len(read) == len(own) and all(map(operator.is_, read, own)) for read in _indices_of(op)
    )


def _is_broadcast(op: ComputeOp) -> bool:
    own: list[Expr] = [axis.var for axis in op.axis]
    for read in _indices_of(op):
        places = [own.index(index) for index in read if type(index) is not IntImm and index in own]
        constants = sum(type(index) is IntImm for index in read)
        if len(places) + constants < len(read) or places != sorted(set(places)):
            return False
    return _is_injective(op)


def _indices_of(op: ComputeOp) -> Iterable[tuple[Expr, ...]]:
    """The indices of all elements that an operation reads."""
    nodes = (node for body in op.body for node in walk(body))
    return (node.indices for node in nodes if type(node) is ProducerLoad)
