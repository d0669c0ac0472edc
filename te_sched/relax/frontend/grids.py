"""Images read at coordinates that a tensor has, as tensor expressions: at those of a grid, and in
windows whose elements are moved.

Places of elements and their weights are tensors of their own, which all channels share. Must not
know the format of a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from te_sched import te
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Expr
from te_sched.te.tensor import Tensor
from te_sched.topi.image.resampling import spline
from te_sched.topi.utils import tensor_of

_ALPHA = -0.75  # of the cubic spline
_OFFSETS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}  # of the elements around


def grid_sample(x: Tensor, grid: Tensor, method: str, padding: str, aligns_corners: bool) -> Tensor:
    """The values of images at coordinates between -1 and 1, the begin and the end of a dimension.

    Parameters
    ----------
    x : [batch, channels, *sizes].
    grid : [batch, *others, dimensions]; the coordinate along the last dimension is the first one.
    method : "nearest", "linear" or "cubic".
    padding : what is outside: "zeros", "border" (the last elements) or "reflection".
    aligns_corners : whether -1 and 1 are the centers of the last elements, else their borders.
    """
    wide = "float32" if dtypes.is_small_float(x.dtype) else x.dtype
    shape = list(grid.shape[:-1])
    axes = []
    for dim, size in zip(reversed(range(len(x.shape) - 2)), x.shape[2:], strict=True):
        axis = _Axis(shape, size, wide, padding, aligns_corners)
        axes.append(_taps(axis, axis.coordinates(grid, dim), method))

    value_of = _sum_of(x, axes, wide, padding == "zeros")

    def value(batch: Expr, channel: Expr, *rest: Expr) -> Expr:
        return value_of(batch, channel, (batch, *rest))

    name = "T_grid_sample"
    result = tensor_of([*x.shape[:2], *shape[1:]], value, name, "")
    return _narrow(result, x.dtype, name)


class Windows(NamedTuple):
    """The windows of a convolution: the sizes of one, steps, and borders before each dimension."""

    kernel: Sequence[int]
    strides: Sequence[int]
    dilations: Sequence[int]
    before: Sequence[int]


def deformed_windows(
    x: Tensor, offsets: Tensor, mask: Tensor | None, windows: Windows, groups: int
) -> Tensor:
    """The elements of windows, each moved by an offset and times that of a mask: [batch, channels,
    elements of a window, *windows]. Between elements values are linear; 0 is outside.

    Parameters
    ----------
    x : [batch, channels, *sizes].
    offsets : [batch, groups * elements of a window * dimensions, *windows].
    mask : [batch, groups * elements of a window, *windows], or None for 1.
    groups : the number of groups of channels that have offsets of their own.
    """
    rank, count = len(windows.kernel), math.prod(windows.kernel)
    wide = "float32" if dtypes.is_small_float(x.dtype) else x.dtype
    channels = x.shape[1] // groups  # of a group
    shape = [x.shape[0], *map(ops.const, (groups, count)), *offsets.shape[2:]]

    def coordinates(axis: int) -> Tensor:
        inner = math.prod(windows.kernel[axis + 1 :])

        def element(batch: Expr, group: Expr, k: Expr, *window: Expr) -> Expr:
            position = window[axis] * windows.strides[axis] - windows.before[axis]
            position = position + k // inner % windows.kernel[axis] * windows.dilations[axis]
            offset = offsets(batch, (group * count + k) * rank + axis, *window)
            return ops.cast(wide, position) + ops.cast(wide, offset)

        return tensor_of(shape, element, "T_coordinates", "")

    axes = [
        _taps(_Axis(shape, size, wide, "zeros", True), coordinates(axis), "linear")
        for axis, size in enumerate(x.shape[2:])
    ]
    value_of = _sum_of(x, axes, wide, True)

    def value(batch: Expr, channel: Expr, *rest: Expr) -> Expr:
        return value_of(batch, channel, (batch, channel // channels, *rest))

    name = "T_deformed"
    result = tensor_of([*x.shape[:2], *shape[2:]], value, name, "")
    if mask is None:
        return _narrow(result, x.dtype, name)

    def masked(batch: Expr, channel: Expr, k: Expr, *window: Expr) -> Expr:
        factor = mask(batch, channel // channels * count + k, *window)
        return result(batch, channel, k, *window) * ops.cast(wide, factor)

    return _narrow(tensor_of(result.shape, masked, "T_masked", ""), x.dtype, name)


def _narrow(tensor: Tensor, dtype: str, name: str) -> Tensor:
    """A tensor with a dtype; itself if it has it."""
    if tensor.dtype == dtype:
        return tensor
    return tensor_of(tensor.shape, lambda *i: ops.cast(dtype, tensor(*i)), f"{name}_cast", "")


def _sum_of(
    x: Tensor, axes: Sequence[_Taps], wide: str, has_zeros: bool
) -> Callable[[Expr, Expr, Sequence[Expr]], Expr]:
    """The weighted sum of the elements around a coordinate: of a batch and a channel, and the index
    of the coordinate; places of -1 are zeros.
    """
    taps = [te.reduce_axis((0, axis.places.shape[-1]), f"tap{n}") for n, axis in enumerate(axes)]

    def value(batch: Expr, channel: Expr, index: Sequence[Expr]) -> Expr:
        places = [axis.places(*index, tap) for axis, tap in zip(axes, taps, strict=True)]
        element = ops.cast(wide, x(batch, channel, *places))
        if has_zeros:
            is_inside = te.all(*[position >= 0 for position in places])
            element = te.if_then_else(is_inside, element, ops.const(0, wide))
        for axis, tap in zip(axes, taps, strict=True):
            if axis.weights is not None:
                element = element * axis.weights(*index, tap)
        return te.sum(element, axis=taps)

    return value


class _Taps(NamedTuple):
    """The places of the elements around each coordinate, in a last dimension, -1 for none, and
    their weights.
    """

    places: Tensor
    weights: Tensor | None


class _Axis:
    """Coordinates of a shape along a dimension of a size, in elements."""

    def __init__(
        self, shape: Sequence[Expr], size: Expr, dtype: str, padding: str, aligns_corners: bool
    ) -> None:
        self.shape, self.size, self.dtype = list(shape), size, dtype
        self.padding, self.aligns_corners = padding, aligns_corners

    def coordinates(self, grid: Tensor, dim: int) -> Tensor:
        """The coordinates of a grid from -1 to 1, at a place of its last dimension, in elements."""
        extent, one, half = self.extent, self.number(1), self.number(0.5)

        def element(*index: Expr) -> Expr:
            v = ops.cast(self.dtype, grid(*index, dim))
            if self.aligns_corners:
                return (v + one) * half * (extent - one)
            return ((v + one) * extent - one) * half

        return tensor_of(self.shape, element, "T_coordinates", "")

    @property
    def extent(self) -> Expr:
        """The size of the dimension, as a number of the dtype of coordinates."""
        return ops.cast(self.dtype, self.size)

    def number(self, value: float) -> Expr:
        """A constant of the dtype of coordinates."""
        return ops.const(value, self.dtype)

    def mapped(self, tensor: Tensor, function: Callable[[Expr], Expr], name: str) -> Tensor:
        """A tensor of a function of each coordinate."""
        return tensor_of(tensor.shape, lambda *i: function(tensor(*i)), f"T_{name}", "")

    def moved(self, tensor: Tensor) -> Tensor:
        """Coordinates as the padding moves them: to elements that exist, but for zeros."""
        if self.padding == "reflection":
            tensor = self.mapped(self.mapped(tensor, self._rest, "rest"), self._folded, "folded")
        return tensor if self.padding == "zeros" else self.mapped(tensor, self._clipped, "clipped")

    def _span(self) -> tuple[Expr, Expr]:
        """The distance of the points at which coordinates are reflected, and the first of them."""
        shift = self.number(0 if self.aligns_corners else 0.5)
        return self.extent - self.number(1) + shift + shift, shift

    def _rest(self, v: Expr) -> Expr:
        """The distance of a coordinate from the first point, within two spans."""
        span, shift = self._span()
        period = ops.maximum(span + span, self.number(1e-6))
        distance = te.abs(v + shift)
        return distance - intrinsics.floor(distance / period) * period

    def _folded(self, v: Expr) -> Expr:
        span, shift = self._span()
        return ops.minimum(v, span + span - v) - shift

    def _clipped(self, v: Expr) -> Expr:
        """A coordinate of an element that exists; of NaN the first one."""
        low = te.select(v > self.number(0), v, self.number(0))
        return ops.minimum(low, self.extent - self.number(1))

    def place(self, v: Expr) -> Expr:
        """The element at a whole number; -1 outside."""
        if self.padding == "zeros":
            is_inside = te.all(v >= self.number(0), v < self.extent)
            v = te.select(is_inside, v, self.number(-1))
        return ops.cast("int64", v)


def _taps(axis: _Axis, coordinates: Tensor, method: str) -> _Taps:
    """The elements around coordinates along a dimension."""
    offsets = _OFFSETS[method]
    shape, is_cubic = [*axis.shape, len(offsets)], method == "cubic"
    if method == "nearest":
        low = axis.mapped(axis.moved(coordinates), intrinsics.nearbyint, "nearest")
    else:  # elements that a spline reads are moved one by one
        coordinates = coordinates if is_cubic else axis.moved(coordinates)
        low = axis.mapped(coordinates, intrinsics.floor, "low")

    def position(*index: Expr) -> Expr:
        *at, tap = index
        return low(*at) + ops.cast(axis.dtype, tap + offsets[0])

    positions = tensor_of(shape, position, "T_position", "")
    if is_cubic:
        positions = axis.moved(positions)
    elif method == "linear" and axis.padding != "zeros":
        positions = axis.mapped(positions, axis._clipped, "last")
    places = axis.mapped(positions, axis.place, "place")
    if method == "nearest":
        return _Taps(places, None)

    def weight(*index: Expr) -> Expr:
        *at, tap = index
        rest = coordinates(*at) - low(*at)
        weights = spline(rest, _ALPHA) if is_cubic else [axis.number(1) - rest, rest]
        return reduce(
            lambda other, n: te.select(ops.equal(tap, n), weights[n], other),
            range(len(weights) - 1),
            weights[-1],
        )

    return _Taps(places, tensor_of(shape, weight, "T_weight", ""))
