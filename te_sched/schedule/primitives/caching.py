"""cache_read and cache_write: new stages that copy a tensor to another storage scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import ScheduleError, kind_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, IterVar, ProducerLoad, Range, Reduce, Select, Var
from te_sched.ir.visitor import replace, substitute
from te_sched.schedule.guards import bound_checks, check_promises
from te_sched.schedule.handles import NAME, STAGES, TENSOR, TENSORS, Operations, as_items
from te_sched.schedule.primitives.checks import (
    KINDS,
    brief,
    check_scope,
    compute_operation,
    names,
    stage_label,
)
from te_sched.schedule.program import ScheduleState
from te_sched.schedule.relations import Ranges, Values
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import Fate, StageState
from te_sched.te.intrin_call import TensorComputeOp
from te_sched.te.operation import ComputeOp, Operation, domains
from te_sched.te.tensor import Tensor
from te_sched.trace.primitive import primitive


class CachingPrimitives(ScheduleState):
    """Primitives that copy tensors to other storage scopes."""

    __slots__ = ()

    @primitive(
        "Cache reads of {tensor} by {readers} as {results}, scope {scope}",
        tensor=TENSOR,
        scope=NAME,
        readers=STAGES,
    )
    def cache_read(self, tensor: Tensor, scope: str, readers: Operations) -> Tensor:
        """Add a stage A.shared that copies tensor A to a storage scope for some of its consumers.

        Parameters
        ----------
        tensor : the tensor to copy.
        scope : the storage scope: "shared", "local", ...
        readers : the consumers (tensors or operations) that read the copy instead.

        Returns
        -------
        The copy.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A[i] + 1.0
        >>> copy = s.cache_read(A, "local", [B])
        >>> print(s)
        main(A: float32[8], B: float32[8])
        ├─ A.local: float32[8] local, 32 bytes
        ├─ stage A.local
        │  └─ for ax0  0:8
        │     └─ A.local[ax0] = A[ax0]
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A.local[i] + 1.0
        """
        stage = stage_of_tensor(self, tensor, "cache_read")
        check_scope(scope, f"cache_read of {brief(tensor)}", At(stage))
        source = stage.op.output(tensor.value_index)
        chosen = _readers(self, source, as_items(readers))
        declared = stage.origin_op.output(tensor.value_index)
        cache = _copy(source, self._cache_name(declared, scope))
        changed = self.rewired({}, {reader: {source: cache} for reader in chosen})
        cache_stage = type(stage)(cache.op, self)
        cache_stage.scope = scope
        self.draft.rewire(changed)
        self.draft.add_stage(cache_stage, self.stages.index(stage) + 1, stage)
        return cache

    def _cache_name(self, tensor: Tensor, scope: str) -> str:
        """The name of a copy: A.shared, then A.d.shared, A.d.d.shared."""
        name = tensor.op.name
        if tensor.op.num_outputs > 1:
            name += f".v{tensor.value_index}"
        taken = {stage.op.name for stage in self.stages}
        while f"{name}.{scope}" in taken:
            name += ".d"
        return f"{name}.{scope}"

    @overload
    def cache_write(self, tensor: Tensor, scope: str) -> Tensor: ...
    @overload
    def cache_write(self, tensor: Sequence[Tensor], scope: str) -> list[Tensor]: ...
    @primitive("Cache writes of {tensor} as {results}, scope {scope}", tensor=TENSORS, scope=NAME)
    def cache_write(self, tensor: Tensor | Sequence[Tensor], scope: str) -> Tensor | list[Tensor]:
        """Compute tensor C in a new stage C.local in a storage scope; stage C copies its result.

        Parameters
        ----------
        tensor : a tensor, or a list of all tensors of one operation.
        scope : the storage scope: "local", "shared", ...

        The loops over the output, as split, fused or reordered so far, become the axes of the new
        tensor.

        Returns
        -------
        The new tensor, or a list of them.

        >>> from te_sched import te
        >>> A = te.placeholder((8,), name="A")
        >>> B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
        >>> s = te.create_schedule(B)
        >>> print(s)
        main(A: float32[8], B: float32[8])
        └─ stage B
           └─ for i  0:8
              └─ B[i] = A[i] + 1.0
        >>> local = s.cache_write(B, "local")
        >>> print(s)
        main(A: float32[8], B: float32[8])
        ├─ B.local: float32[8] local, 32 bytes
        ├─ stage B.local
        │  └─ for i.c  0:8
        │     └─ B.local[i.c] = A[i.c] + 1.0
        └─ stage B
           └─ for i  0:8
              └─ B[i] = B.local[i]
        """
        tensors = as_items(tensor)
        stage = _writer(self, tensors)
        op: ComputeOp | TensorComputeOp
        if isinstance(stage.op, TensorComputeOp):
            op = stage.op
        else:
            op = compute_operation(stage, "apply cache_write to")
        check_scope(scope, f"cache_write of {names(tensors)}", At(stage))
        layout = _layout(stage, op)
        name = f"{op.name}.{scope}"
        axes, indices = op.axis, layout.indices
        cache: Operation
        if isinstance(op, TensorComputeOp):
            cache = _called(op, name, layout, stage)
            axes = tuple([_with_loop(axis) for axis in axes])
            indices += tuple([axis.var for axis in axes[op.schedulable_ndim :]])
        else:
            cache = _computed(op, name, layout)
        loads = [ProducerLoad(output, indices) for output in cache.outputs]
        copy = ComputeOp(op.name, op.tag, op.attrs, axes, tuple(loads))
        changed = self.rewired(dict(zip(op.outputs, copy.outputs, strict=True)))
        cache_stage = type(stage)(cache, self)
        cache_stage.scope = scope
        fate = Fate(f"made an axis of {cache.name} by cache_write", self.draft.changes.place)
        self.draft.split_stage(stage, copy, cache_stage, fate)
        self.draft.rewire(changed)
        results = [cache.output(tensor.value_index) for tensor in tensors]
        return results if isinstance(tensor, (list, tuple)) else results[0]


def stage_of_tensor(schedule: ScheduleState, tensor: Any, name: str) -> StageState:
    """The stage that computes a tensor, for the primitive of this name."""
    what = f"cannot apply {name} to {brief(tensor)}"
    if not isinstance(tensor, Tensor):
        raise ScheduleError(
            f"{what}: expected a tensor, got {kind_of(tensor)}",
            help="give what te.compute returned",
        )
    stage = schedule.stage_of(tensor.op)
    if stage is None:
        raise ScheduleError(
            f"{what}: it is not in this schedule",
            f"the schedule has {names(stage.op for stage in schedule.stages)}",
            "use a tensor of the schedule, or create the schedule from this tensor",
        )
    return stage


def _readers(schedule: ScheduleState, source: Tensor, readers: Sequence[Any]) -> list[StageState]:
    legal = [
        stage
        for stage in schedule.stages
        if any(tensor is source for tensor in stage.op.input_tensors)
    ]
    what = f"cannot cache {source.op.name}"
    help = f"give some of its consumers: {names(stage.op for stage in legal)}"
    if not readers:
        raise ScheduleError(f"{what}: readers is empty", help=help)
    chosen: list[StageState] = []
    for item in readers:
        op = item.op if isinstance(item, Tensor) else item
        stage = schedule.stage_of(op) if isinstance(op, Operation) else None
        if not isinstance(op, Operation):
            why = f"expected a tensor or operation, got {kind_of(item)}"
        elif stage is None:
            why = "it has no stage in this schedule"
        elif stage not in legal:
            why = f"it does not read {source.op.name}{_read_instead(stage, source)}"
        elif stage in chosen:
            why = "it is given twice"
        else:
            chosen.append(stage)
            continue
        raise ScheduleError(f"{what} for {brief(item)}: {why}", help=help)
    return chosen


def _read_instead(stage: StageState, source: Tensor) -> str:
    """The copy of an earlier cache_read that a stage reads instead."""
    for tensor in stage.op.input_tensors:
        if source in tensor.op.input_tensors and tensor.op.name.startswith(source.op.name + "."):
            return f" but the copy {tensor.op.name}"
    return ""


def output_axes(shape: Sequence[Expr]) -> tuple[IterVar, ...]:
    """Axes ax0, ax1, ... over a shape."""
    return tuple(
        [
            IterVar(Range(IntImm(0, extent.dtype), extent), Var(f"ax{i}", extent.dtype), "DataPar")
            for i, extent in enumerate(shape)
        ]
    )


def _copy(source: Tensor, name: str) -> Tensor:
    axes = output_axes(source.shape)
    load = ProducerLoad(source, tuple([axis.var for axis in axes]))
    return ComputeOp(name, "", None, axes, (load,)).output(0)


def _writer(schedule: ScheduleState, tensors: Sequence[Any]) -> StageState:
    if not tensors:
        raise ScheduleError("cache_write needs at least one tensor, got none", help="give a tensor")
    stages = [stage_of_tensor(schedule, tensor, "cache_write") for tensor in tensors]
    stage = stages[0]
    indices = {tensor.value_index for tensor in tensors}
    if any(other is not stage for other in stages) or len(indices) != len(tensors):
        raise ScheduleError(
            "tensors of cache_write must be different outputs of one operation, "
            f"got {names(tensors)}",
            help="use cache_write for each operation",
        )
    if len(indices) != stage.op.num_outputs:
        raise ScheduleError(
            f"cache_write of {stage.op.name} takes all its {stage.op.num_outputs} outputs, "
            f"got {names(tensors)}",
            "one loop nest computes them all",
            f"give all of them: s.cache_write([{names(stage.op.outputs)}], scope)",
            At(stage),
        )
    return stage


class _Layout:
    """How the loops of a stage become the axes of a tensor.

    `axes` are those axes, `values` the variables of the old axes in terms of the new ones,
    `indices` the element at the old axes, `guards` the conditions for an element to exist.
    """

    def __init__(
        self,
        axes: tuple[IterVar, ...],
        values: dict[Var, Expr],
        indices: tuple[Expr, ...],
        guards: Sequence[Expr] = (),
    ) -> None:
        self.axes, self.values, self.indices, self.guards = axes, values, indices, guards


def _layout(stage: StageState, op: Operation) -> _Layout:
    reduce_axes = set(op.reduce_axis)
    leaves = [axis for axis in stage.leaf_iter_vars if axis not in reduce_axes]
    for leaf in leaves:
        if leaf.kind != "DataPar":
            raise ScheduleError(
                f"cannot apply cache_write to {stage_label(stage)}: "
                f"its loop {leaf.var.name} is a {KINDS[leaf.kind][0]}",
                "each loop becomes an axis of the new tensor, except for whole reduction axes",
                "use cache_write before the reduction axes are split or fused",
                At(stage, leaf),
            )
    ranges: Ranges = domains(op.root_iter_vars())
    if stage.relations:
        analyzer = Analyzer()
        for relation in stage.relations:
            relation.ranges_down(ranges, analyzer, None)
        check_promises(stage, ranges, "apply cache_write to", ranges)
    axes = tuple([_cached_axis(leaf, ranges[leaf]) for leaf in leaves])
    values: Values = {axis: axis.var for axis in reduce_axes}
    values.update((leaf, axis.var) for leaf, axis in zip(leaves, axes, strict=True))
    places: Values = {axis: axis.var for axis in op.axis}
    for relation in reversed(stage.relations):
        relation.indices_up(values, ranges)
    for relation in stage.relations:
        relation.indices_down(places, ranges)
    indices = tuple([places[leaf] for leaf in leaves])
    guards: list[Expr] = []
    if stage.relations:
        all_ranges = {**ranges, **domains(axes)}
        guards = bound_checks(stage, all_ranges, values, False, frozenset(reduce_axes))
    known_axes = [axis for axis in op.axis if axis in values]
    return _Layout(axes, {axis.var: values[axis] for axis in known_axes}, indices, guards)


def _cached_axis(leaf: IterVar, bound: Range) -> IterVar:
    return IterVar(bound, Var(leaf.var.name + ".c", leaf.var.dtype), leaf.kind)


def _computed(op: ComputeOp, name: str, layout: _Layout) -> ComputeOp:
    first = op.body[0]
    if isinstance(first, Reduce):
        reduce = substitute(first, layout.values)
        reduce = replace(reduce, condition=_all([*layout.guards, reduce.condition]))
        parts: list[Expr] = [replace(reduce, value_index=index) for index in range(len(op.body))]
    else:
        parts = [substitute(value, layout.values) for value in op.body]
        if layout.guards:
            guard = _all(layout.guards)
            parts = [Select(guard, value, ops.const(0, value.dtype)) for value in parts]
    return ComputeOp(name, op.tag, op.attrs, layout.axes, tuple(parts))


def _called(op: TensorComputeOp, name: str, layout: _Layout, stage: StageState) -> TensorComputeOp:
    """The operation that calls the same intrinsic, with loops as in the layout."""
    if layout.guards:
        raise ScheduleError(
            f"cannot apply cache_write to {stage_label(stage)}: not every iteration of its loops "
            f"calls {op.intrin.name}, only those with {layout.guards[0]}",
            "each loop becomes an axis of the new tensor",
            "use cache_write before split, or split by factors that divide the extents",
            At(stage),
        )
    regions = [
        tuple(
            [
                replace(
                    bound,
                    min=substitute(bound.min, layout.values),
                    extent=substitute(bound.extent, layout.values),
                )
                for bound in region
            ]
        )
        for region in op.input_regions
    ]
    scalars = tuple([substitute(value, layout.values) for value in op.scalar_inputs])
    axes = (*layout.axes, *op.axis[op.schedulable_ndim :])
    fields = (op.reduce_axis, op.intrin, op.inputs, tuple(regions), scalars)
    return TensorComputeOp(name, op.tag, op.attrs, axes, *fields)


def _with_loop(axis: IterVar) -> IterVar:
    """A new axis with a loop in place of an opaque one; other axes themselves."""
    if axis.kind != "Opaque":
        return axis
    return IterVar(axis.dom, Var(axis.var.name, axis.var.dtype), "DataPar")


def _all(conditions: Sequence[Expr]) -> Expr:
    joined: Expr = ops.TRUE
    for condition in conditions:
        joined = ops.logical_and(joined, condition)
    return joined
