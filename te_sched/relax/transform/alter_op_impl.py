"""AlterOpImpl: functions of blocks are replaced by others, with other layouts of their buffers.

    y = R.call_tir(cls.add, (x, x), out_sinfo=R.Tensor((16,), "float32"))

becomes, with a function for the layout `lambda i: (i // 4, i % 4)` of all three buffers,

    lv = R.layout_transform(x, index_map=lambda i: (i // 4, i % 4))
    lv1 = R.layout_transform(x, index_map=lambda i: (i // 4, i % 4))
    lv2 = R.call_tir(cls.relax_add_replacement, (lv, lv1), out_sinfo=R.Tensor((4, 4), "float32"))
    y = R.layout_transform(lv2, index_map=lambda axis0, axis1: (axis0 * 4 + axis1,))

A layout with padding is followed by a call of a function that removes the padding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from te_sched import te
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import GraphError, counted, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import GraphCall, GraphExpr, GraphFunction, Tuple, TupleGetItem
from te_sched.ir.index_map import IndexMap
from te_sched.ir.op import Op
from te_sched.ir.stmt import GlobalVar, IRModule, PrimFunc
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.lowering.prim_func import create_prim_func
from te_sched.passes import ModulePass
from te_sched.relax.expr_functor import PyExprMutator, map_call
from te_sched.relax.operators.reshaping import layout_transform
from te_sched.tir.index_map import IndexMap as _make_index_map

OPERATOR_NAME = "operator_name"  # the attribute by which functions are found
REMOVE_PAD = "remove_pad"
_CALL = Op.get("relax.call_tir")
Separators = Sequence[Sequence[int]]  # of the axes of each buffer


class _Implementation(NamedTuple):
    """What replaces the functions of an operator, and the layouts of their buffers."""

    func: PrimFunc
    layouts: tuple[IndexMap | None, ...]
    separators: Sequence[Sequence[int]] | None
    input_separators: Separators | None


class AlterOpImpl(ModulePass):
    """The pass that replaces functions of blocks by their attribute "operator_name".

    Parameters
    ----------
    op_impl_map : the new function by the name of the operator.
    op_buffer_transforms : the new layout of each buffer: an index map or a function of indices, or
        None if it stays. An empty list: all stay.
    op_buffer_axis_separators : the axis separators of each result of `R.layout_transform`.
    op_buffer_input_axis_separators : those of what it transforms.

    Raises
    ------
    GraphError if the number of layouts is not that of the buffers, or a layout has no inverse.

    >>> from te_sched import relax, te, topi
    >>> x = relax.Var("x", relax.TensorStructInfo([16], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     attrs = {"operator_name": "relax.exp"}
    ...     gv = builder.emit_func_output(builder.emit_te(topi.exp, x, primfunc_attrs=attrs))
    >>> tiles = te.placeholder((4, 4), name="tiles")
    >>> func = te.create_prim_func([tiles, topi.exp(tiles)])
    >>> layout = lambda i: (i // 4, i % 4)
    >>> altered = AlterOpImpl({"relax.exp": func}, {"relax.exp": [layout] * 2})(builder.get())
    >>> [one.value.op for one in altered["main"].body.blocks[0].bindings]
    ['relax.layout_transform', 'relax.call_tir', 'relax.layout_transform']
    """

    def __init__(
        self,
        op_impl_map: Mapping[str, PrimFunc],
        op_buffer_transforms: Mapping[str, Sequence[object]],
        op_buffer_axis_separators: Mapping[str, Separators] | None = None,
        op_buffer_input_axis_separators: Mapping[str, Separators] | None = None,
    ) -> None:
        separators = op_buffer_axis_separators or {}
        input_separators = op_buffer_input_axis_separators or {}
        self.implementations = {
            name: _Implementation(
                func.without_attr("global_symbol").with_attr(OPERATOR_NAME, name),
                tuple(
                    [
                        _index_map(transform, name)
                        for transform in op_buffer_transforms.get(name) or ()
                    ]
                ),
                separators.get(name),
                input_separators.get(name),
            )
            for name, func in op_impl_map.items()
        }

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        altering = _Altering(mod, self.implementations)
        for name, func in mod.functions.items():
            if isinstance(func, GraphFunction):
                new = altering.visit_expr(func)
                if new is not func:
                    altering.builder_.update_func(name, new)
        return altering.builder_.finalize()


def _index_map(layout: object, name: str) -> IndexMap | None:
    """The map of a layout; a map with separators is one, too."""
    if isinstance(layout, tuple | list) and len(layout) == 2:
        layout = layout[0]
    if layout is None or isinstance(layout, IndexMap):
        return layout
    if callable(layout):
        return _make_index_map.from_func(layout, index_dtype="int64")
    raise GraphError(
        f"a layout of operator {name} is {repr_of(layout)}",
        f"it is {kind_of(layout)}",
        "give an index map or a function of indices, or None if the layout stays",
    )


class _Altering(PyExprMutator):
    """Calls the new functions."""

    def __init__(self, mod: IRModule, implementations: Mapping[str, _Implementation]) -> None:
        super().__init__(mod)
        self._mod, self._known = mod, implementations
        self._added: dict[str, GlobalVar] = {}
        self._without_pad: dict[int, GlobalVar] = {}  # by the number of dimensions

    def visit_call_(self, op: GraphCall) -> GraphExpr:
        """The call of the new function, between changes of layouts."""
        call = map_call(self, op)
        if call.op != "relax.call_tir" or not isinstance(call.args[1], Tuple):
            return call
        func = self._mod.functions.get(call.args[0])
        name = func.attrs.get(OPERATOR_NAME) if isinstance(func, PrimFunc) else None
        new = self._known.get(str(name)) if name is not None else None
        if new is None:
            return call
        inputs = call.args[1].fields
        info = call.sinfo_args[0]
        outputs = info.fields if isinstance(info, TupleStructInfo) else (info,)
        _check_count(str(name), new, len(inputs) + len(outputs))
        places = range(len(inputs))
        args = [self._to(new, at, arg) for at, arg in zip(places, inputs, strict=True)]
        infos = [self._info_of(new, len(inputs) + at, info) for at, info in enumerate(outputs)]
        function = self._replacement(str(name), new.func)
        is_tuple = isinstance(info, TupleStructInfo)
        result = TupleStructInfo(tuple(infos)) if is_tuple else infos[0]
        new_call = GraphCall(_CALL, (function, Tuple(tuple(args)), *call.args[2:]), None, (result,))
        return self._back(new, len(inputs), new_call, info)

    def _replacement(self, name: str, func: PrimFunc) -> GlobalVar:
        if name not in self._added:
            hint = name.replace(".", "_") + "_replacement"
            self._added[name] = self.builder_.add_func(func, hint)
        return self._added[name]

    def _to(self, new: _Implementation, index: int, value: GraphExpr) -> GraphExpr:
        """An argument in the layout of the new function."""
        layout = new.layouts[index] if new.layouts else None
        if layout is None:
            return value
        return self.builder_.emit(self._laid_out(new, index, value, layout))

    def _laid_out(
        self, new: _Implementation, index: int, value: GraphExpr, layout: IndexMap
    ) -> GraphCall:
        separators, inputs = [
            separators[index] if separators else None
            for separators in (new.separators, new.input_separators)
        ]
        return layout_transform(value, layout, None, separators, inputs)

    def _info_of(self, new: _Implementation, index: int, info: StructInfo) -> StructInfo:
        """What is known of a result in the layout of the new function."""
        layout = new.layouts[index] if new.layouts else None
        if layout is None:
            return info
        tensor, shape = _tensor_of(info)
        sizes = layout.map_shape(shape)
        return TensorStructInfo(ShapeExpr(tuple(sizes)), tensor.dtype, tensor.vdevice)

    def _back(
        self, new: _Implementation, count: int, call: GraphCall, info: StructInfo
    ) -> GraphExpr:
        """The results in the layout that they had."""
        layouts = new.layouts[count:]
        if not any(layout is not None for layout in layouts):
            return call
        var = self.builder_.emit(call)
        if not isinstance(info, TupleStructInfo):
            return self._result(new, count, var, info)
        fields = []
        for at, field in enumerate(info.fields):
            item = self.builder_.emit(TupleGetItem(var, at))
            fields.append(self.builder_.emit(self._result(new, count + at, item, field)))
        return Tuple(tuple(fields))

    def _result(
        self, new: _Implementation, index: int, value: GraphExpr, info: StructInfo
    ) -> GraphExpr:
        layout = new.layouts[index]
        if layout is None:
            return value
        _, shape = _tensor_of(info)
        inverse, padding = layout.non_surjective_inverse(shape)
        result = self._laid_out(new, index, value, inverse)
        if Analyzer().can_prove(ops.logical_not(padding)):
            return result
        if len(shape) not in self._without_pad:
            func = _remove_pad(len(shape))
            self._without_pad[len(shape)] = self.builder_.add_func(func, REMOVE_PAD)
        args = (self._without_pad[len(shape)], Tuple((self.builder_.emit(result),)))
        return GraphCall(_CALL, args, None, (info,))


def _tensor_of(info: StructInfo) -> tuple[TensorStructInfo, tuple[Expr, ...]]:
    """What is known of a result, and its sizes."""
    if isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr):
        return info, info.shape.values
    raise GraphError(
        f"the layout of a result is changed, which is {info}",
        "its sizes must be known",
        "give the shape of the result: out_sinfo=R.Tensor((n, 4), dtype)",
    )


def _check_count(name: str, new: _Implementation, count: int) -> None:
    for what, values in (
        ("layouts", new.layouts),
        ("axis separators", new.separators),
        ("input axis separators", new.input_separators),
    ):
        if values and len(values) != count:
            raise GraphError(
                f"operator {name} has {len(values)} {what} for "
                f"{counted(count, 'buffer', 'buffers')}",
                "the call has as many arguments and results",
                "give one for each of them, None where nothing changes",
            )


def _remove_pad(rank: int) -> PrimFunc:
    """The function that copies the first elements of each dimension."""
    inner = [Var(f"p{at}", "int64") for at in range(rank)]
    outer = [Var(f"i{at}", "int64") for at in range(rank)]
    source = te.placeholder(inner, name="input")
    copied = te.compute(outer, lambda *indices: source(*indices), name="output")
    func = create_prim_func([source, copied], index_dtype_override="int64")
    return func.without_attr("global_symbol").with_attr(OPERATOR_NAME, REMOVE_PAD)
