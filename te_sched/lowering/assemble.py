"""Convert a schedule with known bounds to a program: stages become nested loops.

The statement of a stage is made together with the loop that it is attached to; stages that are not
attached run in sequence, producers first. Tensors become buffers. (TVM's names: ScheduleOps and
SchedulePostProcToPrimFunc.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from te_sched.arith.analyzer import Analyzer
from te_sched.config import AS_TVM, Lowering
from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.expr import (
    Buffer,
    Call,
    DataProducer,
    Expr,
    IntImm,
    IterVar,
    PointerType,
    Range,
    Var,
)
from te_sched.ir.ops import TRUE
from te_sched.ir.source_lines import SourceLines
from te_sched.ir.stmt import AttrStmt, BufferRealize, PrimFunc, Stmt
from te_sched.ir.visitor import variables_of
from te_sched.lowering.apply_layouts import apply_layouts
from te_sched.lowering.bounds import attach_path
from te_sched.lowering.hybrid import scheduled_loops
from te_sched.lowering.nests import BindTensors, NestContext, ReplaceBuffers, guarded
from te_sched.lowering.provide import main_nest, provide_compute, wrap_levels
from te_sched.lowering.statements import sequence
from te_sched.lowering.tensorize import is_tensorized, provide_calls, provide_tensorized
from te_sched.schedule.layouts import LayoutMap
from te_sched.schedule.relations import Ranges, range_of
from te_sched.schedule.schedule import Schedule
from te_sched.schedule.state import AttachType, StageState
from te_sched.te.intrin_call import TensorComputeOp
from te_sched.te.operation import (
    ComputeOp,
    ExternOp,
    HybridOp,
    Operation,
    PlaceholderOp,
    ScanOp,
)
from te_sched.te.tensor import Tensor


def schedule_ops(
    schedule: Schedule,
    ranges: Ranges,
    args: Sequence[Any],
    name: str,
    binds: Mapping[Tensor, Buffer] | None = None,
    settings: Lowering = AS_TVM,
) -> PrimFunc:
    """The program of a normalized schedule, with a BufferRealize around the lifetime of each
    stage's result.

    `args` are the function's parameters: tensors, buffers, or variables; `binds` gives some tensors
    a buffer.
    """
    return _Assembly(schedule, ranges, args, binds or {}, settings).function(name)


class _Assembly:
    """Combines the statements of all stages."""

    def __init__(
        self,
        schedule: Schedule,
        ranges: Ranges,
        args: Sequence[Any],
        binds: Mapping[Tensor, Buffer],
        settings: Lowering,
    ) -> None:
        self.ranges, self.args, self.settings = ranges, args, settings
        self.rearranged = [stage for stage in schedule.stages if stage.layouts]
        self.stages = [
            stage for stage in schedule.stages if not isinstance(stage.op, PlaceholderOp)
        ]
        self.by_axis: dict[tuple[StageState, IterVar], list[StageState]] = {}
        self.scan_init: dict[StageState, list[StageState]] = {}
        self.scan_update: dict[StageState, list[StageState]] = {}
        self.root: list[StageState] = []
        # The tensor by which the user knows the result of a stage: cached and factored stages, and
        # the parts of a scan, are mapped to the operation they were made from.
        self.origin: dict[Tensor, Tensor] = {}
        self.binds = binds
        self.buffers: dict[Tensor, Buffer] = dict(binds)
        self.given: set[Tensor] = set()
        self.stage_of_axis = {axis: stage for stage in self.stages for axis in stage.leaf_iter_vars}
        self.scopes = {
            stage.origin_op.output(i): stage.scope
            for stage in self.stages
            for i in range(stage.origin_op.num_outputs)
        }
        self._find_origins()
        self._sort_stages()
        self.is_compact = any(
            type(s.op) in (ExternOp, TensorComputeOp) or is_tensorized(s) for s in self.stages
        )

    def _find_origins(self) -> None:
        for stage in self.stages:
            op = stage.op
            if op is not stage.origin_op:
                for i in range(op.num_outputs):
                    self.origin[op.output(i)] = stage.origin_op.output(i)
            if isinstance(op, ScanOp):
                for i in range(op.num_outputs):
                    for part in (op.init[i], op.update[i], op.state_placeholder[i]):
                        self.origin[part] = op.output(i)

    def _sort_stages(self) -> None:
        stage_of = {stage.op: stage for stage in self.stages}
        scan_of_init: dict[Operation, StageState] = {}
        for stage in self.stages:
            if isinstance(stage.op, ScanOp):
                scan_of_init.update(
                    (tensor.op, stage) for tensor in stage.op.init if tensor.op in stage_of
                )
        for stage in self.stages:
            spec = stage.attach_spec
            if stage.op in scan_of_init:
                self.scan_init.setdefault(scan_of_init[stage.op], []).append(stage)
            elif spec.attach_type == AttachType.SCAN_UPDATE:
                assert spec.attach_stage is not None
                self.scan_update.setdefault(spec.attach_stage, []).append(stage)
            elif spec.attach_type == AttachType.SCOPE:
                assert spec.attach_stage is not None
                assert spec.attach_ivar is not None
                self.by_axis.setdefault((spec.attach_stage, spec.attach_ivar), []).append(stage)
            elif spec.attach_type == AttachType.GROUP_ROOT:
                self.root.append(stage)

    def function(self, name: str) -> PrimFunc:
        params: list[Var] = []
        buffer_map: dict[Var, Buffer] = {}
        for arg in self.args:
            if isinstance(arg, Var):
                params.append(arg)
                continue
            buffer = arg if isinstance(arg, Buffer) else self._argument_buffer(arg)
            param = Var(buffer.name, "handle")
            params.append(param)
            buffer_map[param] = buffer
        body: Stmt | None = None
        for stage in reversed(self.root):
            body = self.pipeline(stage, body, frozenset())
        attrs = {"from_legacy_te_schedule": True, "global_symbol": name, "tir.noalias": True}
        lines = SourceLines()
        for stage in self.stages:
            lines.add("stage", stage.op.name, stage.origin_op.place)
        func = PrimFunc(
            tuple(params), sequence([body]), buffer_map, attrs, origin="schedule", lines=lines
        )
        return apply_layouts(func, self._layouts()) if self.rearranged else func

    def _layouts(self) -> dict[Buffer, tuple[LayoutMap, ...]]:
        return {
            self.buffer_of(tensor): stage.layouts
            for stage in self.rearranged
            for tensor in stage.op.outputs
        }

    def _argument_buffer(self, tensor: Tensor) -> Buffer:
        if tensor in self.given:
            raise LoweringError(
                f"tensor {tensor.op.name} is given twice as an argument",
                help="name every tensor once in args",
            )
        self.given.add(tensor)
        if tensor in self.binds:
            return self.binds[tensor]
        symbolic = not self.is_compact and any(isinstance(extent, Var) for extent in tensor.shape)
        strides = tuple(Var("stride", extent.dtype) for extent in tensor.shape) if symbolic else ()
        data = Var(
            tensor.op.name,
            "handle",
            PointerType("int8" if tensor.dtype == "bool" else tensor.dtype),
        )
        buffer = Buffer(
            data,
            tensor.dtype,
            tuple(tensor.shape),
            strides,
            _no_offset(tensor.shape),
            tensor.op.name,
            buffer_type="auto_broadcast" if symbolic else "",
        )
        self.buffers[tensor] = buffer
        return buffer

    def buffer_of(self, producer: DataProducer) -> Buffer:
        """The buffer of a tensor; created at its first use."""
        assert isinstance(producer, Tensor)
        tensor = self.origin.get(producer, producer)
        while tensor in self.origin:
            tensor = self.origin[tensor]
        buffer = self.buffers.get(tensor)
        if buffer is None:
            name = (
                tensor.op.name
                if tensor.op.num_outputs == 1
                else f"{tensor.op.name}.v{tensor.value_index}"
            )
            element = "int8" if tensor.dtype == "bool" else tensor.dtype
            data = Var(name, "handle", PointerType(element, self.scopes.get(tensor, "")))
            buffer = Buffer(
                data, tensor.dtype, tuple(tensor.shape), (), _no_offset(tensor.shape), name
            )
            self.buffers[tensor] = buffer
        return buffer

    def pipeline(
        self, stage: StageState, consumer: Stmt | None, threads: frozenset[IterVar]
    ) -> Stmt:
        """A stage and its consumers, with the result of the stage allocated."""
        outside = threads | self._threads_outside(stage)
        scope = NestContext(self.ranges, self.buffer_of, self._attach, outside, self.settings)
        producer = self.provide(stage.op, stage, scope)
        if stage.is_double_buffered:
            for tensor in reversed(stage.op.outputs):
                if not self._is_part_of_scan(tensor):
                    buffer = self.buffer_of(tensor)
                    producer = AttrStmt(buffer, "double_buffer_scope", IntImm(1), producer)
        body = sequence([producer, consumer])
        if stage.is_rolling:
            for tensor in reversed(stage.op.outputs):
                body = AttrStmt(self.buffer_of(tensor), "rolling_buffer_scope", TRUE, body)
        return self.realize(stage, body)

    def _threads_outside(self, stage: StageState) -> frozenset[IterVar]:
        threads = set()
        for axis in attach_path(stage):
            attr = self.stage_of_axis[axis].iter_var_attrs.get(axis)
            threads.add(
                attr.bind_thread if attr is not None and attr.bind_thread is not None else axis
            )
        return frozenset(thread for thread in threads if thread.thread_tag)

    def _attach(self, stage: StageState, axis: IterVar, body: Stmt) -> Stmt:
        for producer in reversed(self.by_axis.get((stage, axis), ())):
            body = self.pipeline(producer, body, frozenset())
        return body

    def provide(self, op: Operation, stage: StageState, scope: NestContext) -> Stmt:
        """The statement that computes a stage."""
        match op:
            case TensorComputeOp():
                return provide_calls(stage, scope)
            case HybridOp():
                return self._provide_hybrid(op, stage, scope)
            case ExternOp():
                return self._provide_extern(op, stage, scope)
            case ScanOp():
                return self._provide_scan(op, stage, scope)
            case ComputeOp():
                return self._provide_compute(op, stage, scope)
        raise TypeError(op)

    def _provide_compute(self, op: ComputeOp, stage: StageState, scope: NestContext) -> Stmt:
        return (
            provide_tensorized(stage, scope)
            if is_tensorized(stage)
            else provide_compute(stage, scope)
        )

    def _provide_extern(self, op: ExternOp, stage: StageState, scope: NestContext) -> Stmt:
        body: Stmt = AttrStmt(
            IntImm(0),
            "extern_scope",
            IntImm(0),
            BindTensors({}, self.buffer_of).visit(op.statement),
        )
        outputs = [op.output(i) for i in range(op.num_outputs)]
        for placeholders, tensors in (
            (op.output_placeholders, outputs),
            (op.input_placeholders, op.inputs),
        ):
            for buffer, tensor in reversed(list(zip(placeholders, tensors, strict=True))):
                region = [
                    part for extent in buffer.shape for part in (IntImm(0, extent.dtype), extent)
                ]
                body = bind_buffer(buffer, self.buffer_of(tensor), region, body)
        return body

    def _provide_hybrid(self, op: HybridOp, stage: StageState, scope: NestContext) -> Stmt:
        placeholders = (*op.output_placeholders, *op.input_placeholders)
        tensors = (*op.outputs, *op.inputs)
        buffers = {
            placeholder: self.buffer_of(tensor)
            for placeholder, tensor in zip(placeholders, tensors, strict=True)
        }
        body = ReplaceBuffers(buffers).visit(scheduled_loops(op.statement, stage, scope))
        return AttrStmt(IntImm(0), "extern_scope", IntImm(0), body)

    def _provide_scan(self, op: ScanOp, stage: StageState, scope: NestContext) -> Stmt:
        nest = main_nest(stage, scope)
        threads = 0
        while threads < len(nest.axes) and nest.axes[threads].kind == "ThreadIndex":
            threads += 1
        body: Stmt | None = None
        for update in reversed(self.scan_update.get(stage, ())):
            body = self.pipeline(update, body, frozenset())
        inner = guarded(sequence([body]), nest.guards)
        inner = wrap_levels(inner, stage, scope, nest, threads, len(nest.axes))
        launched = frozenset(nest.axes[:threads])
        for init in reversed(self.scan_init.get(stage, ())):
            inner = self.pipeline(init, inner, launched | scope.outer_threads)
        return wrap_levels(inner, stage, scope, nest, 0, threads)

    def realize(self, stage: StageState, body: Stmt) -> Stmt:
        """The body with the outputs of a stage allocated."""
        op = stage.op
        for i in reversed(range(op.num_outputs)):
            tensor = op.output(i)
            if self._is_part_of_scan(tensor):
                continue
            buffer = self.buffer_of(tensor)
            body = BufferRealize(buffer, self._realized_region(op, i), TRUE, body)
            if isinstance(op, ComputeOp):
                body = _aligned(stage, op, buffer, body)
        return body

    def _is_part_of_scan(self, tensor: Tensor) -> bool:
        return isinstance(self.origin.get(tensor, tensor).op, ScanOp) and not isinstance(
            tensor.op, ScanOp
        )

    def _realized_region(self, op: Operation, output: int) -> tuple[Range, ...]:
        if isinstance(op, ComputeOp | TensorComputeOp):
            return tuple(self.ranges[axis] for axis in op.axis)
        shape = op.output(output).shape
        if isinstance(op, ScanOp):
            steps = self.ranges[op.scan_axis]
            skip = sum(len(update.shape) - 1 for update in op.update[:output])
            axes = op.spatial_axis_[skip : skip + len(shape) - 1]
            count = steps.extent
            if not {axis.var for axis in self.ranges}.isdisjoint(variables_of(count)):
                count = ops.maximum(count, 0)  # if no step is read, the first ones are made
            return (
                range_of(0, Analyzer(self.settings).simplify(count + steps.min)),
                *(self.ranges[axis] for axis in axes),
            )
        return tuple(range_of(0, extent) for extent in shape)


def _no_offset(shape: tuple[Expr, ...]) -> Expr:
    return IntImm(0, shape[0].dtype if shape else "int64")


def _aligned(stage: StageState, op: ComputeOp, buffer: Buffer, body: Stmt) -> Stmt:
    for dimension, axis in enumerate(op.axis):
        attr = stage.iter_var_attrs.get(axis)
        if attr is not None and attr.dim_align_factor != 0:
            numbers = (
                IntImm(dimension),
                ops.convert(attr.dim_align_factor),
                ops.convert(attr.dim_align_offset),
            )
            body = AttrStmt(
                buffer, "buffer_dim_align", Call("handle", "tir.tvm_tuple", numbers), body
            )
    return body


def bind_buffer(view: Buffer, buffer: Buffer, region: list[Expr], body: Stmt) -> Stmt:
    """`body`, in which `view` stands for a region (min and extent per dimension) of a buffer."""
    return AttrStmt(
        (view, buffer), "buffer_bind_scope", Call("handle", "tir.tvm_tuple", tuple(region)), body
    )
