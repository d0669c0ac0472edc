"""Images read at coordinates that a tensor has, as tensor expressions.

Places of elements and their weights are tensors of their own, which all channels share. Must not
know the format of a model.
"""

from __future__ import annotations

from collections.abc import Callable
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
    sizes = list(x.shape[2:])
    wide = "float32" if dtypes.is_small_float(x.dtype) else x.dtype
    axes = [
        _taps(_Axis(grid, place, size, wide, padding, aligns_corners), method)
        for place, size in zip(reversed(range(len(sizes))), sizes, strict=True)
    ]
    taps = [te.reduce_axis((0, len(_OFFSETS[method])), f"tap{n}") for n in range(len(sizes))]
    zero = ops.const(0, wide)

    def value(batch: Expr, channel: Expr, *rest: Expr) -> Expr:
        places = [axis.places(batch, *rest, tap) for axis, tap in zip(axes, taps, strict=True)]
        element = ops.cast(wide, x(batch, channel, *places))
        if padding == "zeros":
            element = te.if_then_else(te.all(*[place >= 0 for place in places]), element, zero)
        for axis, tap in zip(axes, taps, strict=True):
            if axis.weights is not None:
                element = element * axis.weights(batch, *rest, tap)
        return te.sum(element, axis=taps)

    name = "T_grid_sample"
    result = tensor_of([*x.shape[:2], *grid.shape[1:-1]], value, name, "")
    return (
        result
        if wide == x.dtype
        else tensor_of(result.shape, lambda *i: ops.cast(x.dtype, result(*i)), f"{name}_cast", "")
    )


class _Taps(NamedTuple):
    """The places of the elements around each coordinate, in a last dimension, -1 for none, and
    their weights.
    """

    places: Tensor
    weights: Tensor | None


class _Axis:
    """The coordinates along a dimension, in elements."""

    def __init__(
        self, grid: Tensor, place: int, size: Expr, dtype: str, padding: str, aligns_corners: bool
    ) -> None:
        self.shape, self.size, self.dtype = list(grid.shape[:-1]), size, dtype
        self.padding, self.aligns_corners = padding, aligns_corners
        extent, one, half = self.extent, self.number(1), self.number(0.5)

        def element(*index: Expr) -> Expr:
            v = ops.cast(dtype, grid(*index, place))
            if aligns_corners:
                return (v + one) * half * (extent - one)
            return ((v + one) * extent - one) * half

        self.coordinates = tensor_of(self.shape, element, "T_coordinates", "")

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


def _taps(axis: _Axis, method: str) -> _Taps:
    """The elements around coordinates along a dimension."""
    offsets = _OFFSETS[method]
    shape, is_cubic = [*axis.shape, len(offsets)], method == "cubic"
    if method == "nearest":
        low = axis.mapped(axis.moved(axis.coordinates), intrinsics.nearbyint, "nearest")
    else:  # elements that a spline reads are moved one by one
        coordinates = axis.coordinates if is_cubic else axis.moved(axis.coordinates)
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
