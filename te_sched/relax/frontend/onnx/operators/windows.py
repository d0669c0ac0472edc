"""Rows of convolutions and pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Expr, ExprLike
from te_sched.ir.graph import GraphCall, GraphExpr, GraphVar
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value, are_open
from te_sched.relax.frontend.tensors import Size, as_size, fixed_size, product_of, shape_expr
from te_sched.relax.frontend.windows import (
    begun_inside,
    convolution,
    layouts_of,
    padded,
    places_of_maxima,
    transposed_convolution,
)
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import tensor_of


def padding_of(
    auto_pad: str,
    pads: Ints | None,
    sizes: Sequence[Size],
    kernel: Sequence[Size],
    strides: Ints,
    dilations: Ints,
) -> list[Size]:
    """The padding before and after each dimension; that of SAME may depend on sizes."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", "VALID"):
        return list(pads) if pads and auto_pad == "NOTSET" else [0] * (2 * rank)
    before, after = [], []
    for size, k, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (fixed_size(k, "pad for windows of") - 1) * dilation + 1
        rest = (_ceil_quotient(size, stride) - 1) * stride + reach - size
        least = ops.maximum(rest, 0) if isinstance(rest, Expr) else max(rest, 0)
        if isinstance(rest, Expr) and stride <= reach:  # the last window ends behind the elements
            least = rest
        total: Size = reach - 1 if stride == 1 else least
        small, great = total // 2, total - total // 2
        before.append(small if auto_pad == "SAME_UPPER" else great)
        after.append(great if auto_pad == "SAME_UPPER" else small)
    return before + after


def _ceil_quotient(size: Size, stride: int) -> Size:
    return (size + stride - 1) // stride


def _padded(
    imp: OnnxImporter, x: GraphExpr, borders: Sequence[Size], fill: ExprLike = 0
) -> GraphVar:
    """A tensor with borders of its last dimensions, of which calls give the widths."""
    half = len(borders) // 2
    before, after = [[0, 0, *widths] for widths in (borders[:half], borders[half:])]
    return padded(imp.builder, x, before, after, fill)


def _with_sizes_of_same(
    imp: OnnxImporter, y: GraphVar, extents: Sequence[Size], strides: Ints
) -> GraphVar:
    """A result of windows that are padded by SAME: one window for each stride that begins.

    Calls check what does not follow from the sizes of the padded tensor.
    """
    sizes = [_ceil_quotient(*pair) for pair in zip(extents, strides, strict=True)]
    shape = shape_expr([*imp.shape(y)[:2], *sizes])
    own = shape_expr(imp.shape(y)).values
    if all(map(imp.builder.analyzer.can_prove_equal, own, shape.values)):
        return y
    return imp.builder.match_cast(y, TensorStructInfo(shape, imp.dtype(y)))


