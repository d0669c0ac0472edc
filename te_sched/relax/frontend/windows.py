"""What importers share of layers: convolutions and pools, and places.

Must not know the format of a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from te_sched import te, topi
from te_sched.errors import GraphError, counted
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, ExprLike, IterVar
from te_sched.ir.graph import Constant, GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, reshaped, shape_expr, sizes_of_tensor, tensor_info
from te_sched.relax.transform.annotate_tir_op_pattern import ATTRIBUTE, OpPatternKind
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import ravel_index

Array = NDArray[np.float64]
_Real = TypeVar("_Real", Array, Expr)


_LAYOUTS = {1: ("NCW", "OIW"), 2: ("NCHW", "OIHW"), 3: ("NCDHW", "OIDHW")}


# What the pass does not see where indices are shifted by sizes: a bias can follow in the kernel.
_CONVOLUTION = {ATTRIBUTE: int(OpPatternKind.OUT_ELEMENT_WISE_FUSABLE)}


def layouts_of(rank: int) -> tuple[str, str]:
    """The layouts of data and weights of convolutions and pools along some dimensions.

    >>> layouts_of(2)
    ('NCHW', 'OIHW')
    """
    if rank not in _LAYOUTS:
        raise GraphError(
            f"convolutions and pools along {counted(rank, 'dimension')} are not supported",
            "a window has 1, 2 or 3 dimensions, after the batch and the channels",
            "reshape the tensor to 3, 4 or 5 dimensions",
        )
    return _LAYOUTS[rank]


def convolution(
    builder: BlockBuilder,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None,
    strides: Sequence[int],
    padding: Sequence[Size],
    dilation: Sequence[int],
    groups: int,
    out_dtype: str | None = None,
) -> GraphVar:
    """A convolution along all dimensions but the first two, with a bias of channels. Calls may give
    the padding.
    """
    rank = tensor_info(weight).ndim - 2
    data, kernel = layouts_of(rank)
    if any(isinstance(size, Expr) for size in padding):  # which the operator does not take
        pads = [ops.convert(size) for size in padding]
        others = strides, pads, dilation, groups, data, kernel, out_dtype
        name = f"conv{rank}d"
        y = builder.emit_te(
            topi.nn.conv, x, weight, *others, primfunc_name_hint=name, primfunc_attrs=_CONVOLUTION
        )
        return with_bias(builder, y, bias)
    call = getattr(R.nn, f"conv{rank}d")(
        x,
        weight,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
        data_layout=data,
        kernel_layout=kernel,
        out_dtype=out_dtype,
    )
    return with_bias(builder, builder.emit(call), bias)


def transposed_convolution(
    builder: BlockBuilder,
    x: GraphExpr,
    weight: GraphExpr,
    bias: GraphExpr | None,
    strides: Sequence[int],
    padding: Sequence[Size],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    out_dtype: str | None = None,
) -> GraphVar:
    """The transposed convolution along all dimensions but the first two, with a bias."""
    rank = tensor_info(weight).ndim - 2
    data, kernel = layouts_of(rank)
    call = getattr(R.nn, f"conv{rank}d_transpose")(
        x,
        weight,
        strides=strides,
        padding=padding,
        output_padding=output_padding,
        dilation=dilation,
        groups=groups,
        data_layout=data,
        kernel_layout="IO" + kernel[2:],
        out_dtype=out_dtype,
    )
    return with_bias(builder, builder.emit(call), bias)


def with_bias(builder: BlockBuilder, y: GraphVar, bias: GraphExpr | None) -> GraphVar:
    """A tensor with a number added to each channel, which is its dimension 1."""
    if bias is None:
        return y
    channels = sizes_of_tensor(bias, "give the shape of the bias")[0]
    shape = [1, channels, *[1] * (tensor_info(y).ndim - 2)]
    return builder.emit(R.add(y, reshaped(builder, bias, shape)))


def depth_to_space(
    builder: BlockBuilder, x: GraphExpr, block: int, is_depth_first: bool
) -> GraphVar:
    """An image of fewer channels, of which parts become blocks of rows and columns.

    Parameters
    ----------
    is_depth_first : whether the blocks are the outermost part of the channels, as in ONNX's DCR.
    """
    batch, channels, height, width = sizes_of_tensor(x, "give the shape of the image")
    inner = channels // (block * block)
    if is_depth_first:
        parts, axes = [batch, block, block, inner, height, width], [0, 3, 4, 1, 5, 2]
    else:
        parts, axes = [batch, inner, block, block, height, width], [0, 1, 4, 2, 5, 3]
    image = builder.emit(R.permute_dims(reshaped(builder, x, parts), axes))
    return reshaped(builder, image, [batch, inner, height * block, width * block])


def padded(
    builder: BlockBuilder,
    x: GraphExpr,
    before: Sequence[Size],
    after: Sequence[Size],
    fill: ExprLike,
    mode: str = "constant",
) -> GraphVar:
    """A tensor with elements of a value around it, as many as calls give, or with its own elements
    in the modes "edge", "reflect" and "wrap" of numpy.

    >>> from te_sched import relax, tir
    >>> n = tir.Var("n", "int64")
    >>> x = relax.Var("x", relax.TensorStructInfo([n], "float32"))
    >>> builder = relax.BlockBuilder()
    >>> with builder.function("main", [x]):
    ...     y = padded(builder, x, [1], [n], 0)
    ...     name = builder.emit_func_output(y)
    >>> y.struct_info
    R.Tensor((n * 2 + 1,), dtype="float32")
    """
    sides = [[ops.convert(size) for size in side] for side in (before, after)]
    if mode == "constant":
        return builder.emit_te(topi.nn.pad, x, *sides, fill, primfunc_name_hint="pad")
    source_index = _PLACES_IN_PADS[mode]

    def repeated(data: Tensor, before: Sequence[Expr], after: Sequence[Expr]) -> Tensor:
        sizes = list(zip(data.shape, before, after, strict=True))

        def element(*indices: Expr) -> Expr:
            pairs = zip(indices, sizes, strict=True)
            return data(*[source_index(index - begin, size) for index, (size, begin, _) in pairs])

        shape = [begin + size + end for size, begin, end in sizes]
        return topi.utils.tensor_of(shape, element, "T_pad")

    return builder.emit_te(repeated, x, *sides, primfunc_name_hint="pad")


def _reflected(index: Expr, size: Expr) -> Expr:
    last = size - 1
    return last - te.abs(last - te.abs(index))


# Where the element at an index that may be outside of a dimension comes from.
_PLACES_IN_PADS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "edge": lambda index, size: te.max(te.min(index, size - 1), 0),
    "reflect": _reflected,
    "wrap": te.floormod,
}


def begun_inside(
    builder: BlockBuilder,
    pool: GraphVar,
    extents: Sequence[Size],
    padding: Sequence[Size],
    strides: Sequence[int],
) -> GraphVar:
    """A pool without windows that begin in the padding at the end, which models leave out.

    `extents` are those of the dimensions before the pool, `padding` is that at their begin.
    """
    shape = list(shape_expr(sizes_of_tensor(pool, "pool tensors of a known shape")).values)
    sizes = shape[:2]
    for size, extent, pad, step in zip(shape[2:], extents, padding, strides, strict=True):
        (reach,) = shape_expr([extent + pad - 1]).values
        most = ops.floordiv(reach, step) + 1
        sizes.append(builder.analyzer.simplify(ops.minimum(size, most)))
    if all(map(builder.analyzer.can_prove_equal, sizes, shape)):
        return pool
    axes = list(range(2, len(shape)))
    ones = [1] * len(axes)
    return builder.emit(R.strided_slice(pool, axes, [0] * len(axes), sizes[2:], ones, True))


def places_of_maxima(
    kernel: Sequence[int], strides: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> Callable[[Tensor, Tensor], Tensor]:
    """A function of tensor expressions that finds the places of the maxima of windows, as torch.

    A place counts the elements of the spatial dimensions. It is that of the first maximum, or of
    the last NaN where there is one.
    """

    def place(data: Tensor, best: Tensor) -> Tensor:
        extents = [ops.cast("int64", extent) for extent in data.shape[2:]]
        is_float = dtypes.is_float(data.dtype)

        def over() -> list[IterVar]:
            return [te.reduce_axis((0, size), name="r") for size in kernel]

        def window(index: Sequence[Expr], axes: Sequence[IterVar]) -> tuple[Expr, Expr, Expr]:
            """Whether an element of a window exists, the element, and its place."""
            spots = [
                ops.cast("int64", i * step - pad + axis.var * gap)
                for i, step, pad, axis, gap in zip(
                    index[2:], strides, padding, axes, dilation, strict=True
                )
            ]
            bounds = [ops.greater_equal(spot, 0) for spot in spots]
            bounds += [ops.less(spot, size) for spot, size in zip(spots, extents, strict=True)]
            inside = te.all(*bounds)
            value = te.if_then_else(inside, data(*index[:2], *spots), te.const(0, data.dtype))
            return inside, value, ravel_index(spots, extents)

        def first(*index: Expr) -> Expr:
            axes = over()
            inside, value, at = window(index, axes)
            is_best = te.all(inside, ops.equal(value, best(*index)))
            return te.min(te.select(is_best, at, te.max_value("int64")), axis=axes)

        def last(*index: Expr) -> Expr:
            axes = over()
            inside, value, at = window(index, axes)
            is_nan = te.all(inside, te.isnan(value))
            return te.max(te.select(is_nan, at, te.const(-1, "int64")), axis=axes)

        indices = te.compute(best.shape, first, name="first")
        if not is_float:
            return indices
        nans = te.compute(best.shape, last, name="nan")
        return te.compute(
            best.shape,
            lambda *index: te.select(te.isnan(best(*index)), nans(*index), indices(*index)),
            name="places",
        )

    return place


class Blocks(NamedTuple):
    """Blocks of an image, of which each begins some elements behind the one before."""

    sizes: Sequence[int]  # of the image
    kernel: Sequence[int]
    strides: Sequence[int]
    before: Sequence[int]  # padding
    after: Sequence[int]
    dilations: Sequence[int]

    def counts(self) -> list[int]:
        """How many blocks there are in each dimension."""
        rows = zip(*self, strict=True)
        return [(n + p + q - (k - 1) * d - 1) // step + 1 for n, k, step, p, q, d in rows]


def sum_of_blocks(columns: Tensor, blocks: Blocks) -> Tensor:
    """Images of the sums of overlapping blocks, as a tensor expression.

    columns : [batch, channels * elements of a block, blocks].
    """
    area, counts = math.prod(blocks.kernel), blocks.counts()
    channels = ops.floordiv(columns.shape[1], area)

    def element(batch: Expr, channel: Expr, *index: Expr) -> Expr:
        axes = [te.reduce_axis((0, size), name="r") for size in blocks.kernel]
        bounds, places = [], []
        for i, axis, step, pad, gap, count in zip(
            index, axes, blocks.strides, blocks.before, blocks.dilations, counts, strict=True
        ):
            offset = i + pad - axis.var * gap
            position = ops.floordiv(offset, step)
            bounds += [offset >= 0, ops.floormod(offset, step).equal(0), position < count]
            places.append(position)
        inner = ravel_index([axis.var for axis in axes], list(blocks.kernel))
        value = columns(batch, channel * area + inner, ravel_index(places, counts))
        zero = te.const(0, columns.dtype)
        return te.sum(te.if_then_else(te.all(*bounds), value, zero), axis=axes)

    return te.compute((columns.shape[0], channels, *blocks.sizes), element, name="blocks")


def nonnegative_indices(
    builder: BlockBuilder, indices: GraphExpr, extents: Size | Sequence[Size]
) -> GraphExpr:
    """Indices of which the negative ones, which count from the end, are replaced by those from the
    begin.

    Others are not checked here: the program that reads with them checks what is not proved.

    Parameters
    ----------
    indices : a tensor.
    extents : the extent of the dimension; or a list, for vectors of indices along the last axis.
    """
    dtype = tensor_info(indices).dtype
    if dtype.startswith("uint"):
        return indices
    several = extents if isinstance(extents, Sequence) else [extents]
    fixed = [index for index in several if isinstance(index, int)]
    is_fixed = len(fixed) == len(several)
    is_vector = isinstance(extents, Sequence)
    if isinstance(indices, Constant):
        values = indices.data.numpy()
        if not (values < 0).any():
            return indices
        if is_fixed:
            wrapped = values + np.array(fixed if is_vector else fixed[0])
            return const(np.where(values < 0, wrapped, values), dtype)
    if dtype in ("int8", "int16"):  # which may not hold the extents
        indices, dtype = builder.emit(R.astype(indices, "int64")), "int64"
    sizes: GraphExpr
    if is_fixed:
        sizes = const(np.array(fixed if is_vector else fixed[0]), dtype)
    else:
        shape = builder.emit(R.shape_to_tensor(shape_expr(several)))
        sizes = builder.emit(R.astype(shape, dtype))
        sizes = sizes if is_vector else builder.emit(R.reshape(sizes, []))
    moved = builder.emit(R.add(indices, sizes))
    is_from_end = builder.emit(R.less(indices, const(0, dtype)))
    return builder.emit(R.where(is_from_end, moved, indices))
