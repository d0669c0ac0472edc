"""Operators that give a tensor another shape: its elements stay, move, repeat or are summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched import te, tir
from te_sched.arith.analyzer import Analyzer
from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Mul
from te_sched.ir.graph import GraphCall, GraphExpr, PrimValue, Tuple
from te_sched.ir.index_map import IndexMap
from te_sched.ir.op import Op
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, size_text
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import sizes_of
from te_sched.relax.emit_te import gen_call_tir_inputs
from te_sched.relax.operators.arguments import Numbers, Shape, Value
from te_sched.relax.operators.calls import machine_call
from te_sched.relax.operators.inference import (
    argument_error,
    common_vdevice,
    shape_of,
    tensor_of,
    tensors_of,
)
from te_sched.relax.operators.layouts import Layout, Order, Plan, axes_in_order, renumbered
from te_sched.relax.operators.legalization import TEFunc, topi, topi_function
from te_sched.relax.operators.registry import FOLLOWS, Rewrite, declare, make_call
from te_sched.relax.operators.sizes import (
    as_axes,
    as_shape,
    axes_of,
    check_equal,
    known_sizes,
    product,
    shape_argument,
    shaped,
    sized,
    unknown,
)
from te_sched.tir.index_map import IndexMap as _make_index_map


def _shape_rule(te_func: TEFunc, name: str) -> Rewrite:
    """The rule of an operator of a tensor and a shape, which may be that of another tensor."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        return builder.call_te(
            te_func, call.args[0], sizes_of(call.struct_info), primfunc_name_hint=name
        )

    return legalize


def broadcast_to(x: Value, shape: Shape) -> GraphCall:
    """The tensor with dimensions of size 1 repeated, and new dimensions in front."""
    return make_call("relax.broadcast_to", [x, as_shape(shape)])


