"""Slices of tensors, of bounds that are numbers or tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr, IntImm, Var
from te_sched.ir.graph import ExternFunc, GraphCall, GraphExpr, PrimValue, Tuple
from te_sched.ir.op import Op
from te_sched.ir.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.lazy_loading import lazy_function
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.core.sizes import constant_sizes
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import (
    argument_error,
    number,
    shape_of,
    tensor_of,
    tensors_of,
)
from te_sched.relax.operators.layouts import Layout, Order, Plan
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.registry import FOLLOWS, declare, make_call
from te_sched.relax.operators.sizes import axes_of, known_sizes
from te_sched.signatures import is_sequence

if TYPE_CHECKING:
    from te_sched.topi.slices import cut
else:
    cut = lazy_function("te_sched.topi.slices:cut")


def strided_slice(
    x: Value,
    axes: Numbers,
    begin: Numbers,
    end: Numbers,
    strides: Numbers | None = None,
    assume_inbound: bool = False,
) -> GraphCall:
    """The slices begin:end:stride along axes, as in numpy.

    Parameters
    ----------
    axes, begin, end, strides : numbers for each axis that is sliced; the strides are 1 by default.
    assume_inbound : promises 0 <= begin <= end <= size for bounds that are not constants.
    """
    arguments = {"axes": axes, "begin": begin, "end": end, "strides": strides}
    operands = {
        name: _numbers(value)
        for name, value in arguments.items()
        if value is not None or name != "strides"
    }
    axis_tuple = operands["axes"]
    for name, operand in operands.items():
        if (
            isinstance(operand, Tuple)
            and isinstance(axis_tuple, Tuple)
            and len(operand) != len(axis_tuple)
        ):
            raise GraphError(
                f"strided_slice has {len(axis_tuple)} axes and {len(operand)} {name}",
                "",
                "give a number for each axis",
            )
    return make_call(
        "relax.strided_slice", [x, *operands.values()], assume_inbound=bool(assume_inbound)
    )


def _numbers(values: Any) -> Any:
    return Tuple(tuple([number(value) for value in values])) if is_sequence(values) else values


def _infer_strided_slice(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    axes, begin, end, strides = _bounds_of(call)
    if info.ndim == -1:
        return TensorStructInfo(None if axes else info.shape, info.dtype, info.vdevice)
    places = axes_of(call, axes, info.ndim)
    sizes = known_sizes(info)
    if sizes is None:
        return TensorStructInfo(None if axes else info.shape, info.dtype, info.vdevice, info.ndim)
    left = list(sizes)
    for at, first, last, step in zip(places, begin, end, strides, strict=True):
        left[at] = cut(first, last, step, sizes[at], call.attrs.assume_inbound, builder.analyzer)[1]
    return TensorStructInfo(
        ShapeExpr(tuple([ops.cast("int64", ops.convert(size)) for size in left])),
        info.dtype,
        info.vdevice,
    )


def _bounds_of(call: GraphCall) -> tuple[list[int], list[Any], list[Any], list[Any]]:
    """The axes, begins, ends and strides of a call of `strided_slice`."""
    axes, begin, end, *rest = [_values_of(call, index) for index in range(1, len(call.args))]
    if not all(isinstance(axis, IntImm) for axis in axes):
        raise argument_error(call, 1, "axes that are constants")
    strides = rest[0] if rest else [ops.const(1, "int64")] * len(axes)
    if not len(axes) == len(begin) == len(end) == len(strides):
        raise argument_error(call, 2, f"{len(axes)} numbers, one for each axis")
    return [axis.value for axis in axes], begin, end, strides


def _values_of(call: GraphCall, index: int) -> list[Any]:
    """The numbers of an argument that is a tuple or a shape, as expressions of int64."""
    info = call.args[index].struct_info
    values: Sequence[Any] | None = None
    if isinstance(info, ShapeStructInfo):
        values = info.values
    elif isinstance(info, TupleStructInfo):
        values = [getattr(field, "value", None) for field in info.fields]
        if not all(isinstance(field, PrimStructInfo) for field in info.fields):
            values = None
    if values is None or any(value is None for value in values):
        raise argument_error(call, index, "a tuple of numbers of known values")
    return [ops.cast("int64", value) for value in values]


def _legalize_strided_slice(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    axes, begin, end, strides = _bounds_of(call)
    return builder.call_te(
        topi.strided_slice,
        call.args[0],
        begin,
        end,
        strides,
        axes,
        "end",
        call.attrs.assume_inbound,
    )


def _layout_of_slice(call: GraphCall, orders: list[Order]) -> Plan | None:
    order, axes = orders[0], call.args[1]
    if not isinstance(axes, Tuple):
        return None
    numbers = constant_sizes([field.value for field in axes.fields if isinstance(field, PrimValue)])
    if numbers is None or len(numbers) < len(axes.fields):
        return None
    places = [order.index(at % len(order)) for at in numbers]
    moved = Tuple(tuple([PrimValue(ops.const(axis, "int64")) for axis in places]))
    return Plan({0: order}, order, args={1: moved})


declare(
    "relax.strided_slice",
    _infer_strided_slice,
    mixed_precision=FOLLOWS,
    legalize=_legalize_strided_slice,
    layout=Layout(_layout_of_slice),
)


def dynamic_strided_slice(x: Value, begin: Numbers, end: Numbers, strides: Numbers) -> GraphCall:
    """The slices begin:end:stride along all axes, of bounds that are tensors of int64."""
    return make_call("relax.dynamic_strided_slice", [x, begin, end, strides])


def _infer_dynamic_strided_slice(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info, *bounds = tensors_of(call, 4)
    for index, bound in enumerate(bounds, 1):
        if bound.dtype not in ("", "int64"):
            raise argument_error(call, index, "a tensor of int64")
        sizes = shape_of(bound)
        is_wrong = (
            sizes is not None
            and info.ndim != -1
            and (len(sizes) != 1 or builder.analyzer.can_prove(ops.not_equal(sizes[0], info.ndim)))
        )
        if bound.ndim not in (-1, 1) or is_wrong:
            raise argument_error(call, index, "a tensor of one number for each dimension")
    return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)


def _legalize_dynamic_strided_slice(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """The sizes are computed first, then matched, then the elements are read."""
    info = call.args[0].struct_info
    ndim = ShapeStructInfo(None, info.ndim)
    sizes = builder.emit(builder.call_te(_slice_sizes, *call.args, primfunc_name_hint="shape_func"))
    packed = GraphCall(
        Op.get("relax.call_pure_packed"),
        (ExternFunc("vm.builtin.tensor_to_shape"), sizes),
        None,
        (ndim,),
    )
    shape = builder.emit(packed)
    variables = [Var("s", "int64") for _ in range(info.ndim)]
    builder.match_cast(shape, ShapeStructInfo(tuple(variables)))
    new_call = builder.call_te(
        _slice_elements,
        *call.args,
        variables,
        primfunc_name_hint="dynamic_strided_slice",
    )
    return GraphCall(
        new_call.op,
        new_call.args[:2],
        new_call.attrs,
        (TensorStructInfo(ShapeExpr(tuple(variables)), info.dtype, info.vdevice),),
    )


def _bound(value: Any, extent: Any, stride: Any) -> Expr:
    """A bound as numpy moves it, for a stride of either direction."""
    moved = te.select(value < 0, value + extent, value)
    down = ops.minimum(ops.maximum(moved, -1), extent - 1)
    up = ops.minimum(ops.maximum(moved, 0), extent)
    return te.select(stride < 0, down, up)


def _slice_sizes(
    data: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor
) -> te.Tensor:
    def size(i: Expr) -> Expr:
        extent: Any = ops.const(-1, "int64")
        for at, dim in enumerate(data.shape):
            extent = te.select(i == at, ops.cast("int64", dim), extent)
        step = strides[i]
        first, last = _bound(begin[i], extent, step), _bound(end[i], extent, step)
        down = ops.floordiv(first - last - step - 1, ops.multiply(step, -1))
        up = ops.floordiv(last - first + step - 1, step)
        size = ops.maximum(te.select(step < 0, down, up), 0)
        return te.select(ops.equal(step, 0), -1, size)  # which no shape has

    return te.compute((data.ndim,), size, name="T_shape_func_strided_slice_dynamic")


def _slice_elements(data: Any, begin: Any, end: Any, strides: Any, sizes: Any) -> Any:
    del end

    def element(*i: Expr) -> Any:
        return data(
            *[
                _bound(begin[at], extent, strides[at]) + index * strides[at]
                for at, (index, extent) in enumerate(zip(i, data.shape, strict=True))
            ]
        )

    return topi.utils.tensor_of(sizes, element, "T_strided_slice_dynamic")


declare(
    "relax.dynamic_strided_slice",
    _infer_dynamic_strided_slice,
    legalize=_legalize_dynamic_strided_slice,
    is_data_dependent=True,
)
