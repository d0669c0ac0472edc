"""Rows of Resize and of its forerunner Upsample."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir import intrinsics, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value, are_open
from te_sched.relax.frontend.tensors import Size, fixed_size, shape_expr
from te_sched.relax.frontend.windows import Array as Places
from te_sched.relax.frontend.windows import resampled, resampled_by

_Real = TypeVar("_Real", Places, Expr)


# A dimension, its old and new size, and the factor.
_Change = tuple[int, Size, Size, float | None]


class _Modes(NamedTuple):
    """Attributes of Resize: how elements are computed."""

    coordinates: str
    rounding: str
    method: str
    alpha: float
    excludes: bool
    extrapolation: float


@row("Upsample", "Resize")
def _upsample(
    imp: OnnxImporter,
    x: Value,
    factors: Value | None = None,
    *,
    mode: str = "nearest",
    scales: Sequence[float] | None = None,
) -> GraphExpr:
    """Upsample of all versions, and Resize of version 10."""
    imp.inputs = [imp.inputs[0], "", *imp.inputs[1:]]  # as those of Resize from version 11 on
    return _resize(
        imp,
        x,
        scales=np.array(scales, "float32") if factors is None else factors,
        mode=mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


def _resized_sizes(
    imp: OnnxImporter,
    extents: Sequence[Size],
    scales: Value | None,
    sizes: Value | None,
    policy: str,
) -> tuple[list[Size], list[float | None]]:
    """The new sizes and the factors of dimensions; None for the ratio of sizes that calls give."""
    if sizes is None:
        scale = imp.floats(scales, 2)
        scaled = [_scaled_size(imp, *pair) for pair in zip(extents, scale, strict=True)]
        return scaled, [*scale]
    size = imp.sizes(sizes, 3)
    factors = [_ratio(*pair) for pair in zip(extents, size, strict=True)]
    if policy == "stretch":
        return size, factors
    ratios = [one for one in factors if one is not None]
    if len(ratios) < len(factors):
        raise GraphError(
            f"keep_aspect_ratio_policy={policy!r} of sizes that calls give",
            f"the sizes are {extents} and {size}",
            imp.help_with_shapes,
        )
    factor = min(ratios) if policy == "not_larger" else max(ratios)
    fixed = [one for one in extents if isinstance(one, int)]
    return [math.floor(one * factor + 0.5) for one in fixed], [factor] * len(factors)


def _ratio(extent: Size, size: Size) -> float | None:
    """The factor of a dimension; None of one that calls give."""
    return size / extent if isinstance(extent, int) and isinstance(size, int) else None


def _scaled_size(imp: OnnxImporter, extent: Size, factor: float) -> Size:
    """A size times a factor, rounded down."""
    if not isinstance(extent, Expr):
        return math.floor(extent * factor)
    return imp.size_of(_sizes.rounded("floor", _sizes.product(_sizes.real(extent), factor)))


@row("Resize", since=11)
def _resize(
    imp: OnnxImporter,
    x: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
    antialias: int = 0,
    axes: Ints | None = None,
    keep_aspect_ratio_policy: str = "stretch",
) -> GraphExpr:
    shape = imp.shape(x)
    places = [one % len(shape) for one in axes or range(len(shape))]
    extents = [shape[one] for one in places]
    size, factors = _resized_sizes(imp, extents, scales, sizes, keep_aspect_ratio_policy)
    if antialias and any(one is None or one < 1 for one in factors):
        raise GraphError("antialias is not supported", "", "resize without it")
    rows = list(zip(places, extents, size, factors, strict=True))
    changed = [one for one in rows if not _is_kept(imp, *one[1:])]
    is_open = any(are_open(*one[1:3]) for one in changed)
    has_regions = coordinate_transformation_mode == "tf_crop_and_resize"
    if is_open and has_regions:
        raise GraphError(
            f"regions of dimensions {[row[0] for row in changed]}, of which calls give the sizes",
            f"the tensor has the shape {shape}, and the mode is {coordinate_transformation_mode}",
            imp.help_with_shapes,
        )
    if not _is_plain(coordinate_transformation_mode, nearest_mode, len(shape), changed):
        modes = _Modes(
            coordinate_transformation_mode,
            nearest_mode,
            mode,
            cubic_coeff_a,
            bool(exclude_outside) and mode == "cubic",
            extrapolation_value,
        )
        regions = imp.floats(roi, 1) if has_regions else [0] * len(rows) + [1] * len(rows)
        y = imp.tensor(x)
        for number, changes in enumerate(rows):
            region = regions[number :: len(rows)]
            if changes in changed or region != [0, 1]:
                y = _resized_along(imp, y, modes, region, *changes)
        return y
    size = [dict((n, new) for n, _, new, _ in rows).get(axis, shape[axis]) for axis in (2, 3)]
    method = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}[mode]
    call = R.image.resize2d(
        imp.tensor(x),
        size,
        layout="NCHW",
        method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
        rounding_method=nearest_mode,
        cubic_alpha=cubic_coeff_a,
        cubic_exclude=exclude_outside,
        extrapolation_value=extrapolation_value,
    )
    return imp.emit(call)


def _resized_along(
    imp: OnnxImporter,
    x: GraphExpr,
    modes: _Modes,
    region: Sequence[float],
    axis: int,
    old: Size,
    new: Size,
    factor: float | None,
) -> GraphExpr:
    """A tensor with another size of one dimension."""
    options = (modes.method, modes.alpha, modes.excludes)
    if are_open(old, new):
        return resampled_by(
            imp.builder, x, axis, new, partial(_coordinate, modes, factor), *options
        )
    extent, count = fixed_size(old, "resize"), fixed_size(new, "resize to")
    assert factor is not None
    at = _sources(extent, count, factor, modes.coordinates, region)
    is_outside = (at < 0) | (at > extent - 1)
    at = _rounded(np, at, modes.rounding) if modes.method == "nearest" else at
    y = resampled(imp.builder, x, axis, extent, at, *options)
    if modes.coordinates == "tf_crop_and_resize" and is_outside.any():
        mask = is_outside.reshape([-1 if n == axis else 1 for n in range(imp.rank(x))])
        border = const(modes.extrapolation, imp.dtype(x))
        return imp.emit(R.where(const(mask, "bool"), border, y))
    return y


def _is_plain(coordinates: str, rounding: str, rank: int, changed: Iterable[_Change]) -> bool:
    """Whether `resize2d` computes the same, which takes the ratios of sizes for the factors."""
    is_plain = coordinates in ("half_pixel", "align_corners", "asymmetric")
    is_plain &= rounding != "round_prefer_ceil" and rank == 4
    return is_plain and all(
        axis > 1 and _is_product(old, new, factor) for axis, old, new, factor in changed
    )


def _is_product(extent: Size, size: Size, factor: float | None) -> bool:
    """Whether a size is that of a dimension times a factor, unless calls give one of them."""
    if isinstance(extent, Expr) or isinstance(size, Expr) or factor is None:
        return factor is None or float(factor).is_integer()
    return size == extent * factor


def _is_kept(imp: OnnxImporter, old: Size, new: Size, factor: float | None) -> bool:
    """Whether a dimension keeps its size."""
    if are_open(old, new):
        return imp.builder.analyzer.can_prove_equal(*shape_expr([old, new]).values)
    return bool(old == new and factor == 1)


_ROUNDINGS = {
    "round_prefer_floor": ("ceil", -0.5),
    "round_prefer_ceil": ("floor", 0.5),
    "floor": ("floor", 0),
    "ceil": ("ceil", 0),
}


def _rounded(module: ModuleType, at: _Real, mode: str) -> _Real:
    """Coordinates as whole numbers, by functions of numpy or intrinsics."""
    name, shift = _ROUNDINGS[mode]
    rounded: _Real = getattr(module, name)(at + shift)
    return rounded


def _sources(extent: int, size: int, factor: float, mode: str, region: Sequence[float]) -> Places:
    """The places between which the elements of a larger or smaller dimension are."""
    places: Any = np.arange(size, dtype=np.float32)  # as in onnxruntime, which counts for ties
    if mode == "tf_crop_and_resize":
        begin, end = region
        if size == 1:
            return np.array([0.5 * (begin + end) * (extent - 1)])
        places = places.astype("float64")
        return np.asarray(begin * (extent - 1) + places * (end - begin) * (extent - 1) / (size - 1))
    if mode == "pytorch_half_pixel" and size == 1:
        return np.zeros(1)
    step = (extent - 1) / max(size - 1, 1)
    float32: Any = np.float32
    at: Places = _source(places, extent, size, float32(factor), float32(step), mode).astype(
        "float64"
    )
    return at


def _coordinate(
    modes: _Modes, given_factor: float | None, place: Expr, extent: Expr, size: Expr
) -> Expr:
    """The place of an element as `_sources` has it, of sizes that calls give, in float32."""
    factor = size / extent if given_factor is None else ops.const(given_factor, "float32")
    step = (extent - 1) / ops.maximum(size - 1, 1.0)
    at = _source(place, extent, size, factor, step, modes.coordinates)
    if modes.coordinates == "pytorch_half_pixel":
        at = intrinsics.select(size > 1, at, ops.const(0, "float32"))
    return _rounded(intrinsics, at, modes.rounding) if modes.method == "nearest" else at


def _source(
    place: _Real,
    extent: Expr | int,
    size: Expr | int,
    factor: Expr | float,
    step: Expr | float,
    mode: str,
) -> _Real:
    """The coordinate of a place; `step` is the distance of elements if the corners stay."""
    source: Any = place  # arrays and expressions have the same arithmetic
    divide: Any = _quotient if isinstance(factor, Expr) else np.divide
    if mode == "asymmetric":
        at: _Real = divide(source, factor)
    elif mode == "align_corners":
        at = source * step
    else:
        offset = (
            extent / 2 * (1 - size / (extent * factor)) if mode == "half_pixel_symmetric" else 0
        )
        at = offset + divide(source + 0.5, factor) - 0.5
    return at


def _quotient(a: Expr, b: Expr) -> Expr:
    """A quotient of float32 that is rounded once, also where it becomes a product with 1 / b."""
    return ops.cast("float32", ops.cast("float64", a) / ops.cast("float64", b))
