"""Pools: the maximum or mean of windows, and means of a number of parts."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import FOLLOWS, shape_of, tensor_of
from te_sched.relax.op.nn.layouts import check_layout, check_rank_of_layout, rank_of, to_layout
from te_sched.relax.op.sizes import as_padding, as_sizes, check_at_least, given_sizes
from te_sched.relax.operators import make_call, register_operator

_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def pool_attrs(
    count: int,
    pool_size: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    layout: str,
    out_layout: str | None,
) -> dict[str, Any]:
    """The attributes of a pool of `count` dimensions."""
    return {
        "pool_size": as_sizes(pool_size, count, "pool_size"),
        "strides": as_sizes(strides, count, "strides"),
        "dilation": as_sizes(dilation, count, "dilation"),
        "padding": as_padding(padding, count),
        "ceil_mode": bool(ceil_mode),
        "count_include_pad": bool(count_include_pad),
        "layout": layout,
        "out_layout": out_layout or layout,
    }


def max_pool1d(
    data: Value,
    pool_size: Numbers = (1,),
    strides: Numbers = (1,),
    padding: Numbers = (0, 0),
    dilation: Numbers = (1,),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> GraphCall:
    """The maximum of each window, in one dimension."""
    given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    return make_call("relax.nn.max_pool1d", [data], **pool_attrs(1, *given, layout, out_layout))


def max_pool2d(
    data: Value,
    pool_size: Numbers = (1, 1),
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0),
    dilation: Numbers = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The maximum of each window, in two dimensions.

    Parameters
    ----------
    padding : elements around the tensor, that no window counts.
    ceil_mode : whether a window may reach over the end.
    count_include_pad : has no meaning for a maximum.
    """
    given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    return make_call("relax.nn.max_pool2d", [data], **pool_attrs(2, *given, layout, out_layout))


