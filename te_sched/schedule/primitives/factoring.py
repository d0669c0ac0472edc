"""rfactor: a reduction in two stages, the first of which has an axis that can run in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError
from te_sched.ir import ops
from te_sched.ir.expr import Call, Expr, IterVar, ProducerLoad, Range, Reduce, Select, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.visitor import reads_data, replace, substitute, variables_of
from te_sched.schedule.guards import bound_checks, check_promises
from te_sched.schedule.handles import INTEGER, TENSOR, Integer
from te_sched.schedule.primitives.caching import output_axes, stage_of_tensor
from te_sched.schedule.primitives.checks import (
    KINDS,
    compute_operation,
    integer,
    leaf_position,
    names,
    stage_label,
)
from te_sched.schedule.program import ScheduleState
from te_sched.schedule.relations import Ranges, Values, spread_down, spread_up
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import Fate, StageState
from te_sched.te.operation import ComputeOp, domain_of, domains
from te_sched.te.tensor import Tensor
from te_sched.trace.primitive import primitive


class FactoringPrimitives(ScheduleState):
    """Primitives that factor reductions."""

    __slots__ = ()

    @primitive(
        "Factor the reduction of {tensor} over {axis} into {results}",
        tensor=TENSOR,
        factor_axis=INTEGER,
    )
    def rfactor(self, tensor: Tensor, axis: IterVar, factor_axis: Integer = 0) -> Any:
        """Make a reduction loop a spatial axis of a new stage B.rf, whose results stage B reduces.

        Parameters
        ----------
        tensor : the result of a reduction.
        axis : a loop of its stage, made from reduction axes only.
        factor_axis : the position of the new axis in B.rf; negative counts from the end.

        The loops of stage B are reset to its axes.

        Returns
        -------
        The tensor B.rf, or a list of tensors for a reduction of several values.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> k = te.reduce_axis((0, 8), name="k")
        >>> B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
        >>> s = te.create_schedule(B)
        >>> outer, inner = s[B].split(k, factor=4)
        >>> print(s)
        main(A: float32[8], B: float32[1])
        └─ stage B
           ├─ B[0] = 0.0
           └─ for k.outer  0:2
              └─ for k.inner  0:4
                 └─ B[0] += A[k.inner + k.outer * 4]
        >>> partial = s.rfactor(B, outer)
        >>> print(s)
        main(A: float32[8], B: float32[1])
        ├─ B.rf: float32[2, 1] global, 8 bytes
        ├─ stage B.rf
        │  └─ for k.outer  0:2
        │     ├─ B.rf[k.outer, 0] = 0.0
        │     └─ for k.inner  0:4
        │        └─ B.rf[k.outer, 0] += A[k.inner + k.outer * 4]
        └─ stage B
           ├─ B[0] = 0.0
           └─ for k.outer.v  0:2
              └─ B[0] += B.rf[k.outer.v, 0]
        """
        stage = stage_of_tensor(self, tensor, "rfactor")
        op = compute_operation(stage, "apply rfactor to")
        reduce = _check_reduction(stage, op, axis)
        position = _check_place(stage, op, factor_axis)
        parts = _take_apart(stage, op, axis)
        factored = _factored(op, reduce, axis, position, parts)
        remaining = _remaining(op, reduce, axis, position, factored)
        changed = self.rewired(dict(zip(op.outputs, remaining.outputs, strict=True)))
        factored_stage = type(stage)(factored, self)
        fate = Fate(f"factored into {factored.name}", self.draft.changes.place)
        self.draft.split_stage(stage, remaining, factored_stage, fate)
        self.draft.rewire(changed)
        return factored.output(0) if factored.num_outputs == 1 else list(factored.outputs)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The loops of a reduction without the factored axis.

    `reduce_axes` are those that the first stage reduces, `values` the old axes in terms of the
    loops, `guards` the bounds of the reduction axes that are replaced.
    """

    factor: Range
    reduce_axes: tuple[IterVar, ...]
    values: dict[Var, Expr]
    guards: list[Expr]


def _check_reduction(stage: StageState, op: ComputeOp, axis: IterVar) -> Reduce:
    body = op.body[0]
    if not isinstance(body, Reduce) or not body.axis:
        raise ScheduleError(
            f"cannot apply rfactor to {stage_label(stage)}: it is not a reduction",
            help="use it on a tensor made with te.sum, te.max, ...",
            where=At(stage),
        )
    leaf_position(stage, axis, "apply rfactor to")
    if axis.kind != "CommReduce":
        legal = [leaf for leaf in stage.leaf_iter_vars if leaf.kind == "CommReduce"]
        raise ScheduleError(
            f"cannot apply rfactor to {KINDS[axis.kind][0]} {axis.var.name} of "
            f"{stage_label(stage)}: expected a reduction axis",
            help=f"use one of {names(legal)}",
            where=At(stage, axis),
        )
    return body


def _check_place(stage: StageState, op: ComputeOp, factor_axis: Any) -> int:
    position = integer(factor_axis, "rfactor factor_axis", stage)
    count = len(op.axis)
    if not -count - 1 <= position <= count:
        raise ScheduleError(
            f"rfactor factor_axis must be from {-count - 1} to {count}, got {position}",
            f"the new tensor has {count + 1} dimensions",
            f"use a position from 0 to {count}, or from -{count + 1} to -1",
            At(stage),
        )
    return position if position >= 0 else position + count + 1


