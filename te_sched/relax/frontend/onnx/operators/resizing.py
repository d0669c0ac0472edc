"""Rows of Resize and of its forerunner Upsample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir import intrinsics, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.ir.struct_info import ShapeExpr, ShapeStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value, are_open
from te_sched.relax.frontend.tensors import Size, fixed_size, shape_expr
from te_sched.relax.frontend.windows import Array as Places
from te_sched.relax.frontend.windows import resampled


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
    """A size times a factor, which calls check to be a whole number."""
    if not isinstance(extent, Expr):
        return math.floor(extent * factor)
    exact = _sizes.product(_sizes.real(extent), factor)
    new = imp.size_of(_sizes.rounded("floor", exact))
    if not float(factor).is_integer():  # else elements are not those of the ratio of the sizes
        rest = ops.cast("int64", ops.not_equal(exact, intrinsics.floor(exact)))
        zero = ShapeStructInfo((ops.const(0, "int64"),))
        imp.builder.match_cast(ShapeExpr((rest,)), zero)
    return new


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
    is_plain = coordinate_transformation_mode in ("half_pixel", "align_corners", "asymmetric")
    is_plain &= nearest_mode != "round_prefer_ceil" and len(shape) == 4
    is_plain &= all(n > 1 and _is_product(old, new, factor) for n, old, new, factor in changed)
    if is_open and not is_plain:
        raise GraphError(
            f"dimensions {[one[0] for one in changed]} are resized, of which calls give the sizes",
            f"the tensor has the shape {shape}, and the mode is {coordinate_transformation_mode}",
            imp.help_with_shapes,
        )
    if not is_plain:
        regions = (
            imp.floats(roi, 1) if coordinate_transformation_mode == "tf_crop_and_resize" else []
        )
        found = imp.tensor(x)
        for row_number, (axis, old, new, factor) in enumerate(rows):
            region = regions[row_number :: len(rows)] or [0, 1]
            if are_open(old) and region == [0, 1]:
                continue
            extent, count = fixed_size(old, "resize"), fixed_size(new, "resize to")
            assert factor is not None
            at = _sources(extent, count, factor, coordinate_transformation_mode, region)
            is_outside = (at < 0) | (at > extent - 1)
            method, keeps = mode, bool(exclude_outside) and mode == "cubic"
            at = _ROUNDINGS[nearest_mode](at) if mode == "nearest" else at
            found = resampled(imp.builder, found, axis, extent, at, method, cubic_coeff_a, keeps)
            if regions and is_outside.any():
                mask = is_outside.reshape([-1 if n == axis else 1 for n in range(len(shape))])
                border = const(extrapolation_value, imp.dtype(x))
                found = imp.emit(R.where(const(mask, "bool"), border, found))
        return found
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


def _is_product(extent: Size, size: Size, factor: float | None) -> bool:
    """Whether a size is that of a dimension times a factor, unless calls give one of them."""
    if isinstance(extent, Expr) or isinstance(size, Expr) or factor is None:
        return True
    return size == extent * factor


def _is_kept(imp: OnnxImporter, old: Size, new: Size, factor: float | None) -> bool:
    """Whether a dimension keeps its size."""
    if are_open(old, new):
        return imp.builder.analyzer.can_prove_equal(*shape_expr([old, new]).values)
    return bool(old == new and factor == 1)


_ROUNDINGS: dict[str, Callable[[Places], Places]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _sources(extent: int, size: int, factor: float, mode: str, region: Sequence[float]) -> Places:
    """The places between which the elements of a larger or smaller dimension are."""
    places, length = np.arange(size, dtype=np.float64), extent * factor
    if mode == "asymmetric":
        return places / factor
    if mode == "align_corners":
        return places * ((extent - 1) / (length - 1) if length > 1 else 0)
    if mode == "tf_crop_and_resize":
        begin, end = region
        if size == 1:
            return np.array([0.5 * (begin + end) * (extent - 1)])
        return begin * (extent - 1) + places * (end - begin) * (extent - 1) / (size - 1)
    if mode == "pytorch_half_pixel" and size == 1:
        return np.zeros(1)
    offset = 0.0
    if mode == "half_pixel_symmetric":
        offset = extent / 2 * (1 - size / length)
    return offset + (places + 0.5) / factor - 0.5
