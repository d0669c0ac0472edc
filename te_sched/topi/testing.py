"""Reference operators in numpy, and the schedule functions of a target, with TVM's names.

The reference operators follow the definitions and are slow. Must not know how operators are
declared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from te_sched.schedule.schedule import Schedule
from te_sched.topi import cuda, generic, nn, x86
from te_sched.topi.nn.padding import get_pad_tuple

__all__ = [
    "batch_matmul",
    "conv2d_hwcn_python",
    "conv2d_nchw_python",
    "conv2d_nhwc_python",
    "depthwise_conv2d_python_nchw",
    "dilate_python",
    "get_broadcast_schedule",
    "get_conv2d_nchw_implement",
    "get_elemwise_schedule",
    "get_injective_schedule",
    "get_reduce_schedule",
    "get_softmax_schedule",
    "l2_normalize_python",
    "layer_norm_python",
    "log_softmax_python",
    "lrn_python",
    "one_hot",
    "softmax_python",
    "strided_slice_python",
]

Array = np.ndarray[Any, Any]
ScheduleFunction = Callable[[Any], Schedule]


def convolution(
    data: Array,
    kernel: Array,
    stride: tuple[int, ...],
    before: tuple[int, ...],
    after: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int = 1,
) -> Array:
    """A convolution of (batch, channel, space...) with (out, in, space...), in float64."""
    borders = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    padded = np.pad(data, borders)
    window = kernel.shape[2:]
    out_channels, per_group = kernel.shape[:2]
    extents = [
        (n - (k - 1) * gap - 1) // step + 1
        for n, k, gap, step in zip(padded.shape[2:], window, dilation, stride, strict=True)
    ]
    result = np.zeros((*extents, data.shape[0], out_channels), "float64")
    for channel in range(out_channels):
        first = channel // (out_channels // groups) * per_group
        for position in itertools.product(*map(range, extents)):
            at = tuple(
                slice(p * step, p * step + (k - 1) * gap + 1, gap)
                for p, step, k, gap in zip(position, stride, window, dilation, strict=True)
            )
            read = padded[:, first : first + per_group][(slice(None), slice(None), *at)]
            axes = tuple(range(1, read.ndim))
            result[position][:, channel] = (read * kernel[channel]).sum(axis=axes)
    return np.moveaxis(result, (-2, -1), (0, 1))


def conv2d_nchw_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, groups: int = 1
) -> Array:
    """A convolution of (N, C, H, W) with (out, in, H, W).

    `stride` is a number or two; `padding` a number, two, four (top, left, bottom, right), "SAME" or
    "VALID".
    """
    steps = (stride, stride) if isinstance(stride, int) else tuple(stride)
    top, left, bottom, right = get_pad_tuple(padding, w_np.shape[2:])
    result = convolution(a_np, w_np, steps, (top, left), (bottom, right), (1, 1), groups)
    return result.astype(a_np.dtype)


def conv2d_nhwc_python(
    a_np: Array, w_np: Array, stride: Any, padding: Any, groups: int = 1
) -> Array:
    """A convolution of (N, H, W, C) with (H, W, in, out)."""
    result = conv2d_nchw_python(
        a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups
    )
    return result.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np: Array, w_np: Array, stride: Any, padding: Any) -> Array:
    """A convolution of (H, W, C, N) with (H, W, in, out)."""
    result = conv2d_nchw_python(
        a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding
    )
    return result.transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(
    input_np: Array, filter_np: Array, stride: Any, padding: Any
) -> Array:
    """Each channel of (N, C, H, W) convolved by its own kernels, (C, multiplier, H, W)."""
    channels, multiplier = filter_np.shape[:2]
    kernel = filter_np.reshape(channels * multiplier, 1, *filter_np.shape[2:])
    return conv2d_nchw_python(input_np, kernel, stride, padding, channels)


def dilate_python(input_np: Array, strides: Sequence[int], dilation_value: float = 0.0) -> Array:
    """The array with strides[d] - 1 elements dilation_value between elements of dimension d."""
    shape = [(n - 1) * step + 1 for n, step in zip(input_np.shape, strides, strict=True)]
    result = np.full(shape, dilation_value, input_np.dtype)
    result[tuple([slice(None, None, step) for step in strides])] = input_np
    return result


def batch_matmul(
    x: Array, y: Array, out_dtype: str | None = None, trans_x: bool = False, trans_y: bool = True
) -> Array:
    """The product of each pair of matrices; by default (batch, M, K) and (batch, N, K)."""
    a = x.transpose(0, 2, 1) if trans_x else x
    b = y.transpose(0, 2, 1) if trans_y else y
    dtype = out_dtype or x.dtype
    return np.asarray(np.matmul(a.astype(dtype), b.astype(dtype)))


def softmax_python(a_np: Array, axis: int = 1) -> Array:
    """exp(a) over its sum along an axis."""
    powers = np.exp(a_np - a_np.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def log_softmax_python(a_np: Array, axis: int = 1) -> Array:
    """The logarithm of `softmax_python`."""
    moved = a_np - a_np.max(axis, keepdims=True)
    return np.asarray(moved - np.log(np.exp(moved).sum(axis, keepdims=True)))


def l2_normalize_python(a_np: Array, eps: float, axis: Any = None) -> Array:
    """a over the square root of the sum of its squares, which is at least eps."""
    axes = tuple(axis) if isinstance(axis, list) else axis
    return np.asarray(a_np / np.sqrt(np.maximum((a_np**2).sum(axes, keepdims=True), eps)))


def layer_norm_python(
    data: Array, gamma: Array, beta: Array | None, axis: Any, epsilon: float = 1e-5
) -> Array:
    """(data - mean) / sqrt(variance + epsilon) along axes, times gamma, plus beta."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shape = [n if d in axes else 1 for d, n in enumerate(data.shape)]
    variance = data.var(axes, keepdims=True)
    normal = (data - data.mean(axes, keepdims=True)) / np.sqrt(variance + epsilon)
    scaled = normal * gamma.reshape(shape)
    return np.asarray(scaled if beta is None else scaled + beta.reshape(shape))


