"""Convolutions of one, two and three dimensions, in several layouts, grouped and depthwise.

A layout names the dimensions: N batch, C channels, D, H and W space; of a kernel, O output and I
input channels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.te.tensor import Tensor
from te_sched.topi.nn.padding import get_pad_tuple_generic, padded
from te_sched.topi.utils import (
    Count,
    Padding,
    Sizes,
    as_pair,
    check_choice,
    check_divides,
    check_rank,
    check_same,
    compute,
    simplify,
)

_SPACES = {1: "W", 2: "HW", 3: "DHW"}
# The default kernel layout of each data layout.
_KERNEL_LAYOUTS = {
    "NCW": "OIW",
    "NWC": "WIO",
    "NCHW": "OIHW",
    "NHWC": "HWIO",
    "HWCN": "HWIO",
    "NCDHW": "OIDHW",
    "NDHWC": "DHWIO",
}


def conv(
    inp: Tensor,
    filt: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: Count,
    data_layout: str,
    kernel_layout: str = "",
    out_dtype: str | None = None,
    auto_scheduler_rewritten_layout: str | None = None,
    meta_schedule_original_shape: Any = None,
    auto_scheduler_should_rewrite_layout: bool = False,
) -> Tensor:
    """A convolution (cross-correlation: the kernel is not flipped) with zero padding.

    Parameters
    ----------
    stride, dilation : a number, or one for each dimension of the space.
    padding : what get_pad_tuple takes: numbers, "SAME" or "VALID".
    groups : the number of groups of channels, which are convolved separately.
    out_dtype : type of the sums; that of inp unless given.
    auto_scheduler_rewritten_layout, meta_schedule_original_shape,
    auto_scheduler_should_rewrite_layout : without effect: layouts are rewritten after the
        declaration.

    >>> X, W = te.placeholder((1, 8, 8, 4), name="X"), te.placeholder((3, 3, 4, 6), name="W")
    >>> topi.nn.conv(X, W, stride=2, padding=1, dilation=1, groups=1, data_layout="NHWC").shape
    [1, 4, 4, 6]
    """
    weights, rank = _checked_kernel_layout(data_layout, kernel_layout), len(data_layout)
    kind = f"{'group_' if groups > 1 else ''}conv{rank - 2}d_{data_layout.lower()}"
    data, kernel = check_rank(inp, rank, f"nn.{kind}"), check_rank(filt, rank, f"nn.{kind}")
    space = _SPACES[rank - 2]
    of_data = dict(zip(data_layout, data.shape, strict=True))
    of_kernel = dict(zip(weights, kernel.shape, strict=True))
    inputs = simplify(of_kernel["I"] * groups)
    check_same(
        inputs, of_data["C"], f"nn.{kind}", f"number of input channels of kernel {kernel.name}"
    )
    check_divides(groups, of_kernel["O"], f"nn.{kind}", "groups", "the number of output channels")

    window = [of_kernel[d] for d in space]
    bordered, out, source_index = _windows(
        data, data_layout, window, stride, padding, dilation, kind
    )
    out |= {"N": of_data["N"], "C": of_kernel["O"]}

    # Of two sizes that are only equal in a call, that of the data bounds reads of the padded data.
    channels = of_kernel["I"]
    if not isinstance(channels, IntImm):
        channels = simplify(ops.floordiv(of_data["C"], groups))
    names = dict(zip(space if rank < 5 else "DHW", ("y", "x", "z"), strict=False))
    over = {d: te.reduce_axis((0, of_kernel[d]), f"r{names[d]}") for d in space}
    over["I"] = te.reduce_axis((0, channels), "rc")
    dtype = data.dtype if out_dtype is None else out_dtype

    def element(*i: Any) -> Any:
        index = dict(zip(data_layout, i, strict=True))
        read = {**source_index(index, over), "N": index["N"], "C": over["I"].var}
        if groups > 1:
            per_group = simplify(ops.floordiv(of_kernel["O"], groups))
            read["C"] = ops.floordiv(index["C"], per_group) * channels + over["I"]
        value = bordered(*[read[d] for d in data_layout])
        weight = kernel(*[index["C"] if d == "O" else over[d] for d in weights])
        order = [over[d] for d in _reduction_order(data_layout)]
        return te.sum(value.astype(dtype) * weight.astype(dtype), axis=order)

    axes = {"N": "nn", "C": "ff", **{d: names[d] * 2 for d in space}}
    return compute(
        tuple([out[d] for d in data_layout]),
        element,
        name=kind,
        tag=kind,
        varargs_names=[axes[d] for d in data_layout],
    )


def _checked_kernel_layout(data_layout: str, kernel_layout: str) -> str:
    """The layout of a kernel, by default that of a layout of data; refuses other layouts."""
    check_choice(data_layout, _KERNEL_LAYOUTS, "nn.conv", "data_layout")
    usual = _KERNEL_LAYOUTS[data_layout]
    layout = kernel_layout or usual
    if sorted(layout) != sorted(usual):
        raise DeclarationError(
            f"topi.nn.conv: invalid kernel_layout {layout!r}",
            f"the kernel dimensions of data layout {data_layout} are {', '.join(usual)}",
            f"write them in any order, as in {usual!r}",
        )
    return layout


def _windows(
    data: Tensor,
    layout: str,
    window: Sequence[Any],
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    kind: str,
    name: str = "pad_temp",
) -> tuple[Tensor, dict[str, Any], Callable[[Any, Any], dict[str, Any]]]:
    """The padded data, the spatial extents of the output, and the function of the input indices."""
    space = _SPACES[len(window)]
    steps = dict(zip(space, as_pair(stride, len(space), f"nn.{kind} stride"), strict=True))
    gaps = dict(zip(space, as_pair(dilation, len(space), f"nn.{kind} dilation"), strict=True))
    sizes = dict(zip(space, window, strict=True))
    widths = {d: simplify((sizes[d] - 1) * gaps[d] + 1) for d in space}
    low, high = get_pad_tuple_generic(padding, list(widths.values()))
    before, after = dict(zip(space, low, strict=True)), dict(zip(space, high, strict=True))
    extents = {
        d: simplify(ops.floordiv(ops.convert(n + before[d] + after[d] - widths[d]), steps[d]) + 1)
        for d, n in zip(layout, data.shape, strict=True)
        if d in space
    }

    def place(index: Any, over: Any) -> dict[str, Any]:
        return {d: index[d] * steps[d] + over[d] * gaps[d] for d in space}

    borders = [before.get(d, 0) for d in layout], [after.get(d, 0) for d in layout]
    return padded(data, *borders, 0, name), extents, place


def _reduction_order(data_layout: str) -> str:
    """The order of the reduction axes: that of the data layout, except for HWCN."""
    if data_layout == "HWCN":
        return "WHI"
    space = _SPACES[len(data_layout) - 2]
    return f"I{space}" if data_layout[1] == "C" else f"{space}I"


def conv1d(
    data: Tensor,
    kernel: Tensor,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    dilation: Sizes = 1,
    groups: Count = 1,
    data_layout: str = "NCW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A 1D convolution; grouped if groups > 1.

    >>> X, W = te.placeholder((1, 8, 4), name="X"), te.placeholder((3, 4, 6), name="W")
    >>> topi.nn.conv1d(X, W, data_layout="NWC").shape
    [1, 6, 6]
    """
    return conv(
        data, kernel, strides, padding, dilation, groups, data_layout, kernel_layout, out_dtype
    )


def conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    dilation: Sizes = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A 1D convolution of data (batch, in, width) with kernel (out, in, width).

    >>> X, W = te.placeholder((1, 4, 8), name="X"), te.placeholder((6, 4, 3), name="W")
    >>> topi.nn.conv1d_ncw(X, W, padding="SAME").shape
    [1, 6, 8]
    """
    return conv(data, kernel, strides, padding, dilation, 1, "NCW", "", out_dtype)


def conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    dilation: Sizes = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A 1D convolution of data (batch, width, in) with kernel (width, in, out).

    >>> X, W = te.placeholder((1, 8, 4), name="X"), te.placeholder((3, 4, 6), name="W")
    >>> topi.nn.conv1d_nwc(X, W, strides=2).shape
    [1, 3, 6]
    """
    return conv(data, kernel, strides, padding, dilation, 1, "NWC", "", out_dtype)


def group_conv1d_ncw(
    data: Tensor,
    kernel: Tensor,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    dilation: Sizes = 1,
    groups: Count = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped conv1d_ncw; the kernel has the input channels of one group.

    >>> X, W = te.placeholder((1, 4, 8), name="X"), te.placeholder((6, 2, 3), name="W")
    >>> topi.nn.group_conv1d_ncw(X, W, groups=2).shape
    [1, 6, 6]
    """
    return conv(data, kernel, strides, padding, dilation, groups, "NCW", "", out_dtype)


def group_conv1d_nwc(
    data: Tensor,
    kernel: Tensor,
    strides: Sizes = 1,
    padding: Padding = "VALID",
    dilation: Sizes = 1,
    groups: Count = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped conv1d_nwc; the kernel has the input channels of one group.

    >>> X, W = te.placeholder((1, 8, 4), name="X"), te.placeholder((3, 2, 6), name="W")
    >>> topi.nn.group_conv1d_nwc(X, W, groups=2).shape
    [1, 6, 6]
    """
    return conv(data, kernel, strides, padding, dilation, groups, "NWC", "", out_dtype)


def conv2d(
    input: Tensor,
    filter: Tensor,
    strides: Sizes,
    padding: Padding,
    dilation: Sizes,
    data_layout: str = "NCHW",
    kernel_layout: str = "",
    out_dtype: str | None = None,
) -> Tensor:
    """A 2D convolution.

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((6, 4, 3, 3), name="W")
    >>> topi.nn.conv2d(X, W, strides=1, padding=1, dilation=1).shape
    [1, 6, 8, 8]
    """
    return conv(input, filter, strides, padding, dilation, 1, data_layout, kernel_layout, out_dtype)


def conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A 2D convolution of (batch, in, height, width) with (out, in, height, width).

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((6, 4, 3, 3), name="W")
    >>> C = topi.nn.conv2d_nchw(X, W, stride=1, padding=0)
    >>> C.shape, C.op.body[0].source[0]
    ([1, 6, 6, 6], pad_temp[nn, rc, yy + ry, xx + rx] * W[ff, rc, ry, rx])
    """
    return conv(Input, Filter, stride, padding, dilation, 1, "NCHW", "", out_dtype)


def conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes = 1,
    out_dtype: str | None = "float32",
    auto_scheduler_rewritten_layout: str = "",
    meta_schedule_original_shape: Any = None,
) -> Tensor:
    """A 2D convolution of (batch, height, width, in) with (height, width, in, out).

    The last two parameters have no effect: layouts are rewritten after the declaration.

    >>> X, W = te.placeholder((1, 8, 8, 4), name="X"), te.placeholder((3, 3, 4, 6), name="W")
    >>> topi.nn.conv2d_nhwc(X, W, stride=1, padding="SAME").shape
    [1, 8, 8, 6]
    """
    return conv(Input, Filter, stride, padding, dilation, 1, "NHWC", "", out_dtype)


def conv2d_hwcn(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A 2D convolution of (height, width, in, batch) with (height, width, in, out).

    >>> X, W = te.placeholder((8, 8, 4, 1), name="X"), te.placeholder((3, 3, 4, 6), name="W")
    >>> topi.nn.conv2d_hwcn(X, W, stride=1, padding="VALID").shape
    [6, 6, 6, 1]
    """
    return conv(Input, Filter, stride, padding, dilation, 1, "HWCN", "", out_dtype)


def group_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: Count,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped conv2d_nchw; the kernel has the input channels of one group.

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((6, 2, 3, 3), name="W")
    >>> topi.nn.group_conv2d_nchw(X, W, 1, 1, 1, groups=2).shape
    [1, 6, 8, 8]
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NCHW", "", out_dtype)


def group_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: Count,
    out_dtype: str | None = None,
) -> Tensor:
    """A grouped conv2d_nhwc; the kernel has the input channels of one group.

    >>> X, W = te.placeholder((1, 8, 8, 4), name="X"), te.placeholder((3, 3, 2, 6), name="W")
    >>> topi.nn.group_conv2d_nhwc(X, W, 1, 1, 1, groups=2).shape
    [1, 8, 8, 6]
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NHWC", "", out_dtype)


def conv3d_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: Count = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A 3D convolution of (batch, in, depth, height, width) with (out, in, depth, height, width).

    >>> X, W = te.placeholder((1, 4, 5, 8, 8), name="X"), te.placeholder((6, 4, 3, 3, 3), name="W")
    >>> topi.nn.conv3d_ncdhw(X, W, 1, (0, 1, 1), 1).shape
    [1, 6, 3, 8, 8]
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NCDHW", "", out_dtype)


def conv3d_ndhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    groups: Count = 1,
    out_dtype: str | None = "float32",
) -> Tensor:
    """A 3D convolution of (batch, depth, height, width, in) with (depth, height, width, in, out).

    >>> X, W = te.placeholder((1, 5, 8, 8, 4), name="X"), te.placeholder((3, 3, 3, 4, 6), name="W")
    >>> topi.nn.conv3d_ndhwc(X, W, 1, (0, 1, 1), 1).shape
    [1, 3, 8, 8, 6]
    """
    return conv(Input, Filter, stride, padding, dilation, groups, "NDHWC", "", out_dtype)


def depthwise_conv2d_nchw(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes = 1,
    out_dtype: str | None = None,
) -> Tensor:
    """A 2D depthwise convolution.

    Input : (batch, channel, height, width).
    Filter : (channel, multiplier, height, width).

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((4, 2, 3, 3), name="W")
    >>> topi.nn.depthwise_conv2d_nchw(X, W, stride=1, padding=1).shape
    [1, 8, 8, 8]
    """
    return _depthwise(Input, Filter, stride, padding, dilation, "NCHW", "CMHW", out_dtype)


def depthwise_conv2d_nhwc(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes = 1,
    kernel_layout: str = "HWOI",
    out_dtype: str | None = None,
) -> Tensor:
    """A 2D depthwise convolution.

    Input : (batch, height, width, channel).
    Filter : (height, width, channel, multiplier), or with kernel_layout "HWIO"
        (height, width, multiplier, channel).

    >>> X, W = te.placeholder((1, 8, 8, 4), name="X"), te.placeholder((3, 3, 4, 2), name="W")
    >>> topi.nn.depthwise_conv2d_nhwc(X, W, stride=1, padding=1).shape
    [1, 8, 8, 8]
    """
    layouts = {"HWOI": "HWCM", "HWIO": "HWMC"}
    check_choice(kernel_layout, layouts, "nn.depthwise_conv2d_nhwc", "kernel_layout")
    weights = layouts[kernel_layout]
    return _depthwise(Input, Filter, stride, padding, dilation, "NHWC", weights, out_dtype)


def _depthwise(
    inp: Tensor,
    filt: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    layout: str,
    weights: str,
    out_dtype: str | None,
) -> Tensor:
    kind = f"depthwise_conv2d_{layout.lower()}"
    data, kernel = check_rank(inp, 4, f"nn.{kind}"), check_rank(filt, 4, f"nn.{kind}")
    of_data = dict(zip(layout, data.shape, strict=True))
    of_kernel = dict(zip(weights, kernel.shape, strict=True))
    check_same(
        of_kernel["C"], of_data["C"], f"nn.{kind}", f"number of channels of kernel {kernel.name}"
    )
    window = [of_kernel[d] for d in "HW"]
    bordered, out, source_index = _windows(
        data, layout, window, stride, padding, dilation, kind, "PaddedInput"
    )
    multiplier = of_kernel["M"]
    out |= {"N": of_data["N"], "C": simplify(of_data["C"] * multiplier)}
    over = {"H": te.reduce_axis((0, of_kernel["H"]), "di")}
    over["W"] = te.reduce_axis((0, of_kernel["W"]), "dj")
    dtype = data.dtype if out_dtype is None else out_dtype

    def element(*i: Any) -> Any:
        index = dict(zip(layout, i, strict=True))
        channel = ops.floordiv(index["C"], multiplier)
        read = {**source_index(index, over), "N": index["N"], "C": channel}
        weigh: dict[str, Any] = {**over, "C": channel, "M": ops.floormod(index["C"], multiplier)}
        value = bordered(*[read[d] for d in layout]).astype(dtype)
        return te.sum(
            value * kernel(*[weigh[d] for d in weights]).astype(dtype), axis=list(over.values())
        )

    axes = {"N": "b", "C": "c", "H": "i", "W": "j"}
    return compute(
        tuple([out[d] for d in layout]),
        element,
        name="DepthwiseConv2d",
        tag=kind,
        varargs_names=[axes[d] for d in layout],
    )