@row("Conv")
def _conv(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Value:
    x, weight = imp.tensor(x), imp.tensor(weight)
    kernel = imp.shape(weight)[2:]
    rank = len(kernel)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    extents = imp.shape(x)[2:]
    borders = padding_of(auto_pad, pads, extents, kernel, strides, dilations)
    channels = None if bias is None else imp.tensor(bias)
    y = convolution(imp.builder, x, weight, channels, strides, borders, dilations, group)
    return _with_sizes_of_same(imp, y, extents, strides) if are_open(*borders) else y


@row("ConvTranspose")
def _conv_transpose(
    imp: OnnxImporter,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    auto_pad: str = "NOTSET",
    dilations: Ints | None = None,
    group: int = 1,
    kernel_shape: Ints | None = None,
    output_padding: Ints | None = None,
    output_shape: Sequence[Size] | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> Value:
    x, weight = imp.tensor(x), imp.tensor(weight)
    rank = imp.rank(weight) - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    output_padding = output_padding or [0] * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER") and output_shape is None:
        extents = imp.shape(x)[2:]
        output_shape = [size * step for size, step in zip(extents, strides, strict=True)]
    if output_shape is not None:
        window = [(k - 1) * d + 1 for k, d in zip(imp.shape(weight)[2:], dilations, strict=True)]
        rows = zip(imp.shape(x)[2:], strides, output_padding, window, strict=True)
        whole = [(n - 1) * step + more + k for n, step, more, k in rows]
        pairs = zip(whole, output_shape[-rank:], strict=True)
        simplify = imp.builder.analyzer.simplify
        rests = [as_size(simplify(ops.convert(n - wanted))) for n, wanted in pairs]
        cut = [imp.fixed_size(rest, "crop") for rest in rests]
        more = zip(output_padding, cut, strict=True)
        output_padding = [extra + max(-size, 0) for extra, size in more]
        cut = [max(size, 0) for size in cut]
        small, large = [size // 2 for size in cut], [size - size // 2 for size in cut]
        pads = small + large if auto_pad == "SAME_UPPER" else large + small
    return transposed_convolution(
        imp.builder,
        x,
        weight,
        None if bias is None else imp.tensor(bias),
        strides=strides,
        padding=pads or [0] * (2 * rank),
        output_padding=output_padding,
        dilation=dilations,
        groups=group,
    )


def pool(kind: str) -> Callable[..., GraphExpr]:
    def rule(
        imp: OnnxImporter,
        x: Value,
        *,
        kernel_shape: Ints,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        count_include_pad: int = 0,
        dilations: Ints | None = None,
        pads: Ints | None = None,
        strides: Ints | None = None,
    ) -> GraphExpr:
        x = imp.tensor(x)
        rank = len(kernel_shape)
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        extents = imp.shape(x)[2:]
        borders = padding_of(auto_pad, pads, extents, kernel_shape, strides, dilations)
        windows = partial(
            getattr(R.nn, f"{kind}_pool{rank}d"),
            pool_size=kernel_shape,
            strides=strides,
            dilation=dilations,
            ceil_mode=bool(ceil_mode),
            layout=layouts_of(rank)[0],
        )
        if are_open(*borders):
            is_of_elements = kind == "avg" and not count_include_pad
            fill = _least(imp.dtype(x)) if kind == "max" else 0
            y = _pool_of_open_borders(imp, windows, x, borders, fill, is_of_elements)
            return _with_sizes_of_same(imp, y, extents, strides)
        y = imp.emit(windows(x, padding=borders, count_include_pad=bool(count_include_pad)))
        before = borders[:rank]
        return begun_inside(imp.builder, y, extents, before, strides) if ceil_mode else y

    return rule


def _places(
    imp: OnnxImporter,
    find: Callable[[Tensor, Tensor], Tensor],
    x: GraphExpr,
    maxima: GraphExpr,
    by_columns: bool,
) -> GraphExpr:
    """The places of maxima among all elements; `by_columns` counts the first dimension first."""

    def places_in_batches(data: Tensor, best: Tensor) -> Tensor:
        places, sizes = find(data, best), [ops.cast("int64", n) for n in data.shape]

        def element(*index: Expr) -> Expr:
            position: Expr = places(*index)
            if by_columns:
                position = _by_columns(position, sizes[2:])
            first = index[0] * sizes[1] + index[1]
            return ops.cast("int64", first) * product_of(sizes[2:]) + position

        return tensor_of(best.shape, element, "T_places", "")

    return imp.builder.emit_te(places_in_batches, x, maxima, primfunc_name_hint="max_places")


def _by_columns(position: Expr, sizes: Sequence[Expr]) -> Expr:
    """The number of an element of an image, counted with the first dimension as the fastest."""
    total: Expr = ops.const(0, "int64")
    for axis, size in reversed(list(enumerate(sizes))):
        total = total + ops.floormod(position, size) * product_of(sizes[:axis])
        position = ops.floordiv(position, size)
    return total


def _least(dtype: str) -> ExprLike:
    """What is less than all elements."""
    return -math.inf if dtypes.is_float(dtype) else intrinsics.min_value(dtype)


def _pool_of_open_borders(
    imp: OnnxImporter,
    windows: Callable[..., GraphCall],
    x: GraphExpr,
    borders: Sequence[Size],
    fill: ExprLike,
    is_of_elements: bool,
) -> GraphVar:
    """A pool of a tensor that is padded before; `is_of_elements`: an average without the padding,
    which is that of all elements of a window over the part of them that is inside.
    """
    y = imp.emit(windows(_padded(imp, x, borders, fill), count_include_pad=True))
    if not is_of_elements:
        return y
    ones = imp.emit(R.ones([1, 1, *imp.shape(x)[2:]], imp.dtype(x)))
    part = imp.emit(windows(_padded(imp, ones, borders), count_include_pad=True))
    return imp.emit(R.divide(y, part))


@row("MaxPool")
def _max_pool(
    imp: OnnxImporter,
    x: Value,
    *,
    kernel_shape: Ints,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    storage_order: int = 0,
    strides: Ints | None = None,
) -> GraphExpr | tuple[GraphExpr, GraphExpr]:
    x, rank = imp.tensor(x), len(kernel_shape)
    steps, gaps = strides or [1] * rank, dilations or [1] * rank
    borders = padding_of(auto_pad, pads, imp.shape(x)[2:], kernel_shape, steps, gaps)
    maxima = pool("max")(
        imp,
        x,
        kernel_shape=kernel_shape,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
        dilations=gaps,
        pads=pads,
        strides=steps,
    )
    if imp.count == 1:
        return maxima
    before = [imp.fixed_size(width, "pad") for width in borders[:rank]]
    find = places_of_maxima(kernel_shape, steps, before, gaps)
    return maxima, _places(imp, find, x, maxima, bool(storage_order))


row("AveragePool")(pool("avg"))


def _global_pool(make: str) -> Callable[..., GraphExpr]:
    def rule(imp: OnnxImporter, x: Value) -> GraphExpr:
        axes = list(range(2, imp.rank(x)))
        return imp.emit(getattr(R, make)(imp.tensor(x), axes, True))

    return rule


row("GlobalAveragePool")(_global_pool("mean"))
row("GlobalMaxPool")(_global_pool("max"))
