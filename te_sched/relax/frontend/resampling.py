"""Resampled tensors in graphs, as descriptions of axes: R.image.resize2d, or a function of blocks.

Must not know the format of a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.frontend.tensors import Size, sizes_of_tensor, tensor_info
from te_sched.te.tensor import Tensor
from te_sched.topi.image.resampling import (
    TOLERANCE,
    Real,
    ResampledAxis,
    Resampling,
    resample,
)

_OF_TVM = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")

_Fields = tuple[int, Size, Real | None, Real | None, Real, Real]  # of an axis


def resampled(
    builder: BlockBuilder,
    x: GraphExpr,
    axes: Sequence[ResampledAxis],
    resampling: Resampling,
) -> GraphVar:
    """A tensor of the same dtype with other sizes along some axes, which calls may give.

    It is a call of R.image.resize2d where this computes the same, else one of a function of blocks.

    >>> from te_sched import relax
    >>> x = relax.Var("x", relax.TensorStructInfo([1, 1, 4, 4], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = resampled(builder, x, [ResampledAxis(3, 8)], Resampling("linear"))
    ...     name = builder.emit_func_output(y)
    >>> y.struct_info
    R.Tensor((1, 1, 4, 8), dtype="float32")
    """
    if _is_resize2d(x, axes, resampling):
        return builder.emit(_resize2d(x, axes, resampling))

    options = replace(resampling, is_separable=resampling.method == "cubic")

    def te_resample(data: Tensor, numbers: Sequence[_Fields]) -> Tensor:
        return resample(data, [ResampledAxis(*fields) for fields in numbers], options)

    # as arguments, so that the function is given the sizes that calls give
    numbers = [
        (axis.axis, axis.size, axis.factor, axis.step, axis.start, axis.end) for axis in axes
    ]
    return builder.emit_te(te_resample, x, numbers, primfunc_name_hint="resample")


def _is_resize2d(x: GraphExpr, axes: Sequence[ResampledAxis], resampling: Resampling) -> bool:
    """Whether R.image.resize2d computes the same."""
    is_exact = resampling.method != "nearest_neighbor" or (
        resampling.tolerance == TOLERANCE
        and (resampling.transformation != "asymmetric" or resampling.rounding == "floor")
    )
    return (
        is_exact
        and tensor_info(x).ndim == 4
        and all(axis.axis > 1 and axis.factor is None and axis.step is None for axis in axes)
        and resampling == replace(resampling, antialias=False, dtype="float32")
        and resampling.transformation in _OF_TVM
    )


def _resize2d(x: GraphExpr, axes: Sequence[ResampledAxis], resampling: Resampling) -> GraphExpr:
    sizes = sizes_of_tensor(x, "give the shape of the image")
    for axis in axes:
        sizes[axis.axis] = axis.size
    return R.image.resize2d(
        x,
        sizes[2:],
        layout="NCHW",
        method=resampling.method,
        coordinate_transformation_mode=resampling.transformation,
        rounding_method=resampling.rounding,
        cubic_alpha=resampling.alpha,
        cubic_exclude=resampling.excludes_outside,
    )
