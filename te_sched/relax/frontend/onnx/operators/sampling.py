"""Rows of images that are read at coordinates, and of regions of images."""

from __future__ import annotations

from functools import partial

import numpy as np

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.grids import Windows, deformed_windows, grid_sample
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.regions import Alignment, max_roi_pool, roi_align
from te_sched.relax.frontend.tensors import product_of, reshaped
from te_sched.relax.frontend.windows import with_bias

_METHODS = {"bilinear": "linear", "bicubic": "cubic"}  # names of version 16


@row("GridSample")
def _grid_sample(
    imp: OnnxImporter,
    x: Value,
    grid: Value,
    *,
    mode: str = "linear",
    padding_mode: str = "zeros",
    align_corners: int = 0,
) -> GraphExpr:
    method = _METHODS.get(mode, mode)
    return imp.builder.emit_te(
        grid_sample, imp.tensor(x), imp.tensor(grid), method, padding_mode, bool(align_corners)
    )


@row("DeformConv")
def _deform_conv(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    offset: Value,
    bias: Value | None = None,
    mask: Value | None = None,
    *,
    kernel_shape: Ints | None = None,
    strides: Ints | None = None,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    group: int = 1,
    offset_group: int = 1,
) -> GraphExpr:
    """A convolution of windows whose elements are moved: products of weights and these."""
    data, weights = imp.tensor(x), imp.tensor(weight)
    outputs, inputs, *kernel = [imp.fixed_size(size, "convolve") for size in imp.shape(weights)]
    ones = [1] * len(kernel)
    if kernel_shape is not None and [*kernel_shape] != kernel:
        raise GraphError(
            f"the attribute kernel_shape is {[*kernel_shape]}",
            f"the weights have windows of {kernel}",
            "give the sizes of the weights, or leave the attribute out",
        )
    windows = Windows(
        kernel,
        strides or ones,
        dilations or ones,
        list(pads or [0] * 2 * len(kernel))[: len(kernel)],
    )

    def columns(image: te.Tensor, offsets: te.Tensor, *masks: te.Tensor) -> te.Tensor:
        return deformed_windows(image, offsets, masks[0] if masks else None, windows, offset_group)

    masks = [] if mask is None else [imp.tensor(mask)]
    moved = imp.builder.emit_te(columns, data, imp.tensor(offset), *masks)
    batch, _, count, *sizes = imp.shape(moved)
    rows = product_of([inputs, count])
    moved = imp.emit(R.reshape(moved, [batch, group, rows, product_of(sizes)]))
    weights = imp.emit(R.reshape(weights, [group, outputs // group, rows]))
    y = imp.emit(R.matmul(weights, moved))
    y = imp.emit(R.reshape(y, [batch, outputs, *sizes]))
    return with_bias(imp.builder, y, None if bias is None else imp.tensor(bias))


@row("AffineGrid")
def _affine_grid(
    imp: OnnxImporter, theta: Value, size: Value, *, align_corners: int = 0
) -> GraphExpr:
    batch, _, *extents = imp.ints(size, 1)
    axes = [
        np.linspace(-1, 1, extent) if align_corners else (2 * np.arange(extent) + 1) / extent - 1
        for extent in extents
    ]
    coordinates = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(extents)], -1)
    points = const(coordinates.reshape(1, -1, len(extents) + 1), imp.dtype(theta))
    transposed = imp.emit(R.permute_dims(imp.tensor(theta), [0, 2, 1]))
    grid = imp.emit(R.matmul(points, transposed))
    return reshaped(imp.builder, grid, [batch, *extents, len(extents)])


@row("RoiAlign")
def _roi_align_of_corners(
    imp: OnnxImporter,
    x: Value,
    rois: Value,
    batch_indices: Value,
    *,
    coordinate_transformation_mode: str = "output_half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> GraphExpr:
    has_half_pixels = coordinate_transformation_mode == "half_pixel"
    how = Alignment(sampling_ratio, spatial_scale, has_half_pixels, mode == "max")
    tensors = [imp.tensor(value) for value in (x, rois, batch_indices)]
    pool = partial(roi_align, size=(output_height, output_width), how=how)
    return imp.builder.emit_te(pool, *tensors, primfunc_name_hint="roi_align")


row("RoiAlign", since=16)(
    partial(_roi_align_of_corners, coordinate_transformation_mode="half_pixel")
)


@row("MaxRoiPool")
def _max_roi_pool(
    imp: OnnxImporter, x: Value, rois: Value, *, pooled_shape: Ints, spatial_scale: float = 1.0
) -> GraphExpr:
    tensors = [imp.tensor(value) for value in (x, rois)]
    return imp.builder.emit_te(max_roi_pool, *tensors, tuple(pooled_shape), spatial_scale)


@row("CenterCropPad")
def _center_crop_pad(
    imp: OnnxImporter, x: Value, shape: Value, *, axes: Ints | None = None
) -> GraphExpr:
    x = imp.tensor(x)
    rank, sizes = imp.rank(x), imp.ints(shape, 1)
    places = [axis % rank for axis in axes or range(rank)]
    old = [imp.shape(x)[dim] for dim in places]
    fixed = [size for size in old if isinstance(size, int)]
    if len(fixed) < len(old):
        raise GraphError(
            f"dimensions {places} are cropped or padded, of which calls give the sizes",
            f"the tensor has the shape {imp.shape(x)}",
            "give the shapes of inputs: from_onnx(model, shape_dict={...})",
        )
    rows = list(zip(places, fixed, sizes, strict=True))
    crops = [(dim, (size - new) // 2, new) for dim, size, new in rows if size > new]
    if crops:
        cut, begins, extents = [list(column) for column in zip(*crops, strict=True)]
        ends = [begin + extent for begin, extent in zip(begins, extents, strict=True)]
        x = imp.emit(R.strided_slice(x, cut, begins, ends))
    pads = [0] * (2 * rank)
    for pad_axis, size, new in rows:
        if new > size:
            pads[2 * pad_axis] = (new - size) // 2
            pads[2 * pad_axis + 1] = new - size - pads[2 * pad_axis]
    return imp.emit(R.nn.pad(x, pads)) if any(pads) else x
