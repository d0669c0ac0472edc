"""Tensorize: replace the loops from an axis inwards by a tensor intrinsic.

The regions that the replaced loops read and write are found by bound inference, the computation is
compared
with the one that the intrinsic declares, and the intrinsic's buffers are bound to the regions.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.arith import int_set
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import LoweringError
from te_sched.ir import ops
from te_sched.ir.expr import Buffer, Call, Expr, IntImm, IterVar, ProducerLoad, Range, Reduce, Var
from te_sched.ir.stmt import AttrStmt, IfThenElse, Stmt
from te_sched.ir.structural import structural_equal
from te_sched.ir.visitor import Mapper, substitute
from te_sched.lower.bounds import Regions, require_inputs
from te_sched.lower.nests import BindTensors, Nest, NestContext, Wrap, guarded, wrap
from te_sched.lower.provide import first_reduction_level, init_nest, main_nest, wrap_levels
from te_sched.lower.statements import sequence
from te_sched.schedule.relations import Ranges, Sets
from te_sched.schedule.source_locations import At
from te_sched.schedule.stage import Stage
from te_sched.te.operation import ComputeOp
from te_sched.te.tensor import Tensor
from te_sched.te.tensor_intrin import TensorIntrin


def is_tensorized(stage: Stage) -> bool:
    """Whether an axis of the stage carries a tensor intrinsic."""
    return any(attr.tensor_intrin is not None for attr in stage.iter_var_attrs.values())


def provide_tensorized(stage: Stage, scope: NestContext) -> Stmt:
    """The loops outside the tensorized axis, around the statement of the intrinsic."""
    return _Tensorizer(stage, scope).provide()


class _Tensorizer:
    def __init__(self, stage: Stage, scope: NestContext) -> None:
        assert isinstance(stage.op, ComputeOp)
        self.stage, self.op, self.scope = stage, stage.op, scope
        self.point, self.intrin = self._tensorized_axis()
        self.inputs = list(self.op.input_tensors)
        self.out_ranges, self.in_regions = self._regions()
        self.nest = main_nest(stage, scope)
        self.common, self.pure = first_reduction_level(stage, self.op)

    def provide(self) -> Stmt:
        self._check_guards()
        self._check_body()
        scalars = self._scalar_values()
        stage, scope, nest, point = self.stage, self.scope, self.nest, self.point
        if point <= self.common:
            if self.intrin.body is None:
                raise self._error(
                    "the intrinsic has no body", "return the body from the intrinsic's function"
                )
            body = self._bound(self.intrin.body, nest, scalars)
            return wrap_levels(guarded(body, nest.guards), stage, scope, nest, 0, point)
        update = self.intrin.reduce_update
        if update is None:
            raise self._error(
                "a reduction loop is outside of it, but the intrinsic has no reduce_update",
                "return (body, reduce_reset, reduce_update) from the intrinsic's function, "
                "or tensorize an axis outside of all reduction loops",
            )
        if self.intrin.reduce_init is None:
            later = self._is_later_step()
            assert self.intrin.body is not None  # ensured by decl_tensor_intrin
            whole = self._bound_branches(later, self.intrin.body, update, scalars)
            return wrap_levels(whole, stage, scope, nest, 0, point)
        init = init_nest(stage, scope, nest, self.common, self.pure)
        reset = self._bound_outputs(
            BindTensors({}, scope.buffer_of).visit(self.intrin.reduce_init), init
        )
        inner = [wrapper for level in init.levels[: point - self.common] for wrapper in level]
        reset = wrap(guarded(reset, init.guards), inner)
        body = guarded(self._bound(update, nest, scalars), nest.guards)
        body = wrap_levels(body, stage, scope, nest, self.common, point)
        return wrap_levels(sequence([reset, body]), stage, scope, nest, 0, self.common)

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
        given = [
            _region_text(tensor, region)
            for tensor, region in zip(self.inputs, self.in_regions, strict=True)
        ]
        written = [self.out_ranges[axis] for axis in self.op.axis]
        results = [_region_text(tensor, written) for tensor in self.op.outputs]
        declared = [_declared_text(one) for one in self.intrin.inputs]
        outputs = [_declared_text(one) for one in self.intrin.op.outputs]
        return self._error(
            problem,
            help,
            f"{detail}given: {', '.join(given)} -> {', '.join(results)}; "
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
            given = [relative.visit(part) for part in _values(mine)]
            wanted = [_simplified(part, analyzer) for part in _values(theirs)]
            is_alike = len(given) == len(wanted) and all(map(structural_equal, given, wanted))
            if not is_alike or not _reduce_alike(mine, theirs):
                raise self._mismatch(
                    "the loops do not match the computation that the intrinsic declares",
                    "check the axis, the split factors and the order of the operands",
                    f"the loops compute {_body_text(mine, given)}, "
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
            extents = [one.extent for one in region][max(len(region) - len(buffer.shape), 0) :]
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

    def _bound(self, body: Stmt, nest: Nest, scalars: dict[Var, Expr]) -> Stmt:
        """The intrinsic's statement with all its buffers bound."""
        body = self._bound_outputs(substitute(body, scalars), nest)
        count = len(self.intrin.inputs)
        binds = zip(self.intrin.buffers[:count], self.inputs, self.in_regions, strict=True)
        return wrap(body, [self._binding(buffer, t, region, nest) for buffer, t, region in binds])

    def _bound_outputs(self, body: Stmt, nest: Nest) -> Stmt:
        body = self.scope.binding(nest.substitution()).visit(body)
        outputs = self.intrin.buffers[len(self.intrin.inputs) :]
        region = [self.out_ranges[axis] for axis in self.op.axis]
        tensors = [self.op.output(i) for i in range(self.op.num_outputs)]
        binds = zip(outputs, tensors, strict=True)
        return wrap(body, [self._binding(buffer, tensor, region, nest) for buffer, tensor in binds])

    def _binding(self, view: Buffer, tensor: Tensor, region: Sequence[Range], nest: Nest) -> Wrap:
        bind = self.scope.binding(nest.substitution())
        numbers = tuple(
            [bind.visit(part) for bound in region for part in (bound.min, bound.extent)]
        )
        node = (view, self.scope.buffer_of(tensor))
        return lambda body: AttrStmt(
            node, "buffer_bind_scope", Call("handle", "tir.tvm_tuple", numbers), body
        )

    def _is_later_step(self) -> Expr:
        """Whether some reduction loop outside of the intrinsic is past its first iteration."""
        later: Expr | None = None
        for axis in self.nest.axes[self.common : self.point]:
            if axis in self.pure:
                past = ops.less(self.scope.ranges[axis].min, self.nest.values[axis])
                step = Call("bool", "tir.likely", (past,))
                later = step if later is None else ops.logical_or(later, step)
        assert later is not None  # the first axis inside the common levels is one of a reduction
        return later

    def _bound_branches(
        self, later: Expr, body: Stmt, update: Stmt, scalars: dict[Var, Expr]
    ) -> Stmt:
        from_scratch = self._bound(body, self.nest, scalars)
        onto = self._bound(update, self.nest, scalars)
        return guarded(IfThenElse(later, onto, from_scratch), self.nest.guards)


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
    text += "" if ops.is_const(condition, 1) else f" where {condition}"
    return text + (f" from {_text(start)}" if start else "")


def _simplified(value: Expr, analyzer: Analyzer) -> Expr:
    return _Relative({}, {}, {}, analyzer).visit(value)


def _region_text(tensor: Tensor, region: Sequence[Range]) -> str:
    places = ", ".join([f"{one.min} : +{one.extent}" for one in region])
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
