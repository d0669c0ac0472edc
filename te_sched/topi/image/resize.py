"""Images of other sizes: resize1d, resize2d and resize3d, as descriptions of resampled axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from te_sched.errors import DeclarationError
from te_sched.ir import dtypes
from te_sched.ir.expr import Operand
from te_sched.signatures import ParameterKind, is_real, is_sequence
from te_sched.te.tensor import Tensor
from te_sched.topi.image.resampling import CROP, TOLERANCE, ResampledAxis, Resampling, resample
from te_sched.topi.utils import Number, Size, as_pair, spatial_dimensions

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
    resampling = Resampling(
        method, coordinate_transformation_mode, rounding_method, float(bicubic_alpha),
        bool(bicubic_exclude), extrapolation_value, tolerance=TOLERANCE,
    )  # fmt: skip
    return _resized(data, roi, size, layout, resampling, out_dtype, output_shape, 1)


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
    resampling = Resampling(
        method, coordinate_transformation_mode, rounding_method, float(bicubic_alpha),
        bool(bicubic_exclude), extrapolation_value, tolerance=TOLERANCE,
    )  # fmt: skip
    return _resized(data, roi, size, layout, resampling, out_dtype, output_shape, 2)


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
    resampling = Resampling(
        method, coordinate_transformation_mode, rounding_method, float(bicubic_alpha),
        bool(bicubic_exclude), extrapolation_value, tolerance=TOLERANCE,
    )  # fmt: skip
    return _resized(data, roi, size, layout, resampling, out_dtype, output_shape, 3)


def _resized(
    image: Tensor,
    roi: Any,
    size: Any,
    layout: str,
    resampling: Resampling,
    out_dtype: str | None,
    output_shape: Sequence[Size] | None,
    count: int,
) -> Tensor:
    what = f"image.resize{count}d"
    data, at = spatial_dimensions(image, layout, count, what)
    sizes = as_pair(size, count, f"{what} size")
    region = [0.0] * count + [1.0] * count
    if resampling.transformation == CROP:
        region = _region(roi, 2 * count, what)
    axes = [
        ResampledAxis(axis, sizes[n], start=region[n], end=region[n + count])
        for n, axis in enumerate(at)
    ]
    dtype = None if out_dtype is None else dtypes.spelled(out_dtype)
    return resample(data, axes, resampling, dtype, output_shape)


def _region(roi: Any, count: int, what: str) -> list[Any]:
    """The starts and ends of the part of the image."""
    if roi is None or len(roi) != count:
        raise DeclarationError(
            f"topi.{what}: roi has {0 if roi is None else len(roi)} numbers, expected {count}",
            f"{CROP} resizes a part of the image",
            "give all starts and then all ends, as fractions of the extents",
        )
    return list(roi)
