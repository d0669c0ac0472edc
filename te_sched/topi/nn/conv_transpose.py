"""Transposed convolutions: gradients of convolutions with respect to their inputs."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi.nn.padding import dilate, get_pad_tuple_generic, pad
from te_sched.topi.utils import (
    Count,
    Padding,
    Sizes,
    as_pair,
    check_divides,
    check_rank,
    check_same,
    compute,
    simplify,
)


def conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
) -> Tensor:
    """A transposed 1D convolution of (batch, in, width) with (in, out, width).

    output_padding : elements to add at the end of each spatial dimension.

    >>> X, W = te.placeholder((1, 4, 8), name="X"), te.placeholder((4, 6, 3), name="W")
    >>> topi.nn.conv1d_transpose_ncw(X, W, 2, 1, "float32", 1).shape
    [1, 6, 16]
    """
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, 1)


def conv2d_transpose_nchw(
    Input: Tensor,
    Filter: Tensor,
    strides: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
) -> Tensor:
    """A transposed 2D convolution of (batch, in, height, width) with (in, out, height, width).

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((4, 6, 3, 3), name="W")
    >>> topi.nn.conv2d_transpose_nchw(X, W, 2, 1, "float32", 1).shape
    [1, 6, 16, 16]
    """
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding, 2)


def conv3d_transpose_ncdhw(
    Input: Tensor,
    Filter: Tensor,
    strides: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
) -> Tensor:
    """A transposed 3D convolution of (batch, in, depth, height, width) with
    (in, out, depth, height, width).

    >>> X, W = te.placeholder((1, 4, 5, 8, 8), name="X"), te.placeholder((4, 6, 3, 3, 3), name="W")
    >>> topi.nn.conv3d_transpose_ncdhw(X, W, 2, 1, "float32", 1).shape
    [1, 6, 10, 16, 16]
    """
    return _transposed(Input, Filter, strides, padding, out_dtype, output_padding, 3)


def group_conv1d_transpose_ncw(
    data: Tensor,
    kernel: Tensor,
    stride: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
    groups: Count,
) -> Tensor:
    """A grouped conv1d_transpose_ncw; the kernel has the output channels of one group.

    >>> X, W = te.placeholder((1, 4, 8), name="X"), te.placeholder((4, 3, 3), name="W")
    >>> topi.nn.group_conv1d_transpose_ncw(X, W, 2, 1, "float32", 1, groups=2).shape
    [1, 6, 16]
    """
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, 1, groups)


def group_conv2d_transpose_nchw(
    data: Tensor,
    kernel: Tensor,
    stride: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
    groups: Count,
) -> Tensor:
    """A grouped conv2d_transpose_nchw; the kernel has the output channels of one group.

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((4, 3, 3, 3), name="W")
    >>> topi.nn.group_conv2d_transpose_nchw(X, W, 2, 1, "float32", 1, groups=2).shape
    [1, 6, 16, 16]
    """
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, 2, groups)


def group_conv3d_transpose_ncdhw(
    data: Tensor,
    kernel: Tensor,
    stride: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
    groups: Count,
) -> Tensor:
    """A grouped conv3d_transpose_ncdhw; the kernel has the output channels of one group.

    >>> X, W = te.placeholder((1, 4, 5, 8, 8), name="X"), te.placeholder((4, 3, 3, 3, 3), name="W")
    >>> topi.nn.group_conv3d_transpose_ncdhw(X, W, 2, 1, "float32", 1, groups=2).shape
    [1, 6, 10, 16, 16]
    """
    return _transposed(data, kernel, stride, padding, out_dtype, output_padding, 3, groups)


def _transposed(
    inp: Tensor,
    filt: Tensor,
    strides: Sizes,
    padding: Padding,
    out_dtype: str | None,
    output_padding: Sizes,
    count: int,
    groups: Count = 1,
) -> Tensor:
    kind = f"conv{count}d_transpose_{('ncw', 'nchw', 'ncdhw')[count - 1]}"
    kind = f"group_{kind}" if groups > 1 else kind
    data, kernel = check_rank(inp, count + 2, kind), check_rank(filt, count + 2, kind)
    _check_channels(data, kernel, groups, kind)
    steps = as_pair(strides, count, f"nn.{kind} strides")
    extra = as_pair(output_padding, count, f"nn.{kind} output_padding", None)
    window = list(kernel.shape[2:])
    low, high = get_pad_tuple_generic(padding, window)
    before = [simplify(k - 1 - p) for k, p in zip(window, low, strict=True)]
    after = [simplify(k - 1 - p + e) for k, p, e in zip(window, high, extra, strict=True)]
    spread = dilate(data, [1, 1, *steps], name="data_dilate")
    bordered = pad(spread, [0, 0, *before], [0, 0, *after], name="data_pad")
    letters = ["d", "h", "w"][-count:]
    per_group, outputs = simplify(ops.floordiv(data.shape[1], groups)), kernel.shape[1]
    flipped = te.compute(
        (kernel.shape[1], kernel.shape[0], *window),
        lambda o, i, *w: kernel(i, o, *[k - 1 - x for k, x in zip(window, w, strict=True)]),
        name="kernel" if count == 1 else "kernel_transform",
        varargs_names=letters,
    )
    dtype = data.dtype if out_dtype is None else out_dtype
    dc = te.reduce_axis((0, per_group), "dc")
    over = [te.reduce_axis((0, k), f"d{x}") for k, x in zip(window, letters, strict=True)]
    extents = [simplify(n - k + 1) for n, k in zip(bordered.shape[2:], window, strict=True)]

    def element(b: Any, c: Any, *w: Any) -> Any:
        places = [x + d for x, d in zip(w, over, strict=True)]
        channel, output = _channels(c, dc.var, per_group, outputs, groups)
        weight = flipped(output, channel, *over).astype(dtype)
        return te.sum(bordered(b, channel, *places).astype(dtype) * weight, axis=[dc, *over])

    return compute(
        (data.shape[0], simplify(outputs * groups), *extents),
        element,
        tag=kind,
        varargs_names=letters,
    )


def _check_channels(data: Tensor, kernel: Tensor, groups: Count, kind: str) -> None:
    check_same(
        kernel.shape[0],
        data.shape[1],
        f"nn.{kind}",
        f"number of input channels of kernel {kernel.name}",
    )
    check_divides(groups, data.shape[1], f"nn.{kind}", "groups", "the number of channels")


def _channels(c: Any, dc: Any, per_group: Any, outputs: Any, groups: Count) -> tuple[Any, Any]:
    """The input channel and the kernel's output channel of output channel c of all groups."""
    if groups <= 1:
        return dc, c
    return ops.floordiv(c, outputs) * per_group + dc, ops.floormod(c, outputs)


