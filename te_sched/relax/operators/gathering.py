"""Gathers and scatters: elements at places that tensors hold."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import Constant, GraphCall, GraphExpr, PrimValue, as_expr
from te_sched.ir.struct_info import PrimStructInfo, ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import (
    argument_error,
    as_int,
    check_indices,
    common_dtype,
    common_vdevice,
    operand_of,
    shape_of,
    tensor_of,
    tensors_of,
)
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import (
    axis_of,
    check_at_least,
    check_equal,
    given_sizes,
    sized,
    unknown,
)


def take(x: Value, indices: Value, axis: int | None = None) -> GraphCall:
    """The elements of `x` at indices along an axis; `x` of one dimension may go without it.

    The dimensions of `indices`, which may be a number, take the place of the axis.
    """
    along = None if axis is None else as_int(axis, "axis")
    return make_call("relax.take", [x, indices], axis=along)


def _infer_take(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info, places = tensor_of(call, 0), operand_of(call, 1)
    check_indices(call, 1)
    axis = call.attrs.axis
    if axis is None and info.ndim != 1:
        raise GraphError(
            f"{call.op} has no axis, and {info} is not known to have one dimension",
            "without an axis, elements are taken of a tensor of one dimension",
            "give an axis, or flatten the tensor",
        )
    axis = 0 if axis is None else axis
    tensors = [
        struct_info for struct_info in (info, places) if isinstance(struct_info, TensorStructInfo)
    ]
    vdevice = common_vdevice(call, tensors)
    rank = places.ndim if isinstance(places, TensorStructInfo) else 0
    if -1 in (info.ndim, rank):
        return TensorStructInfo(None, info.dtype, vdevice)
    at = axis_of(call, axis, info.ndim)
    inner = shape_of(places) if isinstance(places, TensorStructInfo) else ()
    outer = shape_of(info)
    if inner is None or outer is None:
        return TensorStructInfo(None, info.dtype, vdevice, info.ndim - 1 + rank)
    largest = _largest_index(call.args[1])
    if largest is not None:
        least = ops.const(largest + 1, "int64")
        check_at_least(call, builder, outer[at], least, f"the size along axis {at}")
    sizes = (*outer[:at], *inner, *outer[at + 1 :])
    return TensorStructInfo(ShapeExpr(sizes), info.dtype, vdevice)


def _largest_index(indices: Any) -> int | None:
    """The largest of constant indices; None of others, and of none.

    A kernel checks the indices that it reads, but it reads none of a tensor without elements.
    """
    if isinstance(indices, PrimValue):
        return indices.value.value if isinstance(indices.value, IntImm) else None
    if not isinstance(indices, Constant) or not indices.data.size:
        return None
    return int(indices.data.numpy().max())


def _legalize_take(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    data, indices = call.args
    axis = call.attrs.axis
    return builder.call_te(topi.take, data, indices, axis, 0, "fast")


declare("relax.take", _infer_take, legalize=_legalize_take)


def gather_elements(data: Value, indices: Value, axis: int = 0) -> GraphCall:
    """Elements at the places of `indices`, with the axis replaced by the index."""
    return make_call("relax.gather_elements", [data, indices], axis=int(axis))


def _infer_gather_elements(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, indices = tensors_of(call, 2)
    check_indices(call, 1)
    vdevice = common_vdevice(call, [data, indices])
    if -1 in (data.ndim, indices.ndim):
        return TensorStructInfo(None, data.dtype, vdevice)
    if data.ndim != indices.ndim:
        raise argument_error(call, 1, f"a tensor of {data.ndim} dimensions")
    axis = axis_of(call, call.attrs.axis, data.ndim)
    sizes, wanted = shape_of(data), shape_of(indices)
    for at in range(data.ndim) if sizes and wanted else ():
        if at != axis:
            check_equal(call, builder, sizes[at], wanted[at], "the sizes")  # type: ignore[index]
    if wanted is None:
        return TensorStructInfo(None, data.dtype, vdevice, data.ndim)
    return TensorStructInfo(indices.shape, data.dtype, vdevice)


def _legalize_gather_elements(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(topi.gather, call.args[0], call.attrs.axis, call.args[1])


declare("relax.gather_elements", _infer_gather_elements, legalize=_legalize_gather_elements)


def gather_nd(data: Value, indices: Value, batch_dims: int = 0) -> GraphCall:
    """Slices at the indices that the last axis of `indices` holds, after `batch_dims` axes."""
    return make_call("relax.gather_nd", [data, indices], batch_dims=int(batch_dims))


def _infer_gather_nd(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, indices = tensors_of(call, 2)
    check_indices(call, 1)
    batch, vdevice = call.attrs.batch_dims, common_vdevice(call, [data, indices])
    if batch < 0 or (-1 not in (data.ndim, indices.ndim) and batch > min(data.ndim, indices.ndim)):
        raise GraphError(
            f"{call.op} has batch_dims={batch}, the tensors have {data.ndim} and {indices.ndim} "
            "dimensions",
            "both begin with the same dimensions of batches",
            "give a smaller number",
        )
    _check_coordinates(call, indices)
    depth = (shape_of(indices) or [None])[-1]
    if data.ndim == -1 or not isinstance(depth, IntImm):
        return TensorStructInfo(None, data.dtype, vdevice)
    used = batch + int(depth.value)
    if used > data.ndim:
        raise argument_error(call, 1, f"a tensor with a last size of at most {data.ndim - batch}")
    sizes, places = shape_of(data), shape_of(indices) or ()
    for size, other in zip(places[:batch], (sizes or ())[:batch], strict=False):
        check_equal(call, builder, size, other, "the sizes of batches")
    if sizes is None:
        rank = len(places) - 1 + data.ndim - used
        return TensorStructInfo(None, data.dtype, vdevice, rank)
    return TensorStructInfo(ShapeExpr((*places[:-1], *sizes[used:])), data.dtype, vdevice)


def _check_coordinates(call: GraphCall, indices: TensorStructInfo) -> None:
    if indices.ndim == 0:
        raise argument_error(call, 1, "a tensor of at least 1 dimension, which holds coordinates")


def _legalize_gather_nd(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(
        _te_gather_nd, *call.args, call.attrs.batch_dims, primfunc_name_hint="te_gather_nd"
    )


def _te_gather_nd(data: te.Tensor, indices: te.Tensor, batch_dims: int) -> te.Tensor:
    return topi.gather_nd(data, _last_axis_first(indices), batch_dims)


def _last_axis_first(indices: te.Tensor) -> te.Tensor:
    """Indices with the axis of their coordinates in front, as topi takes them."""
    axes = range(indices.ndim)
    return topi.transpose(indices, [axes[-1], *axes[:-1]])


declare("relax.gather_nd", _infer_gather_nd, legalize=_legalize_gather_nd)


def scatter_elements(
    data: Value, indices: Value, updates: Value, axis: int = 0, reduction: str = "update"
) -> GraphCall:
    """The tensor with elements exchanged: the axis is replaced by the index.

    `reduction` says how an old and a new element are combined: "update", "add", "mul", "mean",
    "max" or "min".
    """
    return make_call(
        "relax.scatter_elements", [data, indices, updates], axis=int(axis), reduction=str(reduction)
    )


def _infer_scatter_elements(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, indices, updates = infos = tensors_of(call, 3)
    check_indices(call, 1)
    common_dtype(call, [data, updates])
    vdevice = common_vdevice(call, infos)
    ranks = {info.ndim for info in infos} - {-1}
    if len(ranks) > 1:
        raise argument_error(call, 1, "as many dimensions as the tensor and the updates have")
    if data.ndim != -1:
        axis_of(call, call.attrs.axis, data.ndim)
    places, values = shape_of(indices), shape_of(updates)
    if places is not None and values is not None:
        for size, other in zip(places, values, strict=True):
            check_equal(call, builder, size, other, "the sizes of indices and updates")
    if shape_of(data) is None:
        return TensorStructInfo(None, data.dtype, vdevice, data.ndim)
    return TensorStructInfo(data.shape, data.dtype, vdevice)


def _legalize_scatter_elements(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    attrs = call.attrs
    return builder.call_te(topi.scatter_elements, *call.args, attrs.axis, attrs.reduction)


declare(
    "relax.scatter_elements",
    _infer_scatter_elements,
    legalize=_legalize_scatter_elements,
    is_update=True,
)


def scatter_nd(data: Value, indices: Value, updates: Value, reduction: str = "update") -> GraphCall:
    """The tensor with slices exchanged, at the indices that the last axis of `indices` holds."""
    return make_call("relax.scatter_nd", [data, indices, updates], reduction=str(reduction))


def _infer_scatter_nd(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, indices, updates = infos = tensors_of(call, 3)
    check_indices(call, 1)
    common_dtype(call, [data, updates])
    vdevice = common_vdevice(call, infos)
    _check_coordinates(call, indices)
    sizes, places, values = (shape_of(info) for info in infos)
    if sizes is None:
        return TensorStructInfo(None, data.dtype, vdevice, data.ndim)
    if places is not None and values is not None and isinstance(places[-1], IntImm):
        depth = places[-1].value
        expected = (*places[:-1], *sizes[depth:])
        if depth > len(sizes) or len(values) != len(expected):
            raise argument_error(call, 2, f"a tensor of the shape {ShapeExpr(expected)}")
        for size, other in zip(values, expected, strict=True):
            check_equal(call, builder, size, other, "the sizes of updates and of the slices")
    return TensorStructInfo(data.shape, data.dtype, vdevice)


def _legalize_scatter_nd(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    return builder.call_te(
        _te_scatter_nd, *call.args, call.attrs.reduction, primfunc_name_hint="scatter_nd"
    )


def _te_scatter_nd(
    data: te.Tensor, indices: te.Tensor, updates: te.Tensor, reduction: str
) -> te.Tensor:
    return topi.scatter_nd(data, _last_axis_first(indices), updates, reduction)


declare("relax.scatter_nd", _infer_scatter_nd, legalize=_legalize_scatter_nd, is_update=True)


def one_hot(
    indices: Value, on_value: Value, off_value: Value, depth: int, axis: int = -1
) -> GraphCall:
    """A new axis of `depth` values: `on_value` at the index, `off_value` elsewhere."""
    numbers = [_number(value) for value in (on_value, off_value)]
    return make_call(
        "relax.one_hot", [indices, *numbers], depth=given_sizes(depth, "depth")[0], axis=int(axis)
    )


def _number(value: Any) -> Any:
    """A number of a graph; those of Python's floats are float32, as TVM has it."""
    expr = value if isinstance(value, PrimValue) else as_expr(value)
    if isinstance(expr, PrimValue) and isinstance(expr.value, FloatImm):
        return PrimValue(ops.const(expr.value.value, "float32"))
    return expr


