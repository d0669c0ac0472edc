"""Bound inference: the range of every axis, from the regions that consumers read of a stage at its
attach point.

Stages are visited from the outputs to the inputs. The region of a tensor that its consumers need is
found by
giving every consumer axis outside the attach point one value, every axis inside its whole range,
and evaluating
the consumer's indices on these sets. (TVM's name: InferBound.) Must not know statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, FloorDiv, FloorMod, IntImm, IterVar, ProducerLoad, Range, Var
from te_sched.ir.storage_scopes import StorageScope, default_scope, storage_scope, thread_level
from te_sched.ir.visitor import walk
from te_sched.schedule.relations import Ranges, Sets, range_of, set_range, spread_up
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.source_locations import At, attached, draw_loops
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.intrin_call import TensorComputeOp
from te_sched.te.operation import (
    ComputeOp,
    ExternOp,
    HybridOp,
    Operation,
    PlaceholderOp,
    ScanOp,
    domain_loads,
    domain_of,
    domains,
)
from te_sched.te.tensor import Tensor

# For each tensor and dimension, the sets of indices that its consumers read.
Regions = dict[Tensor, list[list[IntervalSet]]]


def is_private(scope: str, tag: str) -> bool:
    """Whether each thread of a tag has its own memory of a scope."""
    return bool(scope) and not storage_scope(scope).is_common(tag)


def infer_bound(schedule: Schedule, settings: Lowering = AS_TVM) -> Ranges:
    """The range of every axis of a normalized schedule (and of the threads they are bound to)."""
    return _Inference(schedule, settings).run()


def attach_path(stage: StageState) -> list[IterVar]:
    """The loops around the place where a stage is computed, innermost first, including those of the
    stages it is attached to.
    """
    path: list[IterVar] = []
    visited = {stage: None}
    while True:
        spec = stage.attach_spec
        if spec.attach_type not in (AttachType.SCOPE, AttachType.SCAN_UPDATE):
            return path
        assert spec.attach_stage is not None
        stage = spec.attach_stage
        if stage in visited:
            raise LoweringError(
                f"stage {stage.op.name} is computed inside itself",
                "the compute_at calls form a cycle",
                "attach one of the stages of the cycle elsewhere, or use compute_root",
                where=map(attached, visited),
            )
        visited[stage] = None
        leaves = list(stage.leaf_iter_vars)
        if spec.attach_type == AttachType.SCOPE:
            leaves = leaves[: _position(leaves, spec.attach_ivar, stage) + 1]
        path.extend(reversed(leaves))


def _position(leaves: list[IterVar], axis: IterVar | None, stage: StageState) -> int:
    for position, leaf in enumerate(leaves):
        if leaf is axis:
            return position
    name = axis.var.name if axis is not None else "?"
    raise LoweringError(
        f"a stage is attached at axis {name} of stage {stage.op.name}, which is not a loop",
        f"{name} was split, fused or otherwise replaced after compute_at",
        "call compute_at with one of the axes " + ", ".join(leaf.var.name for leaf in leaves),
        where=At(stage),
        loops=draw_loops(stage, {}),
    )


class _Inference:
    """One run of bound inference over a schedule."""

    def __init__(self, schedule: Schedule, settings: Lowering) -> None:
        self.settings = settings
        self.stages = list(schedule.stages)
        self.stage_of = {stage.op: stage for stage in self.stages}
        self.analyzer = Analyzer(settings)
        self.ranges: Ranges = {}
        self.thread_of: dict[IterVar, IterVar] = {}
        self.paths: dict[Operation, list[IterVar]] = {}
        self.consumers: dict[Tensor, list[Operation]] = {}
        for stage in self.stages:
            self.paths[stage.op] = attach_path(stage)
            for axis, attr in stage.iter_var_attrs.items():
                if attr.bind_thread is not None:
                    self.thread_of[axis] = attr.bind_thread
            if stage.attach_type != AttachType.INLINED_ALREADY:
                for tensor in stage.op.input_tensors:
                    self.consumers.setdefault(tensor, []).append(stage.op)

    def run(self) -> Ranges:
        for stage in reversed(self.stages):
            self.infer_root_axes(stage)
            pass_ranges_down(stage, self.ranges, self.analyzer)
            for thread in stage.launched_threads:
                if thread.dom is None:
                    raise LoweringError(
                        f"thread axis {thread.var.name} of env_threads of stage "
                        f"{stage.op.name} has no extent",
                        "the number of threads around a whole stage is that of the thread axis",
                        'declare it with an extent: te.thread_axis((0, 32), "threadIdx.x")',
                        where=At(stage),
                    )
                self.ranges[thread] = thread.dom
        return {axis: self._simplified(bound, axis) for axis, bound in self.ranges.items()}

    def _simplified(self, bound: Range, axis: IterVar) -> Range:
        """A range in the type of its axis; in programs to run, one that is wider stays exact."""
        low, extent = bound.min, bound.extent
        if not self.settings.to_run:
            low, extent = ops.cast(axis.var.dtype, low), ops.cast(axis.var.dtype, extent)
        if type(low) is IntImm and type(extent) is IntImm:
            return bound if low is bound.min and extent is bound.extent else Range(low, extent)
        return Range(self.analyzer.simplify(low), self.analyzer.simplify(extent))

    def infer_root_axes(self, stage: StageState) -> None:
        """The ranges of the declared axes of a stage."""
        if stage.attach_type in (AttachType.INLINED_ALREADY, AttachType.INLINE):
            return
        if stage.is_output or stage.layouts or isinstance(stage.op, PlaceholderOp):
            self.ranges.update(domains(stage.op.root_iter_vars()))
            return
        outputs = [stage.op.output(i) for i in range(stage.op.num_outputs)]
        regions: Regions = {tensor: [[] for _ in tensor.shape] for tensor in outputs}
        readers = dict.fromkeys(op for tensor in outputs for op in self.consumers.get(tensor, ()))
        for op in readers:
            self._require(stage, self.stage_of[op], regions)
        gather_bound(stage.op, regions, self.ranges, self.settings)

    def _require(self, stage: StageState, consumer: StageState, regions: Regions) -> None:
        """Add to `regions` the region that one consumer reads of a stage at its attach point."""
        spec = stage.attach_spec
        scope = self._storage(stage)
        points = _attach_points(spec)
        outside = False  # whether the walk has passed the attach point
        sets: Sets = {}
        fixed: dict[Var, Range] = {}
        for axis in reversed(consumer.leaf_iter_vars):
            outside = outside or axis in points
            bound = self.ranges[axis]
            if ops.is_const(bound.extent, 1):
                sets[axis] = int_set.single_point(bound.min)
            elif self._is_whole(axis, outside, scope):
                sets[axis] = int_set.from_range(bound)
            else:
                var = self.thread_of.get(axis, axis).var
                sets[axis], fixed[var] = int_set.single_point(var), bound
        relaxed: dict[Var, IntervalSet] = {}
        for axis in self.paths[consumer.op]:
            outside = outside or axis in points
            if self._is_whole(axis, outside, scope):
                whole = int_set.from_range(self.ranges[axis])
                relaxed[axis.var] = whole
                if axis in self.thread_of:
                    relaxed[self.thread_of[axis].var] = whole
            else:
                fixed[self.thread_of.get(axis, axis).var] = self.ranges[axis]
        if spec.attach_type == AttachType.SCOPE and not outside:
            raise _not_inside(stage, spec, consumer)
        for relation in reversed(consumer.relations):
            relation.sets_up(sets, self.ranges, self.settings)
        domains, analyzer = self._root_domains(consumer.op, sets, relaxed, fixed)
        require_inputs(consumer.op, analyzer, domains, regions)

    def _root_domains(
        self,
        op: Operation,
        sets: Sets,
        relaxed: dict[Var, IntervalSet],
        fixed: dict[Var, Range],
    ) -> tuple[dict[Var, IntervalSet], Analyzer]:
        settings, analyzer = self.settings, Analyzer(self.settings)
        for var, bound in fixed.items():
            analyzer.bind(var, bound)
        domains: dict[Var, IntervalSet] = {}
        for axis in op.root_iter_vars():
            dom = domain_of(axis)
            bound = int_set.cover_range(sets[axis], dom, settings) if axis in sets else dom
            if type(bound.min) in (FloorDiv, FloorMod):
                # If simplified separately, quotient and remainder of a fused axis may no longer
                # match.
                bound = Range(Analyzer(settings).simplify(bound.min), bound.extent)
            if relaxed:
                low = int_set.eval_set(bound.min, relaxed, settings).min
                high = int_set.eval_set(bound.min + bound.extent - 1, relaxed, settings).max
                domains[axis.var] = IntervalSet(low, high)
            else:
                domains[axis.var] = int_set.from_range(bound)
            analyzer.bind(axis.var, bound)
        return domains, analyzer

    def _tag(self, axis: IterVar) -> str:
        return self.thread_of.get(axis, axis).thread_tag

    def _is_whole(self, axis: IterVar, outside: bool, scope: StorageScope) -> bool:
        """Whether all values of a consumer's axis are needed, because the memory outlives or spans
        the axis.
        """
        tag = self._tag(axis)
        if tag in ("", "pipeline"):
            return not outside
        return scope.is_common(tag)

    def _storage(self, stage: StageState) -> StorageScope:
        if stage.scope:
            return storage_scope(stage.scope)
        tags = [self._tag(axis) for axis in self.paths[stage.op]]
        threads = [tag for tag in tags if tag not in ("", "pipeline")]
        return storage_scope(default_scope(max(threads, key=thread_level, default="")))


def _attach_points(spec: StageState) -> frozenset[IterVar]:
    """The loops of the attach stage that a stage is computed in, the innermost of them at least."""
    if spec.attach_type == AttachType.SCOPE and spec.attach_ivar is not None:
        return frozenset([spec.attach_ivar])
    if spec.attach_type == AttachType.SCAN_UPDATE and spec.attach_stage is not None:
        return frozenset(spec.attach_stage.leaf_iter_vars)
    return frozenset()


def _not_inside(stage: StageState, spec: StageState, consumer: StageState) -> LoweringError:
    assert spec.attach_stage is not None
    assert spec.attach_ivar is not None
    name = stage.op.name
    at = f"axis {spec.attach_ivar.var.name} of stage {spec.attach_stage.op.name}"
    return LoweringError(
        f"stage {name} is computed at {at}, but stage {consumer.op.name} reads it outside of "
        "that loop",
        f"the loops of {consumer.op.name} are not inside {at}, so the value would not exist "
        "when it is read",
        f"attach {name} at a loop around all its consumers, or use s[{name}].compute_root()",
        where=[attached(stage), *At(consumer)],
        loops=draw_loops(spec.attach_stage, {stage: f"not in the loops of {consumer.op.name}"}),
    )


def pass_ranges_down(stage: StageState, ranges: Ranges, analyzer: Analyzer) -> None:
    """The ranges of all axes of a stage, and of the threads they are bound to, from those of the
    declared axes. An inlined stage has no loops.
    """
    if stage.attach_type == AttachType.INLINED_ALREADY:
        return
    fixed: frozenset[IterVar] = frozenset()
    bound = {
        axis: attr.bind_thread
        for axis, attr in stage.iter_var_attrs.items()
        if attr.bind_thread is not None
    }
    if bound:
        fixed = frozenset(spread_up(stage.relations, dict.fromkeys(bound, 1)))
    for relation in stage.relations:
        relation.ranges_down(ranges, analyzer, fixed)
    for axis, thread in bound.items():
        set_range(ranges, thread, ranges[axis], analyzer, At(stage, axis))


@singledispatch
def require_inputs(
    op: Operation, analyzer: Analyzer, domains: Mapping[Var, IntervalSet], regions: Regions
) -> None:
    """Add to `regions` the indices at which an operation reads its inputs when its axes are in
    `domains`.
    """
    raise TypeError(op)


@require_inputs.register
def _(
    op: PlaceholderOp, analyzer: Analyzer, domains: Mapping[Var, IntervalSet], regions: Regions
) -> None:
    """A placeholder reads nothing."""


@require_inputs.register
def _(
    op: ComputeOp, analyzer: Analyzer, domains: Mapping[Var, IntervalSet], regions: Regions
) -> None:
    for body in op.body:
        for load in (*domain_loads(body), *walk(body)):
            if type(load) is ProducerLoad and load.producer in regions:
                for dimension, index in enumerate(load.indices):
                    if analyzer.settings.to_run and dtypes.is_uint(index.dtype):
                        index = ops.cast("int64", index)  # expressions that contain it are signed
                    read = int_set.eval_set(index, domains, analyzer.settings)
                    read = _clipped(read, load.producer.shape[dimension], analyzer)
                    regions[load.producer][dimension].append(read)  # type: ignore[index]


def _clipped(read: IntervalSet, extent: Expr, analyzer: Analyzer) -> IntervalSet:
    """The whole dimension where the set is provably wider (indices are within bounds by
    assumption).
    """
    first, last = IntImm(0, extent.dtype), extent - 1
    if int_set.is_everything(read):
        return IntervalSet(first, last)
    if read.min is None or read.max is None:
        return read
    wider = analyzer.can_prove(first >= read.min) and analyzer.can_prove(last <= read.max)
    return IntervalSet(first, last) if wider else read


@require_inputs.register
def _(
    op: TensorComputeOp,
    analyzer: Analyzer,
    domains: Mapping[Var, IntervalSet],
    regions: Regions,
) -> None:
    for tensor, region in zip(op.inputs, op.input_regions, strict=True):
        for dimension, bound in enumerate(region if tensor in regions else ()):
            first, last = [
                int_set.eval_set(end, domains, analyzer.settings)
                for end in (bound.min, analyzer.simplify(bound.min + bound.extent - 1))
            ]
            read = _clipped(IntervalSet(first.min, last.max), tensor.shape[dimension], analyzer)
            regions[tensor][dimension].append(read)


@require_inputs.register
def _(
    op: ExternOp, analyzer: Analyzer, domains: Mapping[Var, IntervalSet], regions: Regions
) -> None:
    for tensor in op.inputs:
        if tensor in regions:
            for sets, extent in zip(regions[tensor], tensor.shape, strict=True):
                sets.append(int_set.from_range(range_of(0, extent)))


@require_inputs.register
def _(op: ScanOp, analyzer: Analyzer, domains: Mapping[Var, IntervalSet], regions: Regions) -> None:
    axes = iter(op.spatial_axis_)
    for init, update in zip(op.init, op.update, strict=True):
        if init in regions:
            regions[init][0].append(int_set.from_range(range_of(0, init.shape[0])))
        if update in regions:
            regions[update][0].append(domains[op.scan_axis.var])
        for dimension in range(1, len(update.shape)):
            axis = next(axes)
            for tensor in (init, update):
                if tensor in regions:
                    regions[tensor][dimension].append(domains[axis.var])


@singledispatch
def gather_bound(op: Operation, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    """Set the ranges of the axes of an operation from the required regions of its outputs."""
    raise TypeError(op)


@gather_bound.register
def _(op: PlaceholderOp, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    """A placeholder has no axes."""


@gather_bound.register
def _(op: ExternOp, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    """An extern operation always computes everything."""


@gather_bound.register
def _(op: HybridOp, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    ranges.update(domains(op.axis))


@gather_bound.register
def _(op: ComputeOp, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    outputs = [regions[op.output(i)] for i in range(op.num_outputs)]
    for dimension, axis in enumerate(op.axis):
        ranges[axis] = _cover_all([output[dimension] for output in outputs], axis, settings)
    ranges.update(domains(op.reduce_axis))


@gather_bound.register
def _(op: TensorComputeOp, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    outputs = [regions[op.output(i)] for i in range(op.num_outputs)]
    for dimension, axis in enumerate(op.axis[: op.schedulable_ndim]):
        ranges[axis] = _cover_all([output[dimension] for output in outputs], axis, settings)
    # A call computes its whole region, whichever part of it is read (TVM allocates less).
    ranges.update(domains((*op.axis[op.schedulable_ndim :], *op.reduce_axis)))


@gather_bound.register
def _(op: ScanOp, regions: Regions, ranges: Ranges, settings: Lowering) -> None:
    outputs = [op.output(i) for i in range(op.num_outputs)]
    whole = domain_of(op.scan_axis)
    steps = [step for tensor in outputs for step in regions[tensor][0]]
    needed = _cover(steps, op.scan_axis, settings)
    # A scan starts from its first step, no matter which steps are read.
    extent = Analyzer(settings).simplify(needed.extent + needed.min - whole.min)
    ranges[op.scan_axis] = Range(whole.min, extent)
    # All elements of a step are stored, even if not all are read (TVM allocates less).
    ranges.update(domains(op.spatial_axis_))


def _cover_all(outputs: list[list[IntervalSet]], axis: IterVar, settings: Lowering) -> Range:
    """The range for all results of an operation: that of the first result if it covers the others,
    and the whole axis if the first result is not read.
    """
    first = _cover(outputs[0], axis, settings)
    others = [interval for sets in outputs[1:] for interval in sets]
    if not others or not outputs[0]:
        return first
    analyzer = Analyzer(settings)
    last = first.min + first.extent - 1
    for low, high in others:
        inside = (
            low is not None
            and high is not None
            and analyzer.can_prove(low >= first.min)
            and analyzer.can_prove(high <= last)
        )
        if not inside:
            return _cover([*outputs[0], *others], axis, settings)
    return first


def _cover(sets: Sequence[IntervalSet], axis: IterVar, settings: Lowering) -> Range:
    return int_set.cover_range(int_set.union(sets, settings), domain_of(axis), settings)