def _take_apart(stage: StageState, op: ComputeOp, axis: IterVar) -> _Parts:
    what = f"cannot apply rfactor to axis {axis.var.name} of {stage_label(stage)}"
    if (iter_var := _output_of(stage, op, axis)) is not None:
        raise ScheduleError(
            f"{what}: it was made from output axis {iter_var.var.name}",
            help="factor an axis that comes from reduction axes only",
            where=At(stage, axis),
        )
    touched = spread_down(stage.relations, spread_up(stage.relations, {axis: 1}))
    ranges: Ranges = domains(op.root_iter_vars())
    analyzer = Analyzer()
    for relation in stage.relations:
        relation.ranges_down(ranges, analyzer, None)
    if not ops.is_const(ranges[axis].min, 0):
        raise ScheduleError(
            f"{what}: it starts at {ranges[axis].min}, not at 0",
            help="split it first and factor one of the parts",
            where=At(stage, axis),
        )
    extent = ranges[axis].extent
    if reads_data(extent) or variables_of(extent) & {output_axis.var for output_axis in op.axis}:
        raise ScheduleError(
            f"{what}: its extent {spelled(extent)} differs from element to element",
            "the axis becomes a dimension of a tensor, which has one extent",
            "split it by a number, and factor the inner axis",
            At(stage, axis),
        )
    check_promises(stage, ranges, "apply rfactor to", touched)
    whole = [reduction_axis for reduction_axis in op.reduce_axis if reduction_axis not in touched]
    loops = [leaf for leaf in stage.leaf_iter_vars if leaf in touched and leaf is not axis]
    for loop in loops:
        if (iter_var := _output_of(stage, op, loop)) is not None:
            raise ScheduleError(
                f"{what}: another loop of the reduction, {loop.var.name}, was made from output "
                f"axis {iter_var.var.name}",
                "the first stage reduces loops of reduction axes only",
                f"call rfactor before you fuse {iter_var.var.name} with a part of the reduction",
                At(stage, loop),
            )
    pieces = [IterVar(ranges[leaf], leaf.var, "CommReduce") for leaf in loops]
    values: Values = {stage_axis: stage_axis.var for stage_axis in stage.all_iter_vars}
    for iter_var in (axis, *loops):
        if ops.is_const(ranges[iter_var].extent, 1):  # it has one value, which needs no variable
            values[iter_var] = ranges[iter_var].min
    for relation in reversed(stage.relations):
        relation.indices_up(values, ranges)
    untouched = frozenset(
        stage_axis for stage_axis in stage.all_iter_vars if stage_axis not in touched
    )
    guards = bound_checks(stage, ranges, values, False, untouched)
    of_vars = {
        reduction_axis.var: values[reduction_axis]
        for reduction_axis in op.reduce_axis
        if reduction_axis in touched and values[reduction_axis] is not reduction_axis.var
    }
    return _Parts(ranges[axis], (*whole, *pieces), of_vars, guards)


def _output_of(stage: StageState, op: ComputeOp, loop: IterVar) -> IterVar | None:
    """The output axis that a loop derives from, or None."""
    sources = spread_up(stage.relations, {loop: 1})
    return next((axis for axis in op.axis if axis in sources), None)


def _factored(
    op: ComputeOp, reduce: Reduce, axis: IterVar, position: int, parts: _Parts
) -> ComputeOp:
    """The first stage: the partial result of each value of the factored axis."""
    axes = list(op.axis)
    axes.insert(position, IterVar(parts.factor, axis.var, "DataPar"))
    condition = substitute(reduce.condition, parts.values)
    for_all: Expr = ops.TRUE
    for guard in (*parts.guards, condition):
        for_all = ops.logical_and(for_all, guard)
    if not ops.is_const(for_all, 1):
        for_all = Call("bool", "tir.likely", (for_all,))
    sources = tuple([substitute(source, parts.values) for source in reduce.source])
    body: Sequence[Expr]
    if parts.reduce_axes:
        body = [
            Reduce(reduce.combiner, sources, (), parts.reduce_axes, for_all, index)
            for index in range(len(sources))
        ]
    elif ops.is_const(for_all, 1):
        body = sources
    else:
        pairs = zip(sources, reduce.combiner.identity, strict=True)
        body = [Select(for_all, source, identity) for source, identity in pairs]
    return ComputeOp(op.name + ".rf", "", None, tuple(axes), tuple(body))


def _remaining(
    op: ComputeOp, reduce: Reduce, axis: IterVar, position: int, factored: ComputeOp
) -> ComputeOp:
    """The second stage, which combines the partial results."""
    axes = output_axes(op.output(0).shape)
    factor = IterVar(
        domain_of(factored.axis[position]), Var(axis.var.name + ".v", axis.var.dtype), "CommReduce"
    )
    indices: list[Expr] = [iter_var.var for iter_var in axes]
    indices.insert(position, factor.var)
    renamed: dict[Var, Expr] = {old.var: new.var for old, new in zip(op.axis, axes, strict=True)}
    first = Reduce(
        reduce.combiner,
        tuple([ProducerLoad(output, tuple(indices)) for output in factored.outputs]),
        tuple([substitute(value, renamed) for value in reduce.init]),
        (factor,),
        ops.TRUE,
        0,
    )
    body = (first, *[replace(first, value_index=index) for index in range(1, op.num_outputs)])
    return ComputeOp(op.name + ".repl", "", None, axes, body)
