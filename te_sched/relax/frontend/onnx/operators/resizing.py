"""Rows of Resize and of its forerunner Upsample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Number, Value, are_open
from te_sched.relax.frontend.resampling import resampled
from te_sched.relax.frontend.tensors import Size, shape_expr
from te_sched.topi.image.resampling import CROP, TOLERANCE, ResampledAxis, Resampling


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


def _sizes_and_factors(
    imp: OnnxImporter,
    extents: Sequence[Size],
    scales: Value | None,
    sizes: Value | None,
    policy: str,
) -> tuple[list[Size], list[Number]]:
    """The new sizes, and the factors by which coordinates are divided, which are of float32."""
    if sizes is None:
        factors: list[Number] = [float(factor) for factor in imp.floats(scales, 2)]
        return [_scaled(imp, *pair, 0.0) for pair in zip(extents, factors, strict=True)], factors
    size = imp.sizes(sizes, 3)
    factors = [_ratio(*pair) for pair in zip(extents, size, strict=True)]
    if policy == "stretch":
        return size, factors
    factor = reduce(_least if policy == "not_larger" else _largest, factors)
    return [_scaled(imp, extent, factor, 0.5) for extent in extents], [factor] * len(factors)


def _ratio(extent: Size, size: Size) -> Number:
    """The factor of a dimension, of float32."""
    factor = _sizes.real(size) / _sizes.real(extent)
    return factor if isinstance(factor, Expr) else float(np.float32(factor))


def _least(a: Number, b: Number) -> Number:
    return ops.minimum(a, b) if are_open(a, b) else min(a, b)


def _largest(a: Number, b: Number) -> Number:
    return ops.maximum(a, b) if are_open(a, b) else max(a, b)


def _scaled(imp: OnnxImporter, extent: Size, factor: Number, added: float) -> Size:
    """A size times a factor, with a number added, rounded down."""
    if not isinstance(extent, Expr) and not isinstance(factor, Expr):
        return math.floor(extent * factor + added)
    exact = _sizes.product(_sizes.real(extent), factor)
    return imp.size_of(_sizes.rounded("floor", exact + added if added else exact))


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
    places = [axis % len(shape) for axis in axes or range(len(shape))]
    extents = [shape[axis] for axis in places]
    size, factors = _sizes_and_factors(imp, extents, scales, sizes, keep_aspect_ratio_policy)
    is_part = coordinate_transformation_mode == CROP
    region = imp.floats(roi, 1) if is_part else [0.0] * len(places) + [1.0] * len(places)
    resampling = Resampling(
        {"nearest": "nearest_neighbor"}.get(mode, mode),
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        excludes_outside=bool(exclude_outside),
        outside=extrapolation_value,
        antialias=bool(antialias) and mode != "nearest",
    )
    is_aligned = coordinate_transformation_mode == "align_corners" and not antialias
    is_continuous = mode != "nearest" and keep_aspect_ratio_policy == "stretch"
    changed = []
    for n, (axis, old, new, factor) in enumerate(zip(places, extents, size, factors, strict=True)):
        start, end = region[n], region[n + len(places)]
        if (start, end) == (0, 1) and _is_kept(imp, old, new, factor):
            continue
        ratio = None if is_aligned or _is_ratio(old, new, factor, is_continuous) else factor
        changed.append(ResampledAxis(axis, new, ratio, start=start, end=end))
    if mode == "nearest" and not is_aligned and all(axis.factor is None for axis in changed):
        resampling = replace(resampling, tolerance=TOLERANCE)  # the text of TVM
    tensor = imp.tensor(x)
    return resampled(imp.builder, tensor, changed, resampling) if changed else tensor


def _is_ratio(extent: Size, size: Size, factor: Number, is_continuous: bool) -> bool:
    """Whether elements are the same with the ratio of the sizes in place of a factor; if they are
    continuous functions of coordinates, errors of rounding do not matter.
    """
    if isinstance(factor, Expr):
        return is_continuous
    if isinstance(size, Expr) or isinstance(extent, Expr):
        return factor.is_integer()
    is_exact = abs(extent * factor - size) < 1e-6 * size
    return is_exact and (is_continuous or size % max(extent, 1) == 0)


def _is_kept(imp: OnnxImporter, old: Size, new: Size, factor: Number) -> bool:
    """Whether a dimension keeps its size."""
    if are_open(old, new):
        return imp.builder.analyzer.can_prove_equal(*shape_expr([old, new]).values)
    return bool(old == new and factor == 1)
