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


def resized(
    data: Array,
    sizes: tuple[int, ...],
    region: tuple[float, ...],
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: float = -0.5,
    bicubic_exclude: int = 0,
    extrapolation_value: float = 0.0,
) -> Array:
    """(batch, channel, space...) resized as ONNX defines, one dimension after the other."""
    mode, count, outside = coordinate_transformation_mode, len(sizes), []
    rounding = rounding_method or ("round" if mode == "align_corners" else "floor")
    result = data if method == "nearest_neighbor" else data.astype("float64")
    for n, size in enumerate(sizes):
        extent, weights = data.shape[2 + n], np.zeros((size, data.shape[2 + n]))
        ends = (region[n], region[n + count]) if mode == "tf_crop_and_resize" else (0.0, 1.0)
        places = [_coordinate(x, extent, size, mode, *ends) for x in range(size)]
        outside.append([not 0 <= place <= extent - 1 for place in places])
        for x, place in enumerate(places):
            for at, weight in _taps(place, method, rounding, bicubic_alpha):
                if not bicubic_exclude or 0 <= at < extent:
                    weights[x, min(max(at, 0), extent - 1)] += weight
            if bicubic_exclude:
                weights[x] /= weights[x].sum()
        if method == "nearest_neighbor":
            result = np.take(result, weights.argmax(1), 2 + n)
        else:
            result = np.moveaxis(np.tensordot(result, weights, (2 + n, 1)), -1, 2 + n)
    if mode == "tf_crop_and_resize":
        for n, here in enumerate(outside):
            result[(slice(None),) * (2 + n) + (np.array(here),)] = extrapolation_value
    return result


def _coordinate(x: int, extent: int, size: int, mode: str, start: float, end: float) -> float:
    scale = extent / size
    if mode == "align_corners":
        return x * (extent - 1) / max(size - 1, 1)
    if mode == "tf_crop_and_resize":
        if size == 1:
            return 0.5 * (start + end) * (extent - 1)
        return start * (extent - 1) + x * (end - start) * (extent - 1) / (size - 1)
    if mode == "pytorch_half_pixel" and size == 1:
        return 0.0
    shift = {"asymmetric": 0.0, "tf_half_pixel_for_nn": 0.0}.get(mode, 0.5)
    return (x + (mode != "asymmetric") * 0.5) * scale - shift


def _taps(place: float, method: str, rounding: str, alpha: float) -> list[tuple[int, float]]:
    """The elements that a coordinate reads, with their weights."""
    below = int(np.floor(place))
    t = place - below
    if method == "nearest_neighbor":
        rounded = {
            "round": np.round(place),
            "floor": np.floor(place + 1e-5),
            "ceil": np.ceil(place - 1e-5),
            "round_prefer_floor": np.ceil(place - 0.5),
            "round_prefer_ceil": np.floor(place + 0.5),
        }[rounding]
        return [(int(rounded), 1.0)]
    if method == "linear":
        return [(below, 1 - t), (below + 1, t)]
    found = []
    for at in range(-1, 3):
        d = abs(t - at)
        near = (alpha + 2) * d**3 - (alpha + 3) * d**2 + 1
        far = alpha * (d**3 - 5 * d**2 + 8 * d - 4)
        found.append((below + at, near if d <= 1 else far))
    return found
