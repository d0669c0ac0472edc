"""Rows of operators of torch that resample images: interpolate, upsample and grid_sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from te_sched.errors import GraphError, repr_of
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.grids import grid_sample
from te_sched.relax.frontend.resampling import resampled
from te_sched.relax.frontend.tensors import Size, as_size, several
from te_sched.relax.frontend.torch.importer import ROWS, Importer, row
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.values import Factors, Sizes, TorchLayer
from te_sched.topi.image.resampling import TOLERANCE, ResampledAxis, Resampling

_METHODS = {
    **{"nearest": "nearest_neighbor", "nearest-exact": "nearest_neighbor", "bicubic": "cubic"},
    **{"linear": "linear", "bilinear": "linear", "trilinear": "linear"},
}


def _upsample_arguments(imp: Importer, module: TorchLayer) -> dict[str, object]:
    names = ("size", "scale_factor", "mode", "align_corners", "recompute_scale_factor")
    return {name: getattr(module, name) for name in names}


@row("interpolate", Upsample=_upsample_arguments)
def _interpolate(
    imp: Importer,
    x: GraphExpr,
    size: Sizes | None = None,
    scale_factor: Factors = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> GraphExpr:
    extents = imp.shape(x)[2:]
    sizes = _sizes_of_result(imp, extents, size, scale_factor)
    if mode == "area":
        rule: Callable[..., GraphExpr] = ROWS[f"adaptive_avg_pool{len(extents)}d"].rule  # type: ignore[assignment]
        return rule(imp, x, sizes)
    if mode not in _METHODS:
        raise GraphError(
            f"interpolation with mode {repr_of(mode)} is not supported",
            "",
            f"use {', '.join(_METHODS)} or area",
        )
    factors = None if size is not None or recompute_scale_factor else scale_factor
    return _resampled(imp, x, sizes, factors, mode, bool(align_corners), antialias)


def _sizes_of_result(
    imp: Importer, extents: Sequence[Size], size: Sizes | None, factors: Factors
) -> list[Size]:
    """The spatial sizes of the result of an interpolation."""
    if size is not None:
        return several(size, len(extents))
    if factors is None:
        raise GraphError("interpolation has neither size nor scale_factor", "", "give one of them")
    pairs = zip(extents, several(factors, len(extents)), strict=True)
    return [_scaled(*pair) for pair in pairs]


def _scaled(size: Size, factor: float) -> Size:
    """A size times a factor, rounded down."""
    if isinstance(size, int):
        return int(size * factor)
    ratio = Fraction(factor).limit_denominator(1 << 16)
    return size * ratio.numerator // ratio.denominator


def _resampled(
    imp: Importer,
    x: GraphExpr,
    sizes: Sequence[Size],
    factors: Factors,
    mode: str,
    is_aligned: bool = False,
    antialias: bool = False,
) -> GraphExpr:
    """A resampled tensor; factors are those that calls give, and not the ratios of the sizes."""
    dtype, extents = imp.dtype(x), imp.shape(x)[2:]
    is_nearest = mode.startswith("nearest")
    if not is_nearest and not dtypes.is_float(dtype):
        y = _resampled(imp, imp.cast(x, "float32"), sizes, factors, mode, is_aligned, antialias)
        rounded = imp.emit(R.floor(imp.emit(R.add(y, const(0.5, "float32")))))
        return imp.cast(imp.emit(R.clip(rounded, 0, 255)), dtype)
    steps = [
        _step(imp, old, new, factor, is_aligned and antialias)
        for old, new, factor in zip(extents, sizes, several(factors, len(sizes)), strict=True)
    ]
    axes = [
        ResampledAxis(2 + n, size, step=None if is_aligned and not antialias else step)
        for n, (size, step) in enumerate(zip(sizes, steps, strict=True))
    ]
    transformation = "align_corners" if is_aligned and not antialias else "half_pixel"
    rounding, tolerance, alpha = "round", 0.0, -0.5
    if is_nearest:
        is_repeated = all(map(_is_multiple, extents, sizes)) and not any(steps)
        if is_repeated:  # the text of TVM
            tolerance = TOLERANCE
        else:
            rounding = "floor"
            transformation = "asymmetric" if mode == "nearest" else "tf_half_pixel_for_nn"
    elif mode == "bicubic" and not antialias:
        alpha = -0.75
    number = "float64" if dtype == "float64" and not is_nearest else "float32"
    options = Resampling(
        _METHODS[mode],
        transformation,
        rounding,
        alpha,
        excludes_outside=antialias,
        antialias=antialias,
        tolerance=tolerance,
        dtype=number,
    )
    return resampled(imp.builder, x, axes, options)


def _step(
    imp: Importer, old: Size, new: Size, factor: float | None, is_aligned: bool
) -> Size | float | None:
    """The distance of two neighbors of the result in the input; None for the ratio of the sizes."""
    if is_aligned:
        if isinstance(old, int) and isinstance(new, int):
            return (old - 1) / (new - 1) if new > 1 else 0.0
        steps = ops.cast("float64", ops.maximum(ops.convert(new) - 1, 1))
        return ops.cast("float64", ops.convert(old) - 1) / steps * (ops.convert(new) > 1)
    if not factor:
        return None
    is_ratio = float(factor).is_integer() and imp.is_equal(new, old * int(factor))
    is_ratio |= isinstance(old, int) and isinstance(new, int) and new == old * factor
    return None if is_ratio else 1 / factor


def _is_multiple(old: Size, new: Size) -> bool:
    return isinstance(old, int) and isinstance(new, int) and old > 0 and new % old == 0


@row(
    *[f"upsample_nearest{rank}d" for rank in (1, 2, 3)],
    *[f"_upsample_nearest_exact{rank}d" for rank in (1, 2, 3)],
)
def _upsample_nearest(
    imp: Importer,
    x: GraphExpr,
    size: Sizes | None,
    *factors: Factors,
) -> GraphExpr:
    mode = "nearest-exact" if "exact" in base_name(imp.node) else "nearest"
    return _upsampled(imp, x, size, factors, mode)


@row(
    *("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    *("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
)
def _upsample(
    imp: Importer,
    x: GraphExpr,
    size: Sizes | None,
    align_corners: bool,
    *factors: Factors,
) -> GraphExpr:
    name = base_name(imp.node).strip("_")
    mode = name.split("_")[1][:-2]
    return _upsampled(imp, x, size, factors, mode, align_corners, name.endswith("_aa"))


def _upsampled(
    imp: Importer,
    x: GraphExpr,
    size: Sizes | None,
    factors: Sequence[Factors],
    mode: str,
    is_aligned: bool = False,
    antialias: bool = False,
) -> GraphExpr:
    """An upsampled tensor, whose factors are one list, or a number for each dimension."""
    scales: Factors = None
    if any(factors):
        numbers = [factor for factor in factors if isinstance(factor, float)]
        scales = numbers or factors[0]
    sizes = _sizes_of_result(imp, imp.shape(x)[2:], size, scales)
    known_sizes = imp.known_sizes()
    if size is None and known_sizes is not None:
        sizes = [as_size(new) for new in known_sizes[2:]]
    return _resampled(imp, x, sizes, scales, mode, is_aligned, antialias)


@row("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sample(
    imp: Importer,
    x: GraphExpr,
    grid: GraphExpr,
    mode: str | int = "bilinear",
    padding_mode: str | int = "zeros",
    align_corners: bool | None = None,
) -> GraphExpr:
    """Images at coordinates; operators of exported programs number the modes."""
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    mode = modes[mode] if isinstance(mode, int) else mode
    padding = paddings[padding_mode] if isinstance(padding_mode, int) else padding_mode
    if mode not in modes or padding not in paddings:
        raise GraphError(
            f"grid_sample with mode {repr_of(mode)} and padding_mode {repr_of(padding)} is not "
            "supported",
            "",
            f"use a mode of {', '.join(modes)} and a padding of {', '.join(paddings)}",
        )
    method = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return imp.builder.emit_te(grid_sample, x, grid, method, padding, bool(align_corners))
