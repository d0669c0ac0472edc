"""Statements of tensor intrinsics: of stages that are tensorized, and of those that call one.

For tensorize, the regions that the replaced loops read and write are found by bound inference, and
the computation is compared with the one that the intrinsic declares. The intrinsic's buffers are
bound to the regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Call, Expr, IntImm, IterVar, ProducerLoad, Range, Reduce, Var
from te_sched.ir.message_text import spelled
from te_sched.ir.stmt import AttrStmt, IfThenElse, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import Mapper, substitute, variables_of
from te_sched.lowering.bounds import Regions, require_inputs
from te_sched.lowering.nests import BindTensors, Nest, NestContext, Wrap, guarded, wrap
from te_sched.lowering.provide import first_reduction_level, init_nest, main_nest, wrap_levels
from te_sched.lowering.statements import sequence
from te_sched.schedule.relations import Ranges, Sets
from te_sched.schedule.source_locations import At
from te_sched.schedule.state import StageState
from te_sched.te.intrin_call import TensorComputeOp, TensorIntrin
from te_sched.te.operation import ComputeOp, domain_of
from te_sched.te.tensor import Tensor


def is_tensorized(stage: StageState) -> bool:
    """Whether an axis of the stage carries a tensor intrinsic."""
    return any(attr.tensor_intrin is not None for attr in stage.iter_var_attrs.values())


def provide_tensorized(stage: StageState, scope: NestContext) -> Stmt:
    """The loops outside the tensorized axis, around the statement of the intrinsic."""
    return _Tensorizer(stage, scope).checked().provide()


def provide_calls(stage: StageState, scope: NestContext) -> Stmt:
    """The loops of a stage that calls an intrinsic, around the statement of the intrinsic."""
    op = stage.op
    assert isinstance(op, TensorComputeOp)
    nest = main_nest(stage, scope)
    if stage.store_predicate is not None:
        predicate = scope.binding(nest.substitution()).visit(stage.store_predicate)
        nest = replace(nest, guards=[*nest.guards, predicate])
    output = [
        domain_of(axis) if axis.kind == "Opaque" else Range(axis.var, IntImm(1, axis.var.dtype))
        for axis in op.axis
    ]
    scalars = dict(zip(op.intrin.scalar_params, op.scalar_inputs, strict=True))
    point = len(stage.leaf_iter_vars)
    regions = (op.inputs, op.input_regions, output)
    return _Placement(stage, scope, nest, op.intrin, point, *regions, scalars, True).provide()


@dataclass(frozen=True, slots=True)
class _Placement:
    """An intrinsic inside the first `point` loops of a nest.

    It writes `output` (a range per dimension) of the results of the stage and reads `regions` of
    `inputs`; `scalars` are values of variables in its statements. The bound checks of a call
    (`is_call`) are likely, as in TVM.
    """

    stage: StageState
    scope: NestContext
    nest: Nest
    intrin: TensorIntrin
    point: int
    inputs: Sequence[Tensor]
    regions: Sequence[Sequence[Range]]
    output: Sequence[Range]
    scalars: dict[Var, Expr]
    is_call: bool = False

    def provide(self) -> Stmt:
        """The loops with the statements of the intrinsic."""
        stage, scope, nest, point = self.stage, self.scope, self.nest, self.point
        common, pure = first_reduction_level(stage, stage.op)
        if point <= common:
            assert self.intrin.body is not None  # checked
            body = self._bound(self.intrin.body)
            return wrap_levels(self._guarded(body, nest), stage, scope, nest, 0, point)
        assert self.intrin.reduce_update is not None  # checked
        update = self._bound(self.intrin.reduce_update)
        if self.intrin.reduce_init is None:
            assert self.intrin.body is not None  # ensured by decl_tensor_intrin
            first = self._bound(self.intrin.body)
            step = IfThenElse(self._is_later_step(common, pure), update, first)
            return wrap_levels(self._guarded(step, nest), stage, scope, nest, 0, point)
        self._check_reset(self.intrin.reduce_init)
        init = init_nest(stage, scope, nest, common, pure)
        reset = BindTensors({}, scope.buffer_of).visit(self.intrin.reduce_init)
        reset = self._bound_outputs(substitute(reset, self.scalars), init)
        inner = [wrapper for level in init.levels[: point - common] for wrapper in level]
        reset = wrap(self._guarded(reset, init), inner)
        body = wrap_levels(self._guarded(update, nest), stage, scope, nest, common, point)
        return wrap_levels(sequence([reset, body]), stage, scope, nest, 0, common)

    def _check_reset(self, reset: Stmt) -> None:
        used = variables_of(reset)
        for tensor, buffer in zip(self.intrin.inputs, self.intrin.buffers, strict=False):
            if buffer.data in used:
                raise LoweringError(
                    f"the reset of tensor intrinsic {self.intrin.name} uses input {tensor.name}",
                    "the reset precedes the loops of the reduction, where no input has a region",
                    "use the output buffers only",
                    At(self.stage),
                )

    def _guarded(self, body: Stmt, nest: Nest) -> Stmt:
        return guarded(body, nest.guards, likely=self.is_call)

    def _bound(self, body: Stmt) -> Stmt:
        """A statement of the intrinsic with all its buffers bound."""
        body = self._bound_outputs(substitute(body, self.scalars), self.nest)
        count = len(self.intrin.inputs)
        binds = zip(self.intrin.buffers[:count], self.inputs, self.regions, strict=True)
        return wrap(body, [self._binding(*bind, self.nest) for bind in binds])

    def _bound_outputs(self, body: Stmt, nest: Nest) -> Stmt:
        body = self.scope.binding(nest.substitution()).visit(body)
        buffers = self.intrin.buffers[len(self.intrin.inputs) :]
        binds = zip(buffers, self.stage.op.outputs, strict=True)
        return wrap(body, [self._binding(*bind, self.output, nest) for bind in binds])

    def _binding(self, view: Buffer, tensor: Tensor, region: Sequence[Range], nest: Nest) -> Wrap:
        bind = self.scope.binding(nest.substitution())
        numbers = tuple(
            [bind.visit(part) for bound in region for part in (bound.min, bound.extent)]
        )
        node = (view, self.scope.buffer_of(tensor))
        return lambda body: AttrStmt(
            node, "buffer_bind_scope", Call("handle", "tir.tvm_tuple", numbers), body
        )

    def _is_later_step(self, common: int, pure: frozenset[IterVar]) -> Expr:
        """Whether some reduction loop outside of the intrinsic is past its first iteration."""
        later: Expr | None = None
        for axis in self.nest.axes[common : self.point]:
            if axis in pure:
                past = ops.less(self.scope.ranges[axis].min, self.nest.values[axis])
                step = Call("bool", "tir.likely", (past,))
                later = step if later is None else ops.logical_or(later, step)
        assert later is not None  # the first axis inside the common levels is one of a reduction
        return later


class _Tensorizer:
    """Finds what an intrinsic replaces, and compares it with what the intrinsic declares."""

    def __init__(self, stage: StageState, scope: NestContext) -> None:
        assert isinstance(stage.op, ComputeOp)
        self.stage, self.op, self.scope = stage, stage.op, scope
        self.point, self.intrin = self._tensorized_axis()
        self.inputs = list(self.op.input_tensors)
        self.out_ranges, self.in_regions = self._regions()
        self.nest = main_nest(stage, scope)

    def checked(self) -> _Placement:
        """The intrinsic and the regions it is bound to; an error where they do not match."""
        self._check_guards()
        self._check_body()
        self._check_statements()
        output = [self.out_ranges[axis] for axis in self.op.axis]
        regions = (self.inputs, self.in_regions, output, self._scalar_values())
        return _Placement(self.stage, self.scope, self.nest, self.intrin, self.point, *regions)

    def _check_statements(self) -> None:
        common, _ = first_reduction_level(self.stage, self.op)
        if self.point <= common and self.intrin.body is None:
            raise self._error(
                "the intrinsic has no body", "return the body from the intrinsic's function"
            )
        if self.point > common and self.intrin.reduce_update is None:
            raise self._error(
                "a reduction loop is outside of it, but the intrinsic has no reduce_update",
                "return (body, reduce_reset, reduce_update) from the intrinsic's function, "
                "or tensorize an axis outside of all reduction loops",
            )

    def _tensorized_axis(self) -> tuple[int, TensorIntrin]:
        for position, axis in enumerate(self.stage.leaf_iter_vars):
            attr = self.stage.iter_var_attrs.get(axis)
            if attr is not None and attr.tensor_intrin is not None:
                return position, attr.tensor_intrin
        raise LoweringError(
            f"stage {self.op.name} is tensorized at an axis that is no longer a loop",
            "the axis was split or fused after tensorize",
            "call tensorize last, on one of "
            + ", ".join(axis.var.name for axis in self.stage.leaf_iter_vars),
            where=At(self.stage),
        )

    def _error(self, problem: str, help: str, why: str = "") -> LoweringError:
        axis = self.stage.leaf_iter_vars[self.point]
        return LoweringError(
            f"cannot tensorize axis {axis.var.name} of stage {self.op.name} with "
            f"{self.intrin.name}: {problem}",
            why,
            help,
            where=At(self.stage, axis),
        )

    def _mismatch(self, problem: str, help: str, detail: str = "") -> LoweringError:
        """An error that shows the declared regions beside the given ones."""
        inputs = [
            _region_text(tensor, region)
            for tensor, region in zip(self.inputs, self.in_regions, strict=True)
        ]
        written = [self.out_ranges[axis] for axis in self.op.axis]
        results = [_region_text(tensor, written) for tensor in self.op.outputs]
        declared = [_declared_text(tensor) for tensor in self.intrin.inputs]
        outputs = [_declared_text(tensor) for tensor in self.intrin.op.outputs]
        return self._error(
            problem,
            help,
            f"{detail}given: {', '.join(inputs)} -> {', '.join(results)}; "
            f"declared: {', '.join(declared)} -> {', '.join(outputs)}",
        )

    def _regions(self) -> tuple[Ranges, list[list[Range]]]:
        """The regions that the tensorized loops write (a range per axis) and read (a range per
        dimension of each input).
        """
        ranges, sets, settings = self.scope.ranges, Sets(), self.scope.settings
        for position, axis in enumerate(self.stage.leaf_iter_vars):
            bound = ranges[axis]
            if ops.is_const(bound.extent, 1):
                sets[axis] = int_set.single_point(bound.min)
            elif position < self.point:
                attr = self.stage.iter_var_attrs.get(axis)
                thread = attr.bind_thread if attr is not None else None
                sets[axis] = int_set.single_point((thread if thread is not None else axis).var)
            else:
                sets[axis] = int_set.from_range(bound)
        for relation in reversed(self.stage.relations):
            relation.sets_up(sets, ranges, settings)
        analyzer = Analyzer(settings)
        out: Ranges = {}
        for axis in self.op.root_iter_vars():
            if axis not in sets:
                raise self._error(
                    f"axis {axis.var.name} of an inlined reduction has no loop",
                    "use compute_at or compute_root for the reduction",
                )
            out[axis] = int_set.cover_range(sets[axis], ranges[axis], settings)
            analyzer.bind(axis.var, out[axis])
        regions: Regions = {tensor: [[] for _ in tensor.shape] for tensor in self.inputs}
        require_inputs(
            self.op, analyzer, {axis.var: sets[axis] for axis in self.op.root_iter_vars()}, regions
        )
        covered = []
        for tensor in self.inputs:
            whole = [Range(IntImm(0, extent.dtype), extent) for extent in tensor.shape]
            covered.append(
                [
                    int_set.cover_range(int_set.union(s, settings), w, settings)
                    for s, w in zip(regions[tensor], whole, strict=True)
                ]
            )
        return out, covered

    def _check_guards(self) -> None:
        """Refuse bound checks that depend on a tensorized axis."""
        replaced = {axis.var for axis in self.stage.leaf_iter_vars[self.point :]}
        for guard in self.nest.guards:
            marked = substitute(guard, {var: Var(var.name, var.dtype) for var in replaced})
            if marked is not guard:
                raise self._error(
                    f"the replaced loops need the bound check {guard}",
                    "make the split factors divide the extents, or pad the computation",
                )

    def _check_body(self) -> None:
        """Refuse an intrinsic that does not declare what the tensorized loops compute."""
        declared = self.intrin.op
        if not isinstance(declared, ComputeOp) or len(declared.body) != len(self.op.body):
            raise self._mismatch(
                "the intrinsic declares another number of outputs",
                "declare the intrinsic with the same outputs",
            )
        if len(self.intrin.inputs) != len(self.inputs):
            raise self._mismatch(
                f"the stage reads {len(self.inputs)} tensors, the intrinsic declares "
                f"{len(self.intrin.inputs)} inputs",
                "declare the intrinsic on the inputs of the stage, in the order in which "
                "they are read",
            )
        self._check_types(declared)
        analyzer = Analyzer(self.scope.settings)
        remap = self._declared_axes(declared, analyzer)
        tensors = dict(zip(self.inputs, self.intrin.inputs, strict=True))
        offsets = dict(zip(self.inputs, self.in_regions, strict=True))
        relative = _Relative(remap, tensors, offsets, analyzer)
        for mine, theirs in zip(self.op.body, declared.body, strict=True):
            values = [relative.visit(part) for part in _values(mine)]
            wanted = [_simplified(part, analyzer) for part in _values(theirs)]
            is_alike = len(values) == len(wanted) and all(map(structural_equal, values, wanted))
            if not is_alike or not _reduce_alike(mine, theirs):
                raise self._mismatch(
                    "the loops do not match the computation that the intrinsic declares",
                    "check the axis, the split factors and the order of the operands",
                    f"the loops compute {_body_text(mine, values)}, "
                    f"the intrinsic declares {_body_text(theirs, wanted)}; ",
                )
        self._check_regions(analyzer)

    def _check_types(self, declared: ComputeOp) -> None:
        pairs = zip(
            (*self.inputs, *self.op.outputs), (*self.intrin.inputs, *declared.outputs), strict=True
        )
        for mine, theirs in pairs:
            if mine.dtype != theirs.dtype:
                raise self._mismatch(
                    f"{mine.name} has dtype {mine.dtype}, {theirs.name} of the intrinsic has "
                    f"{theirs.dtype}",
                    f"declare {theirs.name} as {mine.dtype}",
                )

    def _check_regions(self, analyzer: Analyzer) -> None:
        """Refuse regions whose shapes differ from those that the intrinsic declares."""
        written = [self.out_ranges[axis] for axis in self.op.axis]
        regions = [*self.in_regions, *[written for _ in self.op.outputs]]
        tensors = (*self.inputs, *self.op.outputs)
        for tensor, region, buffer in zip(tensors, regions, self.intrin.buffers, strict=True):
            extents = [dim_range.extent for dim_range in region][
                max(len(region) - len(buffer.shape), 0) :
            ]
            for number, (have, want) in enumerate(zip(extents, buffer.shape, strict=False)):
                missing = analyzer.simplify(want - have)
                if isinstance(missing, IntImm) and missing.value != 0:
                    raise self._mismatch(
                        f"the region of {tensor.name} has extent {have} in dimension {number}, "
                        f"where {buffer.name} has {want}",
                        f"declare {buffer.name} with the shape of the region",
                    )

    def _declared_axes(self, declared: ComputeOp, analyzer: Analyzer) -> dict[Var, Expr]:
        """Each axis of the stage as an axis of the intrinsic, or as its only value."""
        remap: dict[Var, Expr] = {}
        pairs = ((self.op.axis, declared.axis), (self.op.reduce_axis, declared.reduce_axis))
        for mine, theirs in pairs:
            unit = len(mine) - len(theirs)
            if unit < 0:
                raise self._mismatch(
                    "the intrinsic has more axes than the stage",
                    "declare the intrinsic with fewer axes",
                )
            for axis in mine[:unit]:
                bound = self.out_ranges[axis]
                if not ops.is_const(analyzer.simplify(bound.extent), 1):
                    raise self._mismatch(
                        f"axis {axis.var.name} has {bound.extent} values inside it, the intrinsic "
                        "has no such axis",
                        f"split {axis.var.name} so that only one value is left inside, or "
                        "declare it in the intrinsic",
                    )
                remap[axis.var] = bound.min
            for axis, target in zip(mine[unit:], theirs, strict=True):
                self._check_extent(axis, target, analyzer)
                remap[axis.var] = target.var + self.out_ranges[axis].min
        return remap

    def _check_extent(self, axis: IterVar, target: IterVar, analyzer: Analyzer) -> None:
        bound = self.out_ranges[axis]
        assert target.dom is not None
        analyzer.bind(target.var, target.dom)
        if isinstance(target.dom.extent, Var) or analyzer.can_prove_equal(
            bound.extent, target.dom.extent
        ):
            return
        raise self._mismatch(
            f"axis {axis.var.name} has {bound.extent} values inside it, the intrinsic "
            f"declares {target.dom.extent}",
            f"split {axis.var.name} by {target.dom.extent}",
        )

    def _scalar_values(self) -> dict[Var, Expr]:
        """Values of symbolic extents of the intrinsic's reduction."""
        values: dict[Var, Expr] = {}
        declared = self.intrin.op
        assert isinstance(declared, ComputeOp)
        for target, axis in zip(
            reversed(declared.reduce_axis), reversed(self.op.reduce_axis), strict=False
        ):
            assert target.dom is not None
            if isinstance(target.dom.extent, Var):
                values[target.dom.extent] = self.out_ranges[axis].extent
        return values