def conv_transpose_in_phases(
    data: Tensor,
    kernel: Tensor,
    strides: Sizes,
    padding: Padding,
    out_dtype: str,
    output_padding: Sizes,
    count: int,
    groups: Count = 1,
) -> Tensor:
    """A transposed convolution of some spatial dimensions, as one of convolutions, each for the
    results at one place (phase) of a stride: no product is with a zero between elements.

    It has the values of `conv2d_transpose_nchw` and its kin, and other stages.

    >>> X, W = te.placeholder((1, 4, 8, 8), name="X"), te.placeholder((4, 6, 3, 3), name="W")
    >>> topi.nn.conv_transpose.conv_transpose_in_phases(X, W, 2, 1, "float32", 1, 2).shape
    [1, 6, 16, 16]
    """
    kind = f"conv{count}d_transpose_in_phases"
    _check_channels(data, kernel, groups, kind)
    steps = as_pair(strides, count, f"nn.{kind} strides")
    extra = as_pair(output_padding, count, f"nn.{kind} output_padding", None)
    window, inputs = list(kernel.shape[2:]), list(data.shape[2:])
    low, high = get_pad_tuple_generic(padding, window)
    sizes = [
        simplify((n - 1) * s + k - p - q + e)
        for n, s, k, p, q, e in zip(inputs, steps, window, low, high, extra, strict=True)
    ]
    taps = [simplify(ops.floordiv(k + s - 1, s)) for k, s in zip(window, steps, strict=True)]
    turns = [simplify(ops.floordiv(n + s - 1, s)) for n, s in zip(sizes, steps, strict=True)]
    rest = [simplify(t * s - k) for t, s, k in zip(taps, steps, window, strict=True)]
    last = [
        simplify(ops.maximum(turn - n + ops.floordiv(s - 1 + p, s), 0))
        for turn, n, s, p in zip(turns, inputs, steps, low, strict=True)
    ]
    bordered = pad(data, [0, 0, *[simplify(t - 1) for t in taps]], [0, 0, *last], name="data_pad")
    whole = pad(kernel, [0] * (count + 2), [0, 0, *rest], name="kernel_pad")
    per_group, outputs = simplify(ops.floordiv(data.shape[1], groups)), kernel.shape[1]
    letters = ["d", "h", "w"][-count:]
    dtype = data.dtype if out_dtype is None else out_dtype
    dc = te.reduce_axis((0, per_group), "dc")
    over = [te.reduce_axis((0, t), f"d{x}") for t, x in zip(taps, letters, strict=True)]

    def phase(b: Any, c: Any, *w: Any) -> Any:
        places, parts = [], []
        for at, (tap, step, p) in enumerate(zip(over, steps, low, strict=True)):
            turn, offset = w[2 * at], w[2 * at + 1] + p
            places.append(turn + ops.floordiv(offset, step) + (taps[at] - 1 - tap))
            parts.append(tap * step + ops.floormod(offset, step))
        channel, output = _channels(c, dc.var, per_group, outputs, groups)
        weight = whole(channel, output, *parts).astype(dtype)
        return te.sum(bordered(b, channel, *places).astype(dtype) * weight, axis=[dc, *over])

    channels = simplify(outputs * groups)
    pairs = [size for pair in zip(turns, steps, strict=True) for size in pair]
    phases = te.compute((data.shape[0], channels, *pairs), phase, name="phases")
    parts = (ops.floordiv, ops.floormod)
    return compute(
        (data.shape[0], channels, *sizes),
        lambda b, c, *w: phases(
            b, c, *[part(index, s) for index, s in zip(w, steps, strict=True) for part in parts]
        ),
        tag=kind,
        varargs_names=letters,
    )
