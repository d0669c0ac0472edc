"""Convolutions and dense layers in blocked layouts (NCHW8c: the last dimension is a block)."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi.nn.padding import get_pad_tuple_generic, padded
from te_sched.topi.utils import (
    Padding,
    Sizes,
    as_pair,
    check_rank,
    check_same,
    compute,
    simplify,
    tensor_of,
)


def conv2d_NCHWc(
    data: Tensor,
    kernel: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    layout: str,
    out_layout: str,
    out_dtype: str = "float32",
) -> Tensor:
    """A 2D convolution in the layout NCHWc.

    data : (batch, in, height, width, in block).
    kernel : (out, in, height, width, in block, out block).

    layout, out_layout : without effect: the shapes determine the blocks.

    It is grouped if the kernel has fewer input channels than the data.

    >>> X = te.placeholder((1, 2, 8, 8, 4), name="X")
    >>> W = te.placeholder((3, 2, 3, 3, 4, 8), name="W")
    >>> topi.nn.conv2d_NCHWc(X, W, 1, 1, 1, "NCHW4c", "NCHW8c").shape
    [1, 3, 8, 8, 8]
    """
    del layout, out_layout
    source, weights = (
        check_rank(data, 5, "nn.conv2d_NCHWc"),
        check_rank(kernel, 6, "nn.conv2d_NCHWc"),
    )
    block, out_block = source.shape[4], weights.shape[5]
    per_group, of_group = weights.shape[1], simplify(weights.shape[1] * weights.shape[4])
    groups = simplify(ops.floordiv(ops.convert(source.shape[1] * block), of_group))
    outputs = simplify(ops.floordiv(ops.convert(weights.shape[0] * out_block), groups))
    bordered, (h, w), read = _window(source, weights.shape[2:4], stride, padding, dilation)
    channel = te.reduce_axis((0, simplify(per_group * weights.shape[4])), "ic")
    kh, kw = (
        te.reduce_axis((0, weights.shape[2]), "kh"),
        te.reduce_axis((0, weights.shape[3]), "kw"),
    )

    def element(n: Any, outer: Any, y: Any, x: Any, inner: Any) -> Any:
        input_channel: Any = channel.var
        if not ops.is_const(ops.convert(groups), 1):
            input_channel = ops.floordiv(outer * out_block + inner, outputs) * of_group + channel
        row, column = read(y, x, kh, kw)
        value = bordered(
            n, ops.floordiv(input_channel, block), row, column, ops.floormod(input_channel, block)
        )
        inside = weights.shape[4]
        weight = weights(
            outer, ops.floordiv(channel, inside), kh, kw, ops.floormod(channel, inside), inner
        )
        return te.sum(value.astype(out_dtype) * weight.astype(out_dtype), axis=[channel, kh, kw])

    shape = (source.shape[0], weights.shape[0], h, w, out_block)
    return compute(shape, element, name="conv2d_NCHWc", tag="conv2d_NCHWc")


def depthwise_conv2d_NCHWc(
    Input: Tensor,
    Filter: Tensor,
    stride: Sizes,
    padding: Padding,
    dilation: Sizes,
    layout: str,
    out_layout: str,
    out_dtype: str | None = None,
) -> Tensor:
    """A 2D depthwise convolution in the layout NCHWc.

    Input : (batch, channel, height, width, block).
    Filter : (out, 1, height, width, 1, out block).
    layout, out_layout : without effect: the shapes determine the blocks.

    >>> X = te.placeholder((1, 2, 8, 8, 4), name="X")
    >>> W = te.placeholder((2, 1, 3, 3, 1, 4), name="W")
    >>> topi.nn.depthwise_conv2d_NCHWc(X, W, 1, 1, 1, "NCHW4c", "NCHW4c").shape
    [1, 2, 8, 8, 4]
    """
    del layout, out_layout
    what = "nn.depthwise_conv2d_NCHWc"
    source, weights = check_rank(Input, 5, what), check_rank(Filter, 6, what)
    block, out_block = source.shape[4], weights.shape[5]
    channels = simplify(source.shape[1] * block)
    multiplier = simplify(ops.floordiv(ops.convert(weights.shape[0] * out_block), channels))
    bordered, (h, w), read = _window(source, weights.shape[2:4], stride, padding, dilation)
    kh, kw = (
        te.reduce_axis((0, weights.shape[2]), "kh"),
        te.reduce_axis((0, weights.shape[3]), "kw"),
    )
    dtype = out_dtype or source.dtype

    def element(n: Any, outer: Any, y: Any, x: Any, inner: Any) -> Any:
        input_channel = ops.floordiv(outer * out_block + inner, multiplier)
        row, column = read(y, x, kh, kw)
        value = bordered(
            n, ops.floordiv(input_channel, block), row, column, ops.floormod(input_channel, block)
        )
        weight = weights(outer, 0, kh, kw, 0, inner)
        return te.sum(value.astype(dtype) * weight.astype(dtype), axis=[kh, kw])

    shape = (source.shape[0], weights.shape[0], h, w, out_block)
    name = "depthwise_conv2d_NCHWc"
    return compute(shape, element, name="DepthwiseConv2d", tag=name)


def _window(source: Tensor, window: Any, stride: Sizes, padding: Padding, dilation: Sizes) -> Any:
    """The padded data, the spatial extents of the output, and the function of the input indices."""
    steps, gaps = as_pair(stride, 2, "nn stride"), as_pair(dilation, 2, "nn dilation")
    widths = [simplify((size - 1) * gap + 1) for size, gap in zip(window, gaps, strict=True)]
    low, high = get_pad_tuple_generic(padding, widths)
    bordered = padded(source, [0, 0, *low, 0], [0, 0, *high, 0], 0, "data_pad")
    extents = [
        simplify(ops.floordiv(ops.convert(extent - width), step) + 1)
        for extent, width, step in zip(bordered.shape[2:4], widths, steps, strict=True)
    ]

    def read(y: Any, x: Any, kh: Any, kw: Any) -> tuple[Any, Any]:
        return y * steps[0] + kh * gaps[0], x * steps[1] + kw * gaps[1]

    return bordered, extents, read


def unpack_NCHWc_to_nchw(packed_out: Tensor, out_dtype: str) -> Tensor:
    """The tensor (batch, channel, height, width, block) in the layout NCHW.

    >>> X = te.placeholder((1, 2, 8, 8, 4), name="X")
    >>> topi.nn.unpack_NCHWc_to_nchw(X, "float32").shape
    [1, 8, 8, 8]
    """
    source = check_rank(packed_out, 5, "nn.unpack_NCHWc_to_nchw")
    n, channels, h, w, block = source.shape
    return te.compute(
        (n, simplify(channels * block), h, w),
        lambda b, c, y, x: source(b, ops.floordiv(c, block), y, x, ops.floormod(c, block)).astype(
            out_dtype
        ),
        name="output_unpack",
        tag="injective,unpack_nchwc",
    )


def dense_pack(
    data: Tensor, weight: Tensor, bias: Tensor | None = None, out_dtype: str | None = None
) -> Tensor:
    """data @ weight.T + bias, where the weight is (out / block, in, block).

    >>> X, W = te.placeholder((4, 8), name="X"), te.placeholder((2, 8, 16), name="W")
    >>> topi.nn.dense_pack(X, W).shape
    [4, 32]
    """
    source, packed = check_rank(data, 2, "nn.dense_pack"), check_rank(weight, 3, "nn.dense_pack")
    check_same(packed.shape[1], source.shape[1], "nn.dense_pack", "inner extent of weight")
    dtype, block = out_dtype or source.dtype, packed.shape[2]
    k = te.reduce_axis((0, packed.shape[1]), "k")
    product = te.compute(
        (source.shape[0], simplify(packed.shape[0] * block)),
        lambda y, x: te.sum(
            source(y, k).astype(dtype)
            * packed(ops.floordiv(x, block), k, ops.floormod(x, block)).astype(dtype),
            axis=k,
        ),
        name="T_dense_pack",
        tag="dense_pack",
    )
    if bias is None:
        return product
    return tensor_of(product.shape, lambda i, j: product(i, j) + bias(j), "bias_add", "broadcast")
