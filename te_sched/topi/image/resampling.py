"""Resampling of tensors along some axes: images of other sizes, as TVM, ONNX and torch have them.

An index of the result stands for a coordinate of the input, a number between the indices of its
elements: the nearest element is read there, or a sum of the elements around, weighted for each
axis. `Resampling` describes all of it; `resize1d` and its kin and the importers of models make such
descriptions. Must not know layouts and operators of graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import Size, as_constant, check_choice, tensor_of

METHODS = ("nearest_neighbor", "linear", "cubic")
CROP = "tf_crop_and_resize"
TRANSFORMATIONS = (
    *("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"),
    *(CROP, "half_pixel_symmetric"),
)
ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
TOLERANCE = 1e-5  # of coordinates that are whole numbers but for rounding errors, in TVM

_RADIUS = {"linear": 1, "cubic": 2}  # of the weights, in elements

Real = Expr | float  # a number that may depend on sizes
_Weighted = list[tuple[Expr, Expr]]  # indices of elements, with their weights


@dataclass(frozen=True)
class ResampledAxis:
    """An axis that gets another size.

    Parameters
    ----------
    axis : its position in the shape.
    size : the new extent.
    factor : the new extent over the old one, as far as it is not the ratio of both; indices are
        divided by it, unless corners are aligned.
    step : in place of a factor its inverse, which indices are multiplied with.
    start, end : the part of the axis for "tf_crop_and_resize", as fractions of its extent.
    """

    axis: int
    size: Size
    factor: Real | None = None
    step: Real | None = None
    start: Real = 0.0
    end: Real = 1.0


@dataclass(frozen=True)
class Resampling:
    """How the elements of a resampled tensor are computed.

    Parameters
    ----------
    method : "nearest_neighbor", "linear" or "cubic".
    transformation : how an index of the result is a coordinate of the input, as ONNX defines
        "half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "pytorch_half_pixel",
        "tf_half_pixel_for_nn" and "tf_crop_and_resize".
    rounding : of the nearest neighbor: "round", "floor", "ceil", "round_prefer_floor",
        "round_prefer_ceil"; by default "round" for align_corners and "floor" for others.
    alpha : the coefficient of cubic splines.
    excludes_outside : whether elements outside of the tensor have weight 0, instead of the value of
        the border.
    outside : the result at coordinates outside of the tensor, for "tf_crop_and_resize".
    is_separable : whether sums are computed along one axis after the other, with a table of weights
        for each; else at once, as in TVM.
    antialias : whether weights reach over more elements where the result is smaller, so that all
        elements of the tensor count. Its sums are separable.
    tolerance : what is added to coordinates before they are rounded, for errors of rounding.
    dtype : that of coordinates and weights.

    Raises
    ------
    DeclarationError for words that are not listed.

    >>> Resampling("linear", "align_corners").method
    'linear'
    """

    method: str
    transformation: str = "half_pixel"
    rounding: str = ""
    alpha: float = -0.5
    excludes_outside: bool = False
    outside: Real = 0.0
    antialias: bool = False
    is_separable: bool = False
    tolerance: float = 0.0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_choice(self.method, METHODS, "image.resize", "method")
        check_choice(
            self.transformation, TRANSFORMATIONS, "image.resize", "coordinate_transformation_mode"
        )
        check_choice(self.rounding, ROUNDINGS, "image.resize", "rounding_method")
        if not self.rounding:
            default = "round" if self.transformation == "align_corners" else "floor"
            object.__setattr__(self, "rounding", default)


def resample(
    data: Tensor,
    axes: Sequence[ResampledAxis],
    resampling: Resampling,
    out_dtype: str | None = None,
    shape: Sequence[Size] | None = None,
) -> Tensor:
    """The tensor with other sizes along some axes.

    Parameters
    ----------
    out_dtype : the dtype of the result, that of the data by default.
    shape : the shape of the result, if it is not the one that follows from the axes.

    Raises
    ------
    DeclarationError for a shape of another number of dimensions.

    >>> X = te.placeholder((1, 8), name="X")
    >>> resample(X, [ResampledAxis(1, 3)], Resampling("linear", antialias=True)).shape
    [1, 3]
    """
    sizes = list(data.shape)
    for axis in axes:
        sizes[axis.axis] = axis.size
    if shape is not None and len(shape) != len(sizes):
        raise DeclarationError(
            f"resample: output_shape has {len(shape)} dimensions, expected {len(sizes)}",
            "",
            "give an extent for each dimension",
        )
    dtype = out_dtype or data.dtype
    is_separable = resampling.antialias or resampling.is_separable
    if is_separable and resampling.method != "nearest_neighbor":
        return _filtered(data, axes, resampling, dtype)

    def element(*i: Expr) -> Expr:
        coordinates = [_Coordinate(resampling, axis, i[axis.axis], data) for axis in axes]

        def read(indices: Sequence[Expr]) -> Expr:
            index = list(i)
            for axis, position in zip(axes, indices, strict=True):
                index[axis.axis] = position
            return data(*index)

        return ops.cast(dtype, _element(coordinates, read, resampling))

    return tensor_of(sizes if shape is None else shape, element, "resize", prefix="i")


class _Coordinate:
    """The coordinate that an index of the result stands for, and the elements around it."""

    def __init__(
        self, resampling: Resampling, axis: ResampledAxis, index: Expr, data: Tensor
    ) -> None:
        self.resampling, self.index, self.axis = resampling, index, axis
        self.size = ops.convert(axis.size)
        self.extent = ops.convert(data.shape[axis.axis])
        self.last = ops.sub(self.extent, 1)
        self.value = self._value()

    def _value(self) -> Expr:
        transformation, x = self.resampling.transformation, self.real(self.index)
        half = self.real(0.5)
        if transformation == "asymmetric":
            return self._scaled(x)
        if transformation == "align_corners":
            return ops.mul(self._aligned_step(), x)
        if transformation == CROP:
            return self._cropped(x)
        scaled = self._scaled(ops.add(x, half))
        if transformation == "tf_half_pixel_for_nn":
            return scaled
        if transformation == "half_pixel_symmetric" and self.axis.factor is not None:
            scaled = ops.add(self._margin(self.axis.factor), scaled)
        shifted = ops.sub(scaled, half)
        if transformation == "pytorch_half_pixel":
            return _choice(ops.equal(self.size, 1), self.real(0.0), shifted)
        return shifted

    def _margin(self, factor: Real) -> Expr:
        """The part of the axis before the first element of the result, where what the sizes lack to
        the factor is split between both ends.
        """
        length = ops.mul(self.real(self.extent), self.real(factor))
        rest = ops.sub(self.real(1.0), ops.div(self.real(self.size), length))
        return ops.mul(ops.div(self.real(self.extent), self.real(2.0)), rest)

    def _scaled(self, x: Expr) -> Expr:
        """A coordinate of the result times the distance of two neighbors in the input."""
        if self.axis.factor is not None:  # in float64, where a product with 1 / factor is as exact
            factor = ops.cast("float64", self.real(self.axis.factor))
            return self.real(ops.div(ops.cast("float64", x), factor))
        step, is_number = self.step(), self.resampling.transformation == "asymmetric"
        return ops.mul(step, x) if is_number else ops.mul(x, step)

    def step(self) -> Expr:
        """The distance, in the input, of two neighbors of the result, for corners not aligned."""
        if self.axis.step is not None:
            return self.real(self.axis.step)
        if self.axis.factor is not None:
            return ops.div(self.real(1.0), self.real(self.axis.factor))
        return ops.div(self.real(self.extent), self.real(self.size))

    def _aligned_step(self) -> Expr:
        steps = self.real(ops.maximum(ops.sub(self.size, 1), 1))
        return ops.div(self.real(self.last), steps)

    def _cropped(self, x: Expr) -> Expr:
        start, end = self.axis.start, self.axis.end
        steps = self.real(ops.maximum(ops.sub(self.size, 1), 1))
        last = self.real(self.last)
        moved = ops.div(ops.mul(ops.mul(x, self.real(end - start)), last), steps)
        first = ops.mul(self.real(start), last)
        middle = ops.mul(ops.mul(self.real(0.5), self.real(start + end)), last)
        return _choice(ops.equal(self.size, 1), middle, ops.add(first, moved))

    def real(self, value: Real) -> Expr:
        """A number in the dtype of coordinates."""
        if isinstance(value, float) and self.resampling.dtype == "float64":
            return ops.const(value, "float64")
        return ops.cast(self.resampling.dtype, ops.convert(value))

    def within(self, index: Expr) -> Expr:
        """The element at an index, or at the border beyond which it is."""
        return ops.maximum(ops.minimum(index, self.last), 0)

    def nearest(self) -> Expr:
        """The index of the element that is nearest."""
        times = self._times()
        if times is not None:
            return self.within(ops.truncdiv(self.index, times))
        x, rounding = self.value, self.resampling.rounding
        shift = 0.5 if rounding.startswith("round_") else self.resampling.tolerance
        amount = self.real(shift)
        if rounding == "round":
            rounded = te.round(x)
        elif rounding in ("floor", "round_prefer_ceil"):
            rounded = te.floor(ops.add(x, amount) if shift else x)
        else:
            rounded = te.ceil(ops.sub(x, amount) if shift else x)
        return self.within(ops.cast(self.extent.dtype, rounded))

    def _times(self) -> int | None:
        """How often each element is repeated, where that is all that is done."""
        if self.resampling.transformation != "asymmetric" or self.resampling.rounding != "floor":
            return None
        if self.axis.factor is not None or self.axis.step is not None:
            return None
        size, extent = as_constant(self.size), as_constant(self.extent)
        return size // extent if size and extent and size % extent == 0 else None

    def weighted(self) -> _Weighted:
        """The indices of the elements around the coordinate, with their weights."""
        below = te.floor(self.value)
        index = ops.cast(self.extent.dtype, below)
        if self.resampling.method == "linear":
            places = [index, ops.add(index, 1)]
            t = ops.sub(self.value, self.real(index))
            weights = [ops.sub(self.real(1.0), t), t]
        else:
            places = [ops.sub(ops.add(index, n), 1) for n in range(4)]
            weights = spline(ops.sub(self.value, below), self.resampling.alpha)
        if self.resampling.excludes_outside and self.resampling.method == "cubic":
            weights = self._inside(places, weights)
        pairs = zip(places, weights, strict=True)
        return [(self.within(position), weight) for position, weight in pairs]

    def _inside(self, places: list[Expr], weights: list[Expr]) -> list[Expr]:
        """The weights, 0 outside of the image, of sum 1."""
        kept = []
        for position, weight in zip(places, weights, strict=True):
            is_outside = te.any(ops.less(position, 0), ops.greater(position, self.last))
            kept.append(te.if_then_else(is_outside, self.real(0.0), weight))
        total = kept[0] + kept[1] + kept[2] + kept[3]
        return [ops.div(weight, total) for weight in kept]


def _element(
    coordinates: list[_Coordinate],
    read: Callable[[Sequence[Expr]], Expr],
    resampling: Resampling,
) -> Expr:
    """An element of the result."""
    if resampling.method == "nearest_neighbor":
        value = read([coordinate.nearest() for coordinate in coordinates])
    else:
        value = _sum([coordinate.weighted() for coordinate in coordinates], [], read)
    return _or_outside(coordinates, value, resampling)


def _or_outside(coordinates: list[_Coordinate], value: Expr, resampling: Resampling) -> Expr:
    """An element, or the value outside of the tensor."""
    if resampling.transformation != CROP:
        return value
    outside = ops.cast(value.dtype, ops.convert(resampling.outside))
    for coordinate in coordinates:
        is_high = ops.greater(coordinate.value, coordinate.real(coordinate.last))
        value = te.if_then_else(is_high, outside, value)
        is_low = ops.less(coordinate.value, coordinate.real(0.0))
        value = te.if_then_else(is_low, outside, value)
    return value


def _sum(
    weighted: list[_Weighted], indices: list[Expr], read: Callable[[Sequence[Expr]], Expr]
) -> Expr:
    """The sum of elements, weighted for each axis; float64 is computed as such."""
    if not weighted:
        value = read(indices)
        return value if value.dtype == "float64" else ops.cast("float32", value)
    parts = []
    for index, weight in weighted[0]:
        part = _sum(weighted[1:], [*indices, index], read)
        parts.append(ops.mul(part, ops.cast(part.dtype, weight)))
    total = parts[0]
    for part in parts[1:]:
        total = ops.add(total, part)
    return total


def spline(t: Expr, alpha: float) -> list[Expr]:
    """The weights of the four elements around a coordinate, which is t beyond the second one (cubic
    convolution: Keys, 1981).

    >>> [weight.value for weight in spline(ops.const(0.5, "float32"), -0.5)]
    [-0.0625, 0.5625, 0.5625, -0.0625]
    """
    square, unit = ops.mul(t, t), ops.const(1.0, t.dtype)
    cube = ops.mul(square, t)
    a, a2, a3, double = [ops.const(v, t.dtype) for v in (alpha, alpha + 2, alpha + 3, 2.0)]
    minus, b2, b3 = [ops.const(v, t.dtype) for v in (-alpha, -(alpha + 2), 2 * alpha + 3)]
    return [
        ops.mul(a, ops.add(ops.sub(cube, ops.mul(double, square)), t)),
        ops.add(ops.sub(ops.mul(a2, cube), ops.mul(a3, square)), unit),
        ops.sub(ops.add(ops.mul(b2, cube), ops.mul(b3, square)), ops.mul(a, t)),
        ops.add(ops.mul(minus, cube), ops.mul(a, square)),
    ]


# Sums along one axis after the other


def _filtered(
    data: Tensor, axes: Sequence[ResampledAxis], resampling: Resampling, dtype: str
) -> Tensor:
    """The tensor, resampled along one axis after the other by weights that reach over as many
    elements as one of the result stands for.
    """
    total = "float64" if data.dtype == "float64" else "float32"
    for axis in reversed(axes):
        data = _filtered_axis(data, axis, resampling, total)
    if data.dtype == dtype:
        return data
    return tensor_of(data.shape, lambda *i: ops.cast(dtype, data(*i)), "resize", prefix="i")


def _filtered_axis(data: Tensor, axis: ResampledAxis, resampling: Resampling, dtype: str) -> Tensor:
    at, taps = axis.axis, _count_of_taps(axis, data.shape[axis.axis], resampling)

    def window(i: Expr) -> _Window:
        return _Window(resampling, axis, i, data)

    # a table, as another computation of it may be rounded otherwise
    first = te.compute((axis.size,), lambda i: window(i).first(), name="first")

    def weight(i: Expr, tap: Expr) -> Expr:
        return window(i).weight(ops.add(first(i), tap))

    weights = te.compute((axis.size, taps), weight, name="weights")
    tap = te.reduce_axis((0, taps), name="tap")
    totals = te.compute((axis.size,), lambda i: te.sum(weights(i, tap), axis=tap), name="total")
    along = te.reduce_axis((0, taps), name="tap")

    def element(*i: Expr) -> Expr:
        position = window(i[at]).within(ops.add(first(i[at]), along.var))
        value = ops.cast(dtype, data(*i[:at], position, *i[at + 1 :]))
        share = ops.div(weights(i[at], along), totals(i[at]))
        return te.sum(ops.mul(value, ops.cast(dtype, share)), axis=along)

    shape = [*data.shape[:at], axis.size, *data.shape[at + 1 :]]
    resampled = te.compute(shape, element, name="resize")
    if resampling.transformation != CROP:
        return resampled

    def or_outside(*i: Expr) -> Expr:
        coordinate = _Coordinate(resampling, axis, i[at], data)
        return _or_outside([coordinate], resampled(*i), resampling)

    return te.compute(shape, or_outside, name="inside")


def _count_of_taps(axis: ResampledAxis, extent: Expr, resampling: Resampling) -> Size:
    """The largest number of elements that have a weight."""
    radius = _RADIUS[resampling.method]
    if not resampling.antialias:
        return 2 * radius + 1
    step = _constant_step(axis, extent)
    if step is not None:
        return math.ceil(2 * radius * max(step, 1.0)) + 1
    if axis.step is not None:  # which may be as long as the axis
        return ops.add(ops.mul(extent, 2 * radius), 1)
    return ops.add(ops.mul(ops.add(ops.floordiv(extent, axis.size), 1), 2 * radius), 1)


def _constant_step(axis: ResampledAxis, extent: Expr) -> float | None:
    """The distance, in the input, of two neighbors of the result; None if it is not constant."""
    if isinstance(axis.step, float):
        return axis.step
    if isinstance(axis.factor, float):
        return 1 / axis.factor
    old, new = as_constant(extent), as_constant(axis.size)
    if old is None or new is None or axis.step is not None or axis.factor is not None:
        return None
    return old / max(new, 1)


class _Window(_Coordinate):
    """The elements of which an antialiased one is a weighted sum."""

    def __init__(
        self, resampling: Resampling, axis: ResampledAxis, index: Expr, data: Tensor
    ) -> None:
        super().__init__(resampling, axis, index, data)
        unit = self.real(1.0)
        self.stretch = ops.maximum(self.step(), unit) if resampling.antialias else unit

    def first(self) -> Expr:
        """The first element that may have a weight."""
        reach = ops.mul(self.stretch, self.real(float(_RADIUS[self.resampling.method])))
        return ops.cast(self.extent.dtype, te.ceil(ops.sub(self.value, reach)))

    def weight(self, position: Expr) -> Expr:
        """The weight of an element."""
        distance = ops.div(ops.sub(self.real(position), self.value), self.stretch)
        weight = self._filter(te.abs(distance))
        if not self.resampling.excludes_outside:
            return weight
        is_outside = te.any(ops.less(position, 0), ops.greater(position, self.last))
        return te.if_then_else(is_outside, self.real(0.0), weight)

    def _filter(self, distance: Expr) -> Expr:
        """The weight of an element at a distance."""
        zero, unit = self.real(0.0), self.real(1.0)
        if self.resampling.method == "linear":
            return ops.maximum(ops.sub(unit, distance), zero)
        near = spline(distance, self.resampling.alpha)[1]
        far = spline(ops.sub(distance, unit), self.resampling.alpha)[0]
        beyond = te.select(ops.less(distance, self.real(2.0)), far, zero)
        return te.select(ops.less_equal(distance, unit), near, beyond)


def _choice(condition: Expr, true_value: Expr, false_value: Expr) -> Expr:
    """One of two values, by a condition that may be constant."""
    if ops.is_const(condition, 1):
        return true_value
    if ops.is_const(condition, 0):
        return false_value
    return te.select(condition, true_value, false_value)