def lrn_python(a_np: Array, size: int, axis: int, bias: float, alpha: float, beta: float) -> Array:
    """Local response normalization over `size` neighbors along an axis."""
    rolled = np.moveaxis(a_np, axis, 0)
    result = np.empty_like(rolled)
    for n in range(len(rolled)):
        near = rolled[max(0, n - size // 2) : n + size // 2 + 1]
        result[n] = rolled[n] / (bias + alpha / size * (near**2).sum(0)) ** beta
    return np.moveaxis(result, 0, axis)


def one_hot(
    indices: Array, on_value: float, off_value: float, depth: int, axis: int, dtype: str
) -> Array:
    """on_value where the index along a new dimension equals indices, else off_value."""
    marks = np.arange(depth) == np.asarray(indices)[..., None]
    result = np.where(marks, on_value, off_value).astype(dtype)
    return np.moveaxis(result, -1, axis)


def strided_slice_python(
    data: Array,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    slice_mode: str = "end",
    axes: Sequence[int] | None = None,
) -> Array:
    """data[begin:end:stride] in each dimension, or in those of `axes`.

    With slice_mode "size", `end` has numbers of elements; -1 means all remaining.
    """
    at = [slice(None)] * data.ndim
    for number, axis in enumerate(range(len(begin)) if axes is None else axes):
        step = strides[number] if number < len(strides) else 1
        stop: int | None = end[number] if number < len(end) else None
        if slice_mode == "size" and stop is not None:
            step, stop = 1, None if stop < 0 else begin[number] + stop
        at[axis] = slice(begin[number], stop, step)
    return data[tuple(at)]


def _of_target(target: Any) -> Any:
    """The module of schedule functions of a target."""
    kind = target.partition(" ")[0] if isinstance(target, str) else target.kind.name
    return {"llvm": x86, "cuda": cuda}.get(kind, generic)


def get_injective_schedule(target: Any) -> ScheduleFunction:
    """The function that schedules injective operators for a target."""
    schedule: ScheduleFunction = _of_target(target).schedule_injective
    return schedule


get_elemwise_schedule = get_broadcast_schedule = get_injective_schedule


def get_reduce_schedule(target: Any) -> ScheduleFunction:
    """The function that schedules reductions for a target."""
    schedule: ScheduleFunction = _of_target(target).schedule_reduce
    return schedule


def get_softmax_schedule(target: Any) -> ScheduleFunction:
    """The function that schedules softmax for a target."""
    schedule: ScheduleFunction = _of_target(target).schedule_softmax
    return schedule


def get_conv2d_nchw_implement(target: Any) -> tuple[Callable[..., Any], ScheduleFunction]:
    """The convolution of (N, C, H, W), and the function that schedules it for a target."""
    return nn.conv2d_nchw, _of_target(target).schedule_conv2d_nchw
