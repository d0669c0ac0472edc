"""Rows of pools by other sums than means, and of what undoes pools and blocks."""

from __future__ import annotations

import math
from functools import partial

from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.operators.windows import padding_of, pool
from te_sched.relax.frontend.onnx.registry import Ints, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, filled, product_of, reshaped
from te_sched.relax.frontend.windows import Blocks, begun_inside, sum_of_blocks


@row("LpPool")
def _lp_pool(
    imp: OnnxImporter,
    x: Value,
    *,
    kernel_shape: Ints,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Ints | None = None,
    p: int = 2,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> GraphExpr:
    x, rank = imp.tensor(x), len(kernel_shape)
    steps, gaps = strides or [1] * rank, dilations or [1] * rank
    extents = imp.shape(x)[2:]
    borders = padding_of(auto_pad, pads, extents, kernel_shape, steps, gaps)
    widths = [imp.fixed_size(width, "pad") for width in borders]
    # Zeros that are elements, and not a padding, count in the mean of each window.
    before, after = widths[:rank], widths[rank:]
    if ceil_mode:
        after = [width + step - 1 for width, step in zip(after, steps, strict=True)]
    flat = [width for pair in zip(before, after, strict=True) for width in pair]
    power = imp.emit(R.nn.pad(_power(imp, x, p), [0, 0, 0, 0, *flat]))
    mean = pool("avg")(imp, power, kernel_shape=kernel_shape, strides=steps, dilations=gaps)
    if ceil_mode:
        mean = begun_inside(imp.builder, imp.emit(mean), extents, before, steps)
    total = imp.emit(R.multiply(mean, const(math.prod(kernel_shape), imp.dtype(x))))
    return _root(imp, total, p)


@row("GlobalLpPool")
def _global_lp_pool(imp: OnnxImporter, x: Value, *, p: int = 2) -> GraphExpr:
    axes = list(range(2, imp.rank(x)))
    total = imp.emit(R.sum(_power(imp, imp.tensor(x), p), axes, True))
    return _root(imp, total, p)


def _power(imp: OnnxImporter, x: GraphExpr, p: int) -> GraphVar:
    size = imp.emit(R.abs(x))
    return size if p == 1 else imp.emit(R.power(size, const(p, imp.dtype(x))))


def _root(imp: OnnxImporter, x: GraphVar, p: int) -> GraphVar:
    return x if p == 1 else imp.emit(R.power(x, const(1 / p, imp.dtype(x))))


@row("MaxUnpool")
def _max_unpool(
    imp: OnnxImporter,
    x: Value,
    indices: Value,
    output_shape: Value | None = None,
    *,
    kernel_shape: Ints,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> GraphExpr:
    batch, channels, *extents = imp.shape(x)
    rank = len(kernel_shape)
    steps, widths = strides or [1] * rank, pads or [0] * (2 * rank)
    rows = zip(extents, kernel_shape, steps, widths[:rank], widths[rank:], strict=True)
    sizes = [(n - 1) * step + k - before - after for n, k, step, before, after in rows]
    shape: list[Size] = [batch, channels, *sizes]
    zeros = filled(imp.builder, [product_of(shape)], 0, imp.dtype(x))
    flat, elements_of = [imp.emit(R.flatten(imp.tensor(value))) for value in (indices, x)]
    elements = imp.emit(R.scatter_elements(zeros, flat, elements_of))
    image = reshaped(imp.builder, elements, shape)
    if output_shape is None:
        return image
    rests = zip(imp.sizes(output_shape, 2), shape, strict=True)
    widths = [width for new, old in rests for width in (0, imp.fixed_size(new - old, "pad"))]
    return imp.emit(R.nn.pad(image, widths))


@row("Col2Im")
def _col2im(
    imp: OnnxImporter,
    x: Value,
    image_shape: Value,
    block_shape: Value,
    *,
    dilations: Ints | None = None,
    pads: Ints | None = None,
    strides: Ints | None = None,
) -> GraphExpr:
    sizes, kernel = imp.ints(image_shape, 1), imp.ints(block_shape, 2)
    rank = len(sizes)
    ones = [1] * rank
    gaps, steps, widths = dilations or ones, strides or ones, pads or [0] * (2 * rank)
    blocks = Blocks(sizes, kernel, steps, widths[:rank], widths[rank:], gaps)
    add = partial(sum_of_blocks, blocks=blocks)
    return imp.builder.emit_te(add, imp.tensor(x), primfunc_name_hint="col2im")