def _infer_one_hot(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    indices = tensor_of(call, 0)
    values = [arg.struct_info for arg in call.args[1:3]]
    for index, info in enumerate(values):
        if not isinstance(info, PrimStructInfo):
            raise argument_error(call, index + 1, "a number")
    if values[0].dtype != values[1].dtype:
        raise argument_error(call, 2, f"a number of {values[0].dtype}")
    check_indices(call, 0)
    depth = call.attrs.depth
    if depth <= 0:
        raise GraphError(f"{call.op} has depth={depth}", "", "give a positive number")
    dtype = values[0].dtype
    sizes = shape_of(indices)
    if sizes is None:
        ndim = -1 if indices.ndim == -1 else indices.ndim + 1
        return unknown(indices, ndim, dtype)
    at = axis_of(call, call.attrs.axis, len(sizes) + 1)
    return sized(indices, [*sizes[:at], depth, *sizes[at:]], dtype)


def _legalize_one_hot(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    indices, on_value, off_value = call.args
    attrs, dtype = call.attrs, on_value.value.dtype
    return builder.call_te(
        topi.one_hot, indices, on_value.value, off_value.value, attrs.depth, attrs.axis, dtype
    )


declare("relax.one_hot", _infer_one_hot, legalize=_legalize_one_hot)