def _values(body: Expr) -> list[Expr]:
    """The values of a body; for a reduction its values, condition and initial values."""
    if not isinstance(body, Reduce):
        return [body]
    return [*body.source, body.condition, *body.init]


def _reduce_alike(a: Expr, b: Expr) -> bool:
    """Whether two bodies have the same reduction, or both have none."""
    if isinstance(a, Reduce) and isinstance(b, Reduce):
        is_alike = len(a.init) == len(b.init) and a.value_index == b.value_index
        return is_alike and structural_equal(a.combiner, b.combiner)
    return not isinstance(a, Reduce) and not isinstance(b, Reduce)


def _body_text(body: Expr, values: Sequence[Expr]) -> str:
    """A body as text: `a[k] * b[k] reduced by x + y where k < 3`."""
    if not isinstance(body, Reduce):
        return _text(values)
    count = len(body.source)
    text = f"{_text(values[:count])} reduced by {_text(body.combiner.result)}"
    condition, start = values[count], values[count + 1 :]
    text += "" if ops.is_const(condition, 1) else f" where {spelled(condition)}"
    return text + (f" from {_text(start)}" if start else "")


def _simplified(value: Expr, analyzer: Analyzer) -> Expr:
    return _Relative({}, {}, {}, analyzer).visit(value)


