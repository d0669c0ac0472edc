"""Reference layers in numpy, written as loops from their definitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def transposed(data: Array, kernel: Array, stride: int, padding: int, output_padding: int) -> Array:
    """A transposed convolution: each element adds its multiple of the kernel to the output."""
    window, count = kernel.shape[2:], kernel.ndim - 2
    extents = [
        (n - 1) * stride + k + output_padding for n, k in zip(data.shape[2:], window, strict=True)
    ]
    full = np.zeros((data.shape[0], kernel.shape[1], *extents), "float64")
    for place in itertools.product(*map(range, data.shape[2:])):
        at = tuple(slice(p * stride, p * stride + k) for p, k in zip(place, window, strict=True))
        values = np.tensordot(data[(slice(None), slice(None), *place)], kernel, (1, 0))
        full[(slice(None), slice(None), *at)] += values
    cut = tuple(slice(padding, n - padding) for n in extents)
    return full[(slice(None), slice(None), *cut[:count])]


def pooling(
    data: Array,
    window: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: tuple[int, ...],
    kind: str,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """Pooling of (batch, channel, space...): element by element."""
    count = len(window)
    before, after = padding[:count], padding[count:]
    spans = [(k - 1) * gap + 1 for k, gap in zip(window, dilation, strict=True)]
    sizes = data.shape[2:]
    totals = [n + a + b - span for n, a, b, span in zip(sizes, before, after, spans, strict=True)]
    extents = [
        (-(-total // step) if ceil_mode else total // step) + 1
        for total, step in zip(totals, stride, strict=True)
    ]
    result = np.zeros((*data.shape[:2], *extents), "float64")
    for place in itertools.product(*map(range, extents)):
        values, counted = [], 0
        for offset in itertools.product(*map(range, window)):
            at = [
                p * step + o * gap - a
                for p, step, o, gap, a in zip(place, stride, offset, dilation, before, strict=True)
            ]
            is_inside = all(0 <= x < n for x, n in zip(at, sizes, strict=True))
            in_border = all(x < n + b for x, n, b in zip(at, sizes, after, strict=True))
            counted += is_inside or (count_include_pad and in_border)
            if is_inside:
                values.append(data[(slice(None), slice(None), *at)])
        stacked = np.stack(values)
        mean = stacked.sum(0) / max(counted, 1)
        result[(slice(None), slice(None), *place)] = stacked.max(0) if kind == "max" else mean
    return result


def adaptive(data: Array, sizes: tuple[int, ...], kind: str) -> Array:
    """Adaptive pooling of (batch, channel, space...)."""
    result = np.zeros((*data.shape[:2], *sizes), "float64")
    for place in itertools.product(*map(range, sizes)):
        at = tuple(
            slice(p * n // size, -(-(p + 1) * n // size))
            for p, n, size in zip(place, data.shape[2:], sizes, strict=True)
        )
        block = data[(slice(None), slice(None), *at)]
        axes = tuple(range(2, data.ndim))
        value = block.max(axes) if kind == "max" else block.mean(axes)
        result[(slice(None), slice(None), *place)] = value
    return result


def normalized(x: Array, axes: tuple[int, ...], epsilon: float = 1e-5) -> Array:
    """(x - mean) / sqrt(variance + epsilon) along axes."""
    variance = x.var(axes, keepdims=True)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(variance + epsilon)
