"""Images of other sizes: resize1d, resize2d and resize3d.

The elements of the result are read at coordinates of the input, which are numbers between its
elements: the nearest element, or a sum of the elements around, weighted for each dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, Operand
from te_sched.signatures import ParameterKind, is_real, is_sequence
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import (
    Number,
    Size,
    as_constant,
    as_pair,
    check_choice,
    spatial_dimensions,
    tensor_of,
)

_METHODS = ("nearest_neighbor", "linear", "cubic")
_MODES = (
    *("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn"),
    "tf_crop_and_resize",
)
_CROP = _MODES[-1]
_ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
_TOLERANCE = 1e-5  # of coordinates that are whole numbers but for rounding errors

Region = Annotated[
    Any,
    ParameterKind(
        lambda value: (
            value is None
            or (is_sequence(value) and all(isinstance(v, Operand) or is_real(v) for v in value))
        ),
        "a list or tuple of numbers",
    ),
]
Sizes = Annotated[Any, ParameterKind(is_sequence, "a list or tuple of integers")]


def resize1d(
    data: Tensor,
    roi: Region,
    size: Sizes,
    layout: str = "NCW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: Number = -0.5,
    bicubic_exclude: Number = 0,
    extrapolation_value: Number = 0.0,
    out_dtype: str | None = None,
    output_shape: Sequence[Size] | None = None,
) -> Tensor:
    """The tensor with W resized; see resize2d.

    >>> X = te.placeholder((1, 3, 8), name="X")
    >>> topi.image.resize1d(X, None, (16,), method="linear").shape
    [1, 3, 16]
    """
    options = _Options(
        method, coordinate_transformation_mode, rounding_method, bicubic_alpha, bicubic_exclude,
        extrapolation_value, out_dtype,
    )  # fmt: skip
    return _resized(data, roi, size, layout, options, output_shape, 1)


def resize2d(
    data: Tensor,
    roi: Region,
    size: Sizes,
    layout: str = "NCHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: Number = -0.5,
    bicubic_exclude: Number = 0,
    extrapolation_value: Number = 0.0,
    out_dtype: str | None = None,
    output_shape: Sequence[Size] | None = None,
) -> Tensor:
    """The tensor with H and W resized.

    Parameters
    ----------
    roi : the part of the image for "tf_crop_and_resize", as fractions of its extents: all starts,
        then all ends.
    size : the new extents of H and W.
    layout : the dimensions; NCHW4c has C in parts of 4, the last dimension.
    method : "nearest_neighbor", "linear" or "cubic".
    coordinate_transformation_mode : how an index of the result is a coordinate of the input, as
        ONNX defines "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
        "tf_half_pixel_for_nn" and "tf_crop_and_resize".
    rounding_method : of the nearest neighbor: "round", "floor", "ceil", "round_prefer_floor",
        "round_prefer_ceil"; by default "round" for align_corners and "floor" for others.
    bicubic_alpha : the coefficient of cubic splines.
    bicubic_exclude : whether elements outside of the image have weight 0, instead of the value of
        the border.
    extrapolation_value : the result at coordinates outside of the image, for "tf_crop_and_resize".
    out_dtype : the dtype of the result, that of the data by default.
    output_shape : the shape of the result, if it is not the one that follows from `size`.

    Raises
    ------
    DeclarationError for options that are not listed, and sizes that do not fit.

    >>> X = te.placeholder((1, 3, 8, 8), name="X")
    >>> topi.image.resize2d(X, None, (16, 4), method="nearest_neighbor").shape
    [1, 3, 16, 4]
    """
    options = _Options(
        method, coordinate_transformation_mode, rounding_method, bicubic_alpha, bicubic_exclude,
        extrapolation_value, out_dtype,
    )  # fmt: skip
    return _resized(data, roi, size, layout, options, output_shape, 2)


def resize3d(
    data: Tensor,
    roi: Region,
    size: Sizes,
    layout: str = "NCDHW",
    method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel",
    rounding_method: str = "",
    bicubic_alpha: Number = -0.5,
    bicubic_exclude: Number = 0,
    extrapolation_value: Number = 0.0,
    out_dtype: str | None = None,
    output_shape: Sequence[Size] | None = None,
) -> Tensor:
    """The tensor with D, H and W resized; see resize2d.

    >>> X = te.placeholder((1, 3, 4, 8, 8), name="X")
    >>> topi.image.resize3d(X, None, (2, 16, 4), method="linear").shape
    [1, 3, 2, 16, 4]
    """
    options = _Options(
        method, coordinate_transformation_mode, rounding_method, bicubic_alpha, bicubic_exclude,
        extrapolation_value, out_dtype,
    )  # fmt: skip
    return _resized(data, roi, size, layout, options, output_shape, 3)


class _Options:
    """How elements of the result are computed."""

    def __init__(
        self, method: str, mode: str, rounding: str, alpha: Any, exclude: Any, outside: Any,
        out_dtype: str | None,
    ) -> None:  # fmt: skip
        check_choice(method, _METHODS, "image.resize", "method")
        check_choice(mode, _MODES, "image.resize", "coordinate_transformation_mode")
        check_choice(rounding, _ROUNDINGS, "image.resize", "rounding_method")
        default = "round" if mode == "align_corners" else "floor"
        self.method, self.mode, self.rounding = method, mode, rounding or default
        self.alpha, self.exclude, self.outside = float(alpha), bool(exclude), outside
        self.out_dtype = None if out_dtype is None else dtypes.spelled(out_dtype)


def _resized(
    given: Tensor,
    roi: Any,
    size: Any,
    layout: str,
    options: _Options,
    output_shape: Any,
    count: int,
) -> Tensor:
    what = f"image.resize{count}d"
    data, at = spatial_dimensions(given, layout, count, what)
    sizes = as_pair(size, count, f"{what} size")
    region = [None] * (2 * count)
    if options.mode == _CROP:
        region = _region(roi, 2 * count, what)
    shape = list(data.shape)
    for place, extent in zip(at, sizes, strict=True):
        shape[place] = extent
    if output_shape is not None:
        if len(output_shape) != len(shape):
            raise DeclarationError(
                f"topi.{what}: output_shape has {len(output_shape)} dimensions, expected"
                f" {len(shape)}",
                "",
                "give an extent for each dimension",
            )
        shape = list(output_shape)
    dtype = options.out_dtype or data.dtype

    def element(*i: Any) -> Any:
        axes = [
            _Axis(options, i[place], data.shape[place], sizes[n], region[n], region[n + count])
            for n, place in enumerate(at)
        ]

        def read(indices: Sequence[Any]) -> Any:
            index = list(i)
            for place, one in zip(at, indices, strict=True):
                index[place] = one
            return data(*index)

        return ops.cast(dtype, _element(axes, read, options))

    return tensor_of(shape, element, "resize", prefix="i")


def _region(roi: Any, count: int, what: str) -> list[Any]:
    """The starts and ends of the part of the image."""
    if roi is None or len(roi) != count:
        raise DeclarationError(
            f"topi.{what}: roi has {0 if roi is None else len(roi)} numbers, expected {count}",
            f"{_CROP} resizes a part of the image",
            "give all starts and then all ends, as fractions of the extents",
        )
    return list(roi)


class _Axis:
    """A dimension: the coordinate that an index stands for, and the elements around it."""

    def __init__(
        self, options: _Options, index: Any, extent: Any, size: Any, start: Any, end: Any
    ) -> None:
        self.options, self.index, self.size = options, index, size
        self.extent = ops.convert(extent)
        self.last = ops.sub(self.extent, 1)
        self.coordinate = self._coordinate(start, end)

    def _coordinate(self, start: Any, end: Any) -> Expr:
        """The coordinate in float32."""
        mode, x = self.options.mode, _real(self.index)
        is_one = ops.equal(ops.convert(self.size), 1)
        if mode == "asymmetric":
            return ops.mul(self._scale(), x)
        if mode == "align_corners":
            step = ops.div(_real(self.last), _real(ops.maximum(ops.sub(self.size, 1), 1)))
            return ops.mul(step, x)
        if mode == _CROP:
            steps = _real(ops.maximum(ops.sub(self.size, 1), 1))
            moved = ops.div(ops.mul(ops.mul(x, _real(end - start)), _real(self.last)), steps)
            first = ops.mul(_real(start), _real(self.last))
            middle = ops.mul(ops.mul(_half(), _real(start + end)), _real(self.last))
            return _choice(is_one, middle, ops.add(first, moved))
        scaled = ops.mul(ops.add(x, _half()), self._scale())
        if mode == "tf_half_pixel_for_nn":
            return scaled
        shifted = ops.sub(scaled, _half())
        if mode == "pytorch_half_pixel":
            return _choice(is_one, ops.const(0.0, "float32"), shifted)
        return shifted

    def _scale(self) -> Expr:
        return ops.div(_real(self.extent), _real(self.size))

    def within(self, index: Any) -> Expr:
        """The element at an index, or at the border beyond which it is."""
        return ops.maximum(ops.minimum(index, self.last), 0)

    def nearest(self) -> Expr:
        """The index of the element that is nearest."""
        times = self._times()
        if times is not None:
            return self.within(ops.truncdiv(self.index, times))
        x, rounding = self.coordinate, self.options.rounding
        shift = 0.5 if rounding.startswith("round_") else _TOLERANCE
        amount = ops.const(shift, "float32")
        if rounding == "round":
            rounded = te.round(x)
        elif rounding in ("floor", "round_prefer_ceil"):
            rounded = te.floor(ops.add(x, amount))
        else:
            rounded = te.ceil(ops.sub(x, amount))
        return self.within(ops.cast(self.extent.dtype, rounded))

    def _times(self) -> int | None:
        """How often each element is repeated, where that is all that is done."""
        size, extent = as_constant(self.size), as_constant(self.extent)
        if self.options.mode != "asymmetric" or self.options.rounding != "floor":
            return None
        return size // extent if size and extent and size % extent == 0 else None

    def weighted(self) -> list[tuple[Expr, Expr]]:
        """The indices of the elements around the coordinate, with their weights."""
        below = te.floor(self.coordinate)
        index = ops.cast(self.extent.dtype, below)
        if self.options.method == "linear":
            t = ops.sub(self.coordinate, _real(index))
            rest = ops.sub(ops.const(1.0, "float32"), t)
            return [(self.within(index), rest), (self.within(ops.add(index, 1)), t)]
        weights = _spline(ops.sub(self.coordinate, below), self.options.alpha)
        places = [ops.sub(ops.add(index, n), 1) for n in range(4)]
        if self.options.exclude:
            weights = self._inside(places, weights)
        return [(self.within(one), weight) for one, weight in zip(places, weights, strict=True)]

    def _inside(self, places: list[Expr], weights: list[Expr]) -> list[Expr]:
        """The weights, 0 outside of the image, of sum 1."""
        kept = []
        for place, weight in zip(places, weights, strict=True):
            is_outside = te.any(ops.less(place, 0), ops.greater(place, self.last))
            kept.append(te.if_then_else(is_outside, ops.const(0.0, "float32"), weight))
        total = kept[0] + kept[1] + kept[2] + kept[3]
        return [ops.div(one, total) for one in kept]


def _element(axes: list[_Axis], read: Callable[[Sequence[Any]], Any], options: _Options) -> Any:
    """An element of the result."""
    if options.method == "nearest_neighbor":
        value = read([axis.nearest() for axis in axes])
    else:
        value = _sum([axis.weighted() for axis in axes], [], read)
    if options.mode != _CROP:
        return value
    outside = ops.cast(value.dtype, ops.convert(options.outside))
    for axis in axes:
        is_high = ops.greater(axis.coordinate, _real(axis.last))
        value = te.if_then_else(is_high, outside, value)
        is_low = ops.less(axis.coordinate, ops.const(0.0, "float32"))
        value = te.if_then_else(is_low, outside, value)
    return value


def _sum(weighted: list[list[tuple[Expr, Expr]]], indices: list[Expr], read: Any) -> Any:
    """The sum of elements, weighted for each dimension; float64 is computed as such."""
    if not weighted:
        value = read(indices)
        return value if value.dtype == "float64" else ops.cast("float32", value)
    total: Any = None
    for index, weight in weighted[0]:
        part = _sum(weighted[1:], [*indices, index], read)
        part = ops.mul(part, ops.cast(part.dtype, weight))
        total = part if total is None else ops.add(total, part)
    return total


def _spline(t: Expr, alpha: float) -> list[Expr]:
    """The weights of the four elements around a coordinate, which is t beyond the second one."""
    square, one = ops.mul(t, t), ops.const(1.0, "float32")
    cube = ops.mul(square, t)
    a, a2, a3, double = [ops.const(v, "float32") for v in (alpha, alpha + 2, alpha + 3, 2.0)]
    minus, b2, b3 = [ops.const(v, "float32") for v in (-alpha, -(alpha + 2), 2 * alpha + 3)]
    return [
        ops.mul(a, ops.add(ops.sub(cube, ops.mul(double, square)), t)),
        ops.add(ops.sub(ops.mul(a2, cube), ops.mul(a3, square)), one),
        ops.sub(ops.add(ops.mul(b2, cube), ops.mul(b3, square)), ops.mul(a, t)),
        ops.add(ops.mul(minus, cube), ops.mul(a, square)),
    ]


def _choice(condition: Expr, true_value: Expr, false_value: Expr) -> Expr:
    """One of two values, by a condition that may be constant."""
    if ops.is_const(condition, 1):
        return true_value
    if ops.is_const(condition, 0):
        return false_value
    return te.select(condition, true_value, false_value)


def _real(value: Any) -> Expr:
    return ops.cast("float32", ops.convert(value))


def _half() -> Expr:
    return ops.const(0.5, "float32")
