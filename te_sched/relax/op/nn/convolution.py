"""Convolutions and transposed convolutions of one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo, size_text
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import ALWAYS, common_dtype, shape_of, tensors_of
from te_sched.relax.op.nn.layouts import check_layout, check_rank_of_layout, rank_of, to_layout
from te_sched.relax.op.sizes import (
    as_padding,
    as_sizes,
    check_at_least,
    check_equal,
    common_vdevice,
)
from te_sched.relax.operators import make_call, register_operator

_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def conv1d(
    data: Value,
    weight: Value,
    strides: Numbers = 1,
    padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "OIW",
    out_layout: str | None = None,
    out_dtype: Any = None,
) -> GraphCall:
    """The convolution of one dimension."""
    layouts = (data_layout, kernel_layout, out_layout)
    return _convolution(1, data, weight, strides, padding, dilation, groups, layouts, out_dtype)


def conv2d(
    data: Value,
    weight: Value,
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0),
    dilation: Numbers = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str | None = None,
    out_dtype: Any = None,
) -> GraphCall:
    """The convolution of two dimensions.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([1, 3, 32, 32], "float32"))
    >>> w = relax.Var("w", relax.TensorStructInfo([8, 3, 3, 3], "float32"))
    >>> relax.BlockBuilder().normalize(conv2d(x, w, padding=1)).struct_info
    R.Tensor((1, 8, 32, 32), dtype="float32")
    """
    layouts = (data_layout, kernel_layout, out_layout)
    return _convolution(2, data, weight, strides, padding, dilation, groups, layouts, out_dtype)


def conv3d(
    data: Value,
    weight: Value,
    strides: Numbers = (1, 1, 1),
    padding: Numbers = (0, 0, 0),
    dilation: Numbers = (1, 1, 1),
    groups: int = 1,
    data_layout: str = "NCDHW",
    kernel_layout: str = "OIDHW",
    out_layout: str | None = None,
    out_dtype: Any = None,
) -> GraphCall:
    """The convolution of three dimensions."""
    layouts = (data_layout, kernel_layout, out_layout)
    return _convolution(3, data, weight, strides, padding, dilation, groups, layouts, out_dtype)


def _convolution(
    count: int,
    data: Any,
    weight: Any,
    strides: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    layouts: tuple[str, str, str | None],
    out_dtype: Any,
) -> GraphCall:
    _check_groups(groups, f"conv{count}d")
    return make_call(
        f"relax.nn.conv{count}d",
        [data, weight],
        strides=as_sizes(strides, count, "strides"),
        padding=as_padding(padding, count),
        dilation=as_sizes(dilation, count, "dilation"),
        groups=int(groups),
        data_layout=layouts[0],
        kernel_layout=layouts[1],
        out_layout=layouts[2] or layouts[0],
        out_dtype=dtypes.known(out_dtype),
    )


def _check_groups(groups: int, name: str) -> None:
    if groups <= 0:
        raise GraphError(
            f"{name} has {groups} groups", "", "give a positive number that divides the channels"
        )


def conv1d_transpose(
    data: Value,
    weight: Value,
    strides: Numbers = 1,
    padding: Numbers = 0,
    output_padding: Numbers = 0,
    dilation: Numbers = 1,
    groups: int = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "IOW",
    out_layout: str | None = None,
    out_dtype: Any = None,
) -> GraphCall:
    """The transposed convolution of one dimension: the gradient of conv1d by its input."""
    layouts = (data_layout, kernel_layout, out_layout)
    sizes = (strides, padding, output_padding, dilation)
    return _transposed(1, data, weight, sizes, groups, layouts, out_dtype)


def conv2d_transpose(
    data: Value,
    weight: Value,
    strides: Numbers = (1, 1),
    padding: Numbers = (0, 0),
    output_padding: Numbers = (0, 0),
    dilation: Numbers = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str | None = None,
    out_dtype: Any = None,
) -> GraphCall:
    """The transposed convolution of two dimensions: the gradient of conv2d by its input."""
    layouts = (data_layout, kernel_layout, out_layout)
    sizes = (strides, padding, output_padding, dilation)
    return _transposed(2, data, weight, sizes, groups, layouts, out_dtype)


def _transposed(
    count: int,
    data: Any,
    weight: Any,
    sizes: Sequence[Any],
    groups: int,
    layouts: tuple[str, str, str | None],
    out_dtype: Any,
) -> GraphCall:
    _check_groups(groups, f"conv{count}d_transpose")
    strides, padding, output_padding, dilation = sizes
    return make_call(
        f"relax.nn.conv{count}d_transpose",
        [data, weight],
        strides=as_sizes(strides, count, "strides"),
        padding=as_padding(padding, count),
        output_padding=as_sizes(output_padding, count, "output_padding"),
        dilation=as_sizes(dilation, count, "dilation"),
        groups=int(groups),
        data_layout=layouts[0],
        kernel_layout=layouts[1],
        out_layout=layouts[2] or layouts[0],
        out_dtype=dtypes.known(out_dtype),
    )


class _Arguments:
    """The sizes of a convolution in the order N, C, spatial dimensions; None if not known."""

    def __init__(self, call: GraphCall, builder: Any, count: int, kernel: str) -> None:
        attrs, spatial = call.attrs, _SPATIAL[count]
        whole = "NC" + spatial
        for name, letters in (("data", whole), ("kernel", kernel + spatial), ("out", whole)):
            check_layout(call, f"{name}_layout", attrs[f"{name}_layout"], letters)
        data, weight = infos = tensors_of(call, 2)
        check_rank_of_layout(call, 0, data, attrs.data_layout)
        check_rank_of_layout(call, 1, weight, attrs.kernel_layout)
        self.dtype = attrs.out_dtype or common_dtype(call, infos)
        self.vdevice = common_vdevice(call, infos)
        self.whole, self.builder, self.out_layout = whole, builder, attrs.out_layout
        self.data, self.weight = shape_of(data), shape_of(weight)
        if self.data is not None:
            self.data = tuple(to_layout(builder, self.data, attrs.data_layout, whole))
        if self.weight is not None:
            sizes = to_layout(builder, self.weight, attrs.kernel_layout, kernel + spatial)
            self.weight = tuple(sizes)

    def unknown(self) -> TensorStructInfo:
        """A result of which the sizes are not known."""
        return TensorStructInfo(None, self.dtype, self.vdevice, rank_of(self.out_layout))

    def sized(self, sizes: Sequence[Any]) -> TensorStructInfo:
        """The result, of sizes in the order N, C, spatial dimensions."""
        simple = [self.builder.analyzer.simplify(one) for one in sizes]
        found = to_layout(self.builder, simple, self.whole, self.out_layout)
        return TensorStructInfo(ShapeExpr(tuple(found)), self.dtype, self.vdevice)


@register_operator("relax.nn.conv1d", TMixedPrecisionPolicy=ALWAYS)
def _infer_conv1d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_conv(call, builder, 1)


@register_operator("relax.nn.conv2d", TMixedPrecisionPolicy=ALWAYS)
def _infer_conv2d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_conv(call, builder, 2)


@register_operator("relax.nn.conv3d", TMixedPrecisionPolicy=ALWAYS)
def _infer_conv3d(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_conv(call, builder, 3)


def _infer_conv(call: GraphCall, builder: Any, count: int) -> StructInfo:
    given = _Arguments(call, builder, count, "OI")
    data, weight, attrs = given.data, given.weight, call.attrs
    if data is None or weight is None:
        return given.unknown()
    groups = ops.const(attrs.groups, "int64")
    check_equal(call, builder, data[1], ops.multiply(weight[1], groups), "the input channels")
    _check_divides(call, builder, attrs.groups, weight[0], "output channels")
    found = [data[0], weight[0]]
    for at in range(count):
        reach = ops.multiply(attrs.dilation[at], ops.subtract(weight[2 + at], 1))
        padded = ops.add(data[2 + at], ops.add(attrs.padding[at], attrs.padding[at + count]))
        check_at_least(call, builder, padded, ops.add(reach, 1), "the padded size of the data")
        steps = ops.subtract(ops.subtract(padded, reach), 1)
        found.append(ops.add(ops.floordiv(steps, attrs.strides[at]), 1))
    return given.sized(found)


def _check_divides(call: GraphCall, builder: Any, groups: int, size: Any, what: str) -> None:
    rest = ops.floormod(size, ops.const(groups, "int64"))
    if groups == 1:
        return
    if builder.analyzer.can_prove(ops.not_equal(rest, 0)):
        raise GraphError(
            f"{call.op} has {groups} groups of {size_text(size)} {what}",
            f"{call.op} is called with {', '.join(str(one.struct_info) for one in call.args)}",
            "give a number of groups that divides the channels",
        )
    builder.require("equal", rest, 0, f"the rest of {what} in {groups} groups of {call.op}")


@register_operator("relax.nn.conv1d_transpose")
def _infer_conv1d_transpose(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_transposed(call, builder, 1)


@register_operator("relax.nn.conv2d_transpose")
def _infer_conv2d_transpose(call: GraphCall, builder: Any) -> StructInfo:
    return _infer_transposed(call, builder, 2)


def _infer_transposed(call: GraphCall, builder: Any, count: int) -> StructInfo:
    given = _Arguments(call, builder, count, "IO")
    data, weight, attrs = given.data, given.weight, call.attrs
    if data is None or weight is None:
        return given.unknown()
    check_equal(call, builder, data[1], weight[0], "the input channels")
    _check_divides(call, builder, attrs.groups, data[1], "input channels")
    steps_of = zip(attrs.output_padding, attrs.strides, attrs.dilation, strict=True)
    for extra, step, gap in steps_of:
        if builder.analyzer.can_prove(ops.greater_equal(extra, ops.maximum(step, gap))):
            raise GraphError(
                f"output_padding {extra} of {call.op} is not less than its stride {step}",
                "the padding chooses one of the sizes that a stride makes equal",
                "give a smaller one",
            )
    found = [data[0], ops.multiply(weight[1], ops.const(attrs.groups, "int64"))]
    for at in range(count):
        steps = ops.multiply(ops.subtract(data[2 + at], 1), attrs.strides[at])
        reach = ops.multiply(attrs.dilation[at], ops.subtract(weight[2 + at], 1))
        cut = ops.add(attrs.padding[at], attrs.padding[at + count])
        size = ops.add(ops.subtract(steps, cut), reach)
        found.append(ops.add(ops.add(size, attrs.output_padding[at]), 1))
    return given.sized(found)