def _region_text(tensor: Tensor, region: Sequence[Range]) -> str:
    places = ", ".join([f"{dim_range.min} : +{dim_range.extent}" for dim_range in region])
    return f"{tensor.name}[{places}] {tensor.dtype}"


def _declared_text(tensor: Tensor) -> str:
    return f"{tensor.name}[{_text(tensor.shape)}] {tensor.dtype}"


def _text(values: Sequence[Expr]) -> str:
    return ", ".join(str(value) for value in values)


class _Relative(Mapper):
    """A computation relative to the tensorized region, in the intrinsic's axes."""

    def __init__(
        self,
        remap: dict[Var, Expr],
        tensors: dict[Tensor, Tensor],
        offsets: dict[Tensor, list[Range]],
        analyzer: Analyzer,
    ) -> None:
        self.remap, self.tensors, self.offsets, self.analyzer = remap, tensors, offsets, analyzer

    def visit_Var(self, node: Var) -> Expr:
        return self.remap.get(node, node)

    def visit_ProducerLoad(self, node: ProducerLoad) -> Expr:
        tensor: Tensor = node.producer  # type: ignore[assignment]
        indices = [self.visit(index) for index in node.indices]
        if tensor in self.offsets:
            indices = [
                index - bound.min
                for index, bound in zip(indices, self.offsets[tensor], strict=True)
            ]
            declared = self.tensors[tensor]
            # An intrinsic of fewer dimensions drops leading dimensions of which one index is read.
            indices = indices[len(indices) - len(declared.shape) :]
            tensor = declared
        return ProducerLoad(tensor, tuple([self.analyzer.simplify(index) for index in indices]))