def _infer_broadcast_to(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, target = tensor_of(call, 0), shape_argument(call, 1)
    if -1 not in (data.ndim, target.ndim) and data.ndim > target.ndim:
        raise argument_error(call, 1, f"a shape of at least {data.ndim} sizes")
    sizes = known_sizes(data)
    if sizes is not None and target.values is not None:
        _check_broadcast(call, builder, sizes, target.values)
    return shaped(data, call.args[1])


def _check_broadcast(call: GraphCall, builder: BlockBuilder, sizes: Any, target: Any) -> None:
    for size, wanted in zip(reversed(sizes), reversed(target), strict=False):
        is_open = ops.is_const(size if isinstance(size, IntImm) else wanted, 1)
        if not is_open:
            check_equal(call, builder, size, wanted, "the sizes")


declare(
    "relax.broadcast_to",
    _infer_broadcast_to,
    mixed_precision=FOLLOWS,
    legalize=_shape_rule(topi_function("broadcast_to"), "broadcast_to"),
)

# Reshapes


def reshape(x: Value, shape: Shape) -> GraphCall:
    """The tensor with other sizes and the same elements.

    A size 0 is that of the tensor at the same place, one size -1 is what remains.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([2, 3, 4], "float32"))
    >>> reshape(x, (0, -1)).args[1]
    R.shape([2, 12])
    """
    return make_call("relax.reshape", [x, _resolved(x, as_shape(shape))])


def _resolved(x: Any, shape: Any) -> Any:
    """A shape without the sizes 0 and -1."""
    if not isinstance(shape, ShapeExpr):
        return shape
    values = list(shape.values)
    if any(isinstance(value, IntImm) and value.value < -1 for value in values):
        raise GraphError(
            f"shape {shape} has a negative size", "only -1 has a meaning", "give sizes"
        )
    rest = [at for at, value in enumerate(values) if ops.is_const(value, -1)]
    kept = [at for at, value in enumerate(values) if ops.is_const(value, 0)]
    if len(rest) > 1:
        raise GraphError(f"shape {shape} has several sizes -1", "", "give at most one size -1")
    if not rest and not kept:
        return shape
    info = getattr(x, "struct_info_", None)
    sizes = known_sizes(info) if isinstance(info, TensorStructInfo) else None
    if sizes is None:
        raise GraphError(
            f"shape {shape} has a size 0 or -1, but the shape of the tensor is not known",
            f"the tensor is {info}",
            "match its shape first: builder.match_cast(value, struct_info)",
        )
    for at in kept:
        if at >= len(sizes):
            raise GraphError(
                f"shape {shape} has a size 0 at place {at}, the tensor has {len(sizes)} dimensions",
                f"the tensor is {info}",
                "give the size",
            )
        values[at] = sizes[at]
    if rest:
        others = [value for at, value in enumerate(values) if at != rest[0]]
        values[rest[0]] = _quotient(list(sizes), others)
    return ShapeExpr(tuple(values))


def _quotient(sizes: Sequence[Expr], others: Sequence[Expr]) -> Expr:
    """A product by another one; equal factors are cancelled."""
    upper, lower = _factors(sizes), []
    for factor in _factors(others):
        at = next((at for at, other in enumerate(upper) if _is_same(factor, other)), None)
        if at is None:
            lower.append(factor)
        else:
            del upper[at]
    return ops.floordiv(product(upper), product(lower))


def _factors(sizes: Sequence[Expr]) -> list[Expr]:
    factors: list[Any] = []
    for factor in sizes:
        factors += _factors([factor.a, factor.b]) if isinstance(factor, Mul) else [factor]
    number = 1
    for factor in factors:
        number *= factor.value if isinstance(factor, IntImm) else 1
    symbols = [term for term in factors if not isinstance(term, IntImm)]
    return symbols if number == 1 else [ops.const(number, "int64"), *symbols]


def _is_same(factor: object, other: object) -> bool:
    return factor is other or (
        isinstance(factor, IntImm) and isinstance(other, IntImm) and factor.value == other.value
    )


def _infer_reshape(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    if len(call.args) != 2:
        raise GraphError(
            f"{call.op} is called with {len(call.args)} arguments",
            "it takes a tensor and a shape",
            "give both",
        )
    data, target = tensor_of(call, 0), shape_argument(call, 1)
    sizes = known_sizes(data)
    if sizes is not None and target.values is not None:
        check_equal(
            call, builder, product(sizes), product(target.values), "the numbers of elements"
        )
    shape = call.args[1] if target.values is None else ShapeExpr(target.values)
    return shaped(data, shape)


declare(
    "relax.reshape",
    _infer_reshape,
    mixed_precision=FOLLOWS,
    legalize=_shape_rule(topi_function("reshape"), "reshape"),
    lower=machine_call("vm.builtin.reshape"),
    is_alias=True,
)


def flatten(x: Value) -> GraphCall:
    """The tensor as one of one dimension."""
    return make_call("relax.flatten", [x])


def _infer_flatten(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data = tensor_of(call, 0)
    if data.ndim == 0:
        return sized(data, [1])
    if data.ndim == 1:
        return data
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, 1)
    return sized(data, [builder.analyzer.simplify(product(sizes))])


declare(
    "relax.flatten",
    _infer_flatten,
    mixed_precision=FOLLOWS,
    legalize=_shape_rule(topi_function("reshape"), "reshape"),
)


def expand_dims(x: Value, axis: Numbers) -> GraphCall:
    """The tensor with new dimensions of size 1, at the places `axis` of the result."""
    return make_call("relax.expand_dims", [x], axis=as_axes(axis))


def _infer_expand_dims(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, axes = tensor_of(call, 0), call.attrs.axis
    if not axes:
        return data
    if data.ndim == -1:
        return unknown(data)
    ndim = data.ndim + len(axes)
    places = axes_of(call, axes, ndim)
    sizes = shape_of(data)
    if sizes is None:
        return unknown(data, ndim)
    left = iter(sizes)
    return sized(data, [1 if at in places else next(left) for at in range(ndim)])


def _legalize_expand_dims(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    ndim = call.struct_info.ndim  # type: ignore[attr-defined]
    axes = {int(axis) % ndim for axis in call.attrs.axis}

    def te_expand_dims(data: te.Tensor) -> te.Tensor:
        left = iter(data.shape)
        shape = [1 if at in axes else next(left) for at in range(ndim)]
        return te.compute(
            shape,
            lambda *i: data(*[index for at, index in enumerate(i) if at not in axes]),
            name="expand_dims",
        )

    return builder.call_te(te_expand_dims, call.args[0], primfunc_name_hint="expand_dims")


def _layout_of_expand_dims(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    ndim = len(order) + len(call.attrs.axis)
    new = {int(axis) % ndim for axis in call.attrs.axis}
    old = [at for at in range(ndim) if at not in new]
    left = iter(order)
    new_order = tuple([at if at in new else old[next(left)] for at in range(ndim)])
    return Plan({0: order}, new_order)


declare(
    "relax.expand_dims",
    _infer_expand_dims,
    mixed_precision=FOLLOWS,
    legalize=_legalize_expand_dims,
    layout=Layout(_layout_of_expand_dims),
)


def squeeze(x: Value, axis: Numbers | None = None) -> GraphCall:
    """The tensor without dimensions of size 1: those of `axis`, or all of them."""
    return make_call("relax.squeeze", [x], axis=as_axes(axis))


def _infer_squeeze(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, axes = tensor_of(call, 0), call.attrs.axis
    if axes is not None and not axes:
        return data
    sizes = known_sizes(data)
    if axes is None:
        return _infer_squeeze_all(call, data, sizes)
    if data.ndim == -1:
        return unknown(data)
    places = axes_of(call, axes, data.ndim)
    for at, size in enumerate(sizes or ()):
        if at in places:
            check_equal(call, builder, size, ops.const(1, "int64"), "the squeezed size and 1")
    if not isinstance(data.shape, ShapeExpr) or sizes is None:
        return unknown(data, data.ndim - len(places))
    return sized(data, [extent for at, extent in enumerate(sizes) if at not in places])


def _infer_squeeze_all(call: GraphCall, data: TensorStructInfo, sizes: Any) -> StructInfo:
    if sizes is None or not all(isinstance(size, IntImm) for size in sizes):
        return unknown(data)
    left = [size for size in sizes if not ops.is_const(size, 1)]
    if len(left) == len(sizes):
        return data
    return sized(data, left) if isinstance(data.shape, ShapeExpr) else unknown(data)


def _legalize_squeeze(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    axes = call.attrs.axis
    return builder.call_te(topi.squeeze, call.args[0], None if axes is None else list(axes))


def _layout_of_squeeze(call: GraphCall, orders: list[Order]) -> Plan | None:
    order, info = orders[0], call.args[0].struct_info
    if call.attrs.axis is None:
        if not isinstance(info.shape, ShapeExpr):
            return None
        sizes = info.shape.values
        axes = [at for at, axis in enumerate(order) if ops.is_const(sizes[axis], 1)]
    else:
        axes = axes_in_order(call, "axis", order)
    left = [axis for at, axis in enumerate(order) if at not in axes]
    return Plan({0: order}, renumbered(left), {"axis": tuple(axes)})


declare(
    "relax.squeeze",
    _infer_squeeze,
    mixed_precision=FOLLOWS,
    legalize=_legalize_squeeze,
    layout=Layout(_layout_of_squeeze),
)

# Orders of dimensions and elements


def permute_dims(x: Value, axes: Numbers | None = None) -> GraphCall:
    """The tensor with its dimensions in another order; by default reversed."""
    return make_call("relax.permute_dims", [x], axes=as_axes(axes))


def _infer_permute_dims(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, axes = tensor_of(call, 0), call.attrs.axes
    if axes is None:
        if data.ndim == -1:
            return unknown(data)
        axes = range(data.ndim)[::-1]
    elif data.ndim == -1:
        raise argument_error(call, 0, "a tensor of a known number of dimensions")
    elif data.ndim != len(axes):
        raise GraphError(
            f"{call.op} has {len(axes)} axes, the tensor has {data.ndim} dimensions",
            f"the tensor is {data}",
            "give each axis once",
        )
    places = axes_of(call, axes, len(axes))
    if places == sorted(places):
        return data
    sizes = shape_of(data)
    return unknown(data, len(axes)) if sizes is None else sized(data, [sizes[at] for at in places])


def _legalize_permute_dims(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    axes = call.attrs.axes
    return builder.call_te(topi.transpose, call.args[0], None if axes is None else list(axes))


def _layout_of_permute_dims(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    axes = call.attrs.axes or tuple(range(len(order)))[::-1]
    places = [order.index(int(axis) % len(order)) for axis in axes]
    return Plan({0: order}, None, {"axes": tuple(places)})


declare(
    "relax.permute_dims",
    _infer_permute_dims,
    mixed_precision=FOLLOWS,
    legalize=_legalize_permute_dims,
    layout=Layout(_layout_of_permute_dims, numbers_axes=True),
)


def layout_transform(
    x: Value,
    index_map: Callable[..., Any] | IndexMap,
    pad_value: Value | None = None,
    axis_separators: Any = None,
    input_axis_separators: Any = None,
) -> GraphCall:
    """The tensor with its elements at other places.

    Parameters
    ----------
    index_map : the new indices, as a function of the old ones.
    pad_value : the elements that have no old index; by default they are not defined: passes may
        rely on that, `LegalizeOps` makes them 0.
    axis_separators : the dimensions of the result before which the index into memory is split.
    input_axis_separators : those of the tensor.
    """
    if callable(index_map):
        index_map = _make_index_map.from_func(index_map, index_dtype="int64")
    if pad_value is not None and not isinstance(pad_value, PrimValue):
        pad_value = _padding(x, pad_value)
    return make_call(
        "relax.layout_transform",
        [x],
        index_map=index_map,
        pad_value=pad_value,
        axis_separators=as_axes(axis_separators or ()),
        input_axis_separators=as_axes(input_axis_separators or ()),
    )


def _padding(x: Any, value: Any) -> PrimValue:
    """A number with the dtype of a tensor, if it is one of that kind."""
    info = getattr(x, "struct_info_", None)
    dtype = info.dtype if isinstance(info, TensorStructInfo) else ""
    if isinstance(value, int) and (not dtype or "int" in dtype or "float" in dtype):
        return PrimValue(ops.const(value, dtype or "int64"))
    if isinstance(value, float) and (not dtype or "float" in dtype):
        return PrimValue(ops.const(value, dtype or "float32"))
    raise GraphError(
        f"pad_value is {repr_of(value)}, expected a number of {dtype}",
        f"it is {kind_of(value)}",
        "give a number of the dtype of the tensor",
    )


def _infer_layout_transform(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, index_map = tensor_of(call, 0), call.attrs.index_map
    value = call.attrs.pad_value
    if value is not None and data.dtype and value.value.dtype != data.dtype:
        raise GraphError(
            f"pad_value {value.value} of {call.op} has dtype {value.value.dtype}, "
            f"expected {data.dtype}",
            f"the tensor is {data}",
            "give a value of the dtype of the tensor",
        )
    if data.ndim not in (-1, len(index_map.initial_indices)):
        raise GraphError(
            f"the index map of {call.op} takes {len(index_map.initial_indices)} indices, "
            f"the tensor has {data.ndim} dimensions",
            f"the tensor is {data}",
            "give a map of as many indices as the tensor has dimensions",
        )
    sizes = known_sizes(data)
    if sizes is None:
        return unknown(data, len(index_map.final_indices))
    return sized(data, [builder.analyzer.simplify(size) for size in index_map.map_shape(sizes)])


def _legalize_layout_transform(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs, data = call.attrs, call.args[0]
    value = ops.const(0, data.struct_info.dtype)
    if attrs.pad_value is not None:
        value = attrs.pad_value.value
    _, is_padding = attrs.index_map.non_surjective_inverse(data.struct_info.shape.values)
    is_exact = Analyzer().can_prove(ops.logical_not(is_padding))
    name = "te_layout_transform"
    name += "" if is_exact else "_with_pad"
    name += "_axis_separator" if attrs.axis_separators else ""

    def copied(tensor: Any) -> Any:
        return te.compute(tensor.shape, lambda *i: tensor(*i), name=name)

    func, inputs, _, _ = gen_call_tir_inputs(copied, data)
    schedule: Any = tir.Schedule(func)
    padding = None if is_exact else value
    schedule.transform_layout(name, ("write", 0), attrs.index_map, padding)
    if attrs.axis_separators:
        schedule.set_axis_separator(name, ("write", 0), list(attrs.axis_separators))
    if attrs.input_axis_separators:
        schedule.set_axis_separator(name, ("read", 0), list(attrs.input_axis_separators))
    function = schedule.mod["main"].without_attr("global_symbol")
    return GraphCall(
        Op.get("relax.call_tir"),
        (builder.add_func(function, name), Tuple(tuple(inputs))),
        None,
        (call.struct_info,),
    )


declare(
    "relax.layout_transform",
    _infer_layout_transform,
    mixed_precision=FOLLOWS,
    legalize=_legalize_layout_transform,
)

# Sums over broadcast dimensions


def collapse_sum_like(data: Value, collapse_target: Value) -> GraphCall:
    """The sum over the dimensions along which a tensor like `collapse_target` was broadcast."""
    return make_call("relax.collapse_sum_like", [data, collapse_target])


def _infer_collapse_sum_like(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, target = tensors_of(call, 2)
    vdevice = common_vdevice(call, [data, target])
    _check_collapse(call, builder, data, known_sizes(target), target.ndim)
    return TensorStructInfo(
        target.shape, data.dtype, vdevice, -1 if target.shape is not None else target.ndim
    )


def collapse_sum_to(data: Value, shape: Shape) -> GraphCall:
    """The sum over the dimensions along which a tensor of a shape was broadcast."""
    return make_call("relax.collapse_sum_to", [data, as_shape(shape)])


def _infer_collapse_sum_to(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, target = tensor_of(call, 0), shape_argument(call, 1)
    _check_collapse(call, builder, data, target.values, target.ndim)
    return shaped(data, call.args[1])


def _check_collapse(
    call: GraphCall, builder: BlockBuilder, data: TensorStructInfo, target: Any, ndim: int
) -> None:
    if -1 not in (data.ndim, ndim) and data.ndim < ndim:
        raise argument_error(call, 1, f"at most {data.ndim} dimensions")
    sizes = known_sizes(data)
    if sizes is None or target is None:
        return
    for size, wanted in zip(reversed(sizes), reversed(target), strict=False):
        if not ops.is_const(wanted, 1) and not builder.analyzer.can_prove_equal(size, wanted):
            raise argument_error(
                call, 1, f"the size {size_text(size)} or 1 instead of {size_text(wanted)}"
            )


def _legalize_collapse_sum(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    sizes = sizes_of(call.struct_info) or ()
    shape = [size.value if isinstance(size, IntImm) else size for size in sizes]
    return builder.call_te(
        topi.collapse_sum, call.args[0], shape, primfunc_name_hint="collapse_sum"
    )


declare("relax.collapse_sum_like", _infer_collapse_sum_like, legalize=_legalize_collapse_sum)
declare("relax.collapse_sum_to", _infer_collapse_sum_to, legalize=_legalize_collapse_sum)