def max_pool3d(
    data: Value,
    pool_size: Numbers = (1, 1, 1),
    strides: Numbers = (1, 1, 1),
    padding: Numbers = (0, 0, 0),
    dilation: Numbers = (1, 1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The maximum of each window, in three dimensions."""
    given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    return make_call("relax.nn.max_pool3d", [data], **pool_attrs(3, *given, layout, out_layout))


def avg_pool1d(
    data: Value,
    pool_size: Numbers = (1,),
    strides: Numbers = (1,),
    padding: Numbers = (0, 0),
    dilation: Numbers = (1,),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> GraphCall:
    """The mean of each window, in one dimension."""
    given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    return make_call("relax.nn.avg_pool1d", [data], **pool_attrs(1, *given, layout, out_layout))


def avg_pool2d(
    data: Value,
    pool_size: Numbers = (1, 1),
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0),
    dilation: Numbers = (1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The mean of each window, in two dimensions.

    Parameters
    ----------
    count_include_pad : whether the zeros of the padding are counted.
    """
    given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    return make_call("relax.nn.avg_pool2d", [data], **pool_attrs(2, *given, layout, out_layout))


def avg_pool3d(
    data: Value,
    pool_size: Numbers = (1, 1, 1),
    strides: Numbers = (1, 1, 1),
    padding: Numbers = (0, 0, 0),
    dilation: Numbers = (1, 1, 1),
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The mean of each window, in three dimensions."""
    given = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
    return make_call("relax.nn.avg_pool3d", [data], **pool_attrs(3, *given, layout, out_layout))


@register_operator("relax.nn.max_pool1d", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.nn.avg_pool1d", TMixedPrecisionPolicy=FOLLOWS)
def _infer_pool1d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_pool(call, builder, 1)


@register_operator("relax.nn.max_pool2d", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.nn.avg_pool2d", TMixedPrecisionPolicy=FOLLOWS)
def _infer_pool2d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_pool(call, builder, 2)


@register_operator("relax.nn.max_pool3d", TMixedPrecisionPolicy=FOLLOWS)
@register_operator("relax.nn.avg_pool3d", TMixedPrecisionPolicy=FOLLOWS)
def _infer_pool3d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_pool(call, builder, 3)


def _infer_pool(call: GraphCall, builder: Any, count: int) -> StructInfo:
    data, attrs, whole = tensor_of(call, 0), call.attrs, _LAYOUTS[count]
    sizes = _checked(call, builder, data, whole)
    if sizes is None:
        return TensorStructInfo(None, data.dtype, data.vdevice, rank_of(attrs.out_layout))
    found = list(sizes[:2])
    for at in range(count):
        reach = ops.multiply(attrs.dilation[at], ops.subtract(attrs.pool_size[at], 1))
        padded = ops.add(sizes[2 + at], ops.add(attrs.padding[at], attrs.padding[at + count]))
        if attrs.ceil_mode:  # the last window may end after the data
            padded = ops.add(padded, ops.subtract(attrs.strides[at], 1))
        check_at_least(call, builder, padded, ops.add(reach, 1), "the padded size of the data")
        steps = ops.subtract(ops.subtract(padded, reach), 1)
        found.append(ops.add(ops.floordiv(steps, attrs.strides[at]), 1))
    return _result(builder, data, found, whole, attrs.out_layout)


def _checked(call: GraphCall, builder: Any, data: TensorStructInfo, whole: str) -> list[Any] | None:
    """The sizes of the tensor in the order N, C, spatial dimensions, if they are known."""
    attrs = call.attrs
    check_layout(call, "layout", attrs.layout, whole)
    check_layout(call, "out_layout", attrs.out_layout, whole)
    check_rank_of_layout(call, 0, data, attrs.layout)
    sizes = shape_of(data)
    return None if sizes is None else to_layout(builder, sizes, attrs.layout, whole)


def _result(
    builder: Any, data: TensorStructInfo, sizes: list[Any], whole: str, layout: str
) -> TensorStructInfo:
    simple = [builder.analyzer.simplify(ops.cast("int64", one)) for one in sizes]
    found = to_layout(builder, simple, whole, layout)
    return TensorStructInfo(ShapeExpr(tuple(found)), data.dtype, data.vdevice)


def adaptive_avg_pool1d(
    data: Value,
    output_size: Numbers | None = None,
    layout: str = "NCW",
    out_layout: str | None = None,
) -> GraphCall:
    """The means of `output_size` parts of one dimension; None keeps the size."""
    return _adaptive(1, data, output_size, layout, out_layout)


def adaptive_avg_pool2d(
    data: Value,
    output_size: Numbers | None = None,
    layout: str = "NCHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The means of parts, by `output_size` for each of two dimensions; None keeps the sizes."""
    return _adaptive(2, data, output_size, layout, out_layout)


def adaptive_avg_pool3d(
    data: Value,
    output_size: Numbers | None = None,
    layout: str = "NCDHW",
    out_layout: str | None = None,
) -> GraphCall:
    """The means of parts, by `output_size` for each of three dimensions; None keeps the sizes."""
    return _adaptive(3, data, output_size, layout, out_layout)


def _adaptive(
    count: int, data: Any, output_size: Any, layout: str, out_layout: str | None
) -> GraphCall:
    sizes = None
    if output_size is not None:
        sizes = given_sizes(output_size, "output_size")
        sizes = sizes * count if len(sizes) == 1 else sizes
        if len(sizes) != count:
            raise GraphError(
                f"output_size has {len(sizes)} values, expected 1 or {count}",
                f"it is {output_size}",
                "give one number, or one for each spatial dimension",
            )
    return make_call(
        f"relax.nn.adaptive_avg_pool{count}d",
        [data],
        output_size=sizes,
        layout=layout,
        out_layout=out_layout or layout,
    )


@register_operator("relax.nn.adaptive_avg_pool1d", TMixedPrecisionPolicy=FOLLOWS)
def _infer_adaptive1d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_adaptive(call, builder, 1)


@register_operator("relax.nn.adaptive_avg_pool2d", TMixedPrecisionPolicy=FOLLOWS)
def _infer_adaptive2d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_adaptive(call, builder, 2)


@register_operator("relax.nn.adaptive_avg_pool3d", TMixedPrecisionPolicy=FOLLOWS)
def _infer_adaptive3d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_adaptive(call, builder, 3)


def _infer_adaptive(call: GraphCall, builder: Any, count: int) -> StructInfo:
    data, attrs, whole = tensor_of(call, 0), call.attrs, _LAYOUTS[count]
    sizes = _checked(call, builder, data, whole)
    is_kept = attrs.output_size is None and attrs.layout == attrs.out_layout
    if is_kept and (data.shape is not None or data.ndim != -1):
        return data
    if sizes is None:
        return TensorStructInfo(None, data.dtype, data.vdevice, rank_of(attrs.out_layout))
    wanted = sizes[2:] if attrs.output_size is None else list(attrs.output_size)
    return _result(builder, data, [*sizes[:2], *wanted], whole, attrs.out_layout)
