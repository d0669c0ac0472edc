"""Rows that read shapes, and that change the shape or the order of elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, GraphVar, TupleGetItem
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter, dtype_of
from te_sched.relax.frontend.onnx.registry import Ints, Result, row
from te_sched.relax.frontend.onnx.sizes import OnnxSizes, Value, are_open, is_known
from te_sched.relax.frontend.tensors import (
    Size,
    product_of,
    reshaped,
    shape_expr,
    with_ones,
)
from te_sched.relax.frontend.windows import depth_to_space, padded


@row("Shape")
def _shape(imp: OnnxImporter, x: Value, start: int = 0, end: int | None = None) -> Value:
    return _sizes.as_sizes(imp.shape(x)[start:end])


@row("Size")
def _size(imp: OnnxImporter, x: Value) -> Value:
    return _sizes.as_sizes([product_of(imp.shape(x))], is_scalar=True)


@row("Constant")
def _constant(imp: OnnxImporter, **attrs: object) -> Value:
    name, value = next(iter(attrs.items()))
    if name == "value":
        return np.asarray(value)
    dtypes_of = {"value_float": "float32", "value_floats": "float32"}
    return np.asarray(value, dtypes_of.get(name, "int64"))


@row("ConstantOfShape")
def _constant_of_shape(imp: OnnxImporter, shape: Value, value: Value | None = None) -> Value:
    fill = np.zeros(1, "float32") if value is None else np.asarray(value)
    sizes = imp.sizes(shape, 0)
    fixed = [size for size in sizes if isinstance(size, int)]
    if len(fixed) == len(sizes):
        return np.full(fixed, fill.ravel()[0])
    return imp.emit(R.full(sizes, const(fill.ravel()[0], str(fill.dtype)), str(fill.dtype)))


@row("Reshape")
def _reshape(imp: OnnxImporter, x: Value, shape: Value, allowzero: int = 0) -> Value:
    sizes = imp.sizes(shape, 1)
    old = imp.shape(x)
    if isinstance(x, OnnxSizes):
        if len(sizes) < 2:
            return OnnxSizes(x, not sizes, x.dtype)
        x = imp.tensor(x)
    if not allowzero:
        sizes = [
            old[n] if not isinstance(size, Expr) and size == 0 else size
            for n, size in enumerate(sizes)
        ]
    if isinstance(x, np.ndarray):
        return np.reshape(x, [imp.fixed_size(size, "reshape to") for size in sizes])
    return reshaped(imp.builder, imp.tensor(x), sizes)


@row("Flatten")
def _flatten(imp: OnnxImporter, x: Value, axis: int = 1) -> Value:
    shape = imp.shape(x)
    first = axis if axis >= 0 else axis + len(shape)
    sizes = [product_of(shape[:first]), product_of(shape[first:])]
    return imp.emit(R.reshape(imp.tensor(x), sizes))


@row("Transpose")
def _transpose(imp: OnnxImporter, x: Value, perm: Ints | None = None) -> Value:
    if isinstance(x, np.ndarray):
        return np.ascontiguousarray(np.transpose(x, perm))
    return imp.emit(R.permute_dims(imp.tensor(x), perm))


@row("Unsqueeze")
def unsqueeze(
    imp: OnnxImporter, x: Value, axes_input: Value | None = None, *, axes: Ints | None = None
) -> Value:
    """A value with new dimensions of size 1."""
    places = imp.ints(axes if axes_input is None else axes_input, 1)
    if isinstance(x, OnnxSizes) and x.is_scalar and len(places) == 1:
        return OnnxSizes(x, False, x.dtype)
    x = imp.tensor(x) if isinstance(x, OnnxSizes) else x
    if isinstance(x, np.ndarray | np.generic):
        return np.expand_dims(x, tuple(places))
    return imp.emit(R.expand_dims(x, places))


@row("Squeeze")
def _squeeze(
    imp: OnnxImporter, x: Value, axes_input: Value | None = None, *, axes: Ints | None = None
) -> Value:
    places = axes if axes_input is None else imp.ints(axes_input, 1)
    if isinstance(x, OnnxSizes):
        return OnnxSizes(x, x.is_scalar or len(x) == 1, x.dtype)
    if isinstance(x, np.ndarray | np.generic):
        return np.squeeze(x, None if places is None else tuple(places))
    return imp.emit(R.squeeze(with_ones(imp.builder, imp.tensor(x), places or ()), places))


@row("Concat")
def concatenate(imp: OnnxImporter, *values: Value, axis: int) -> Value:
    """Values along an axis: known ones, sizes, or tensors."""
    constants = [value for value in values if is_known(value)]
    if len(constants) == len(values):
        arrays = [value for value in constants if not isinstance(value, OnnxSizes)]
        if len(arrays) < len(values):
            elements = [item for value in constants for item in _sizes.elements(value)]
            return _sizes.as_sizes(elements, dtype=imp.dtype(values[0]))
        return np.concatenate(arrays, axis)
    return imp.emit(R.concat(imp.tensors(values, axis), axis))


@row("Split")
def _split(
    imp: OnnxImporter,
    x: Value,
    split_input: Value | None = None,
    *,
    axis: int = 0,
    split: Ints | None = None,
    num_outputs: int | None = None,
) -> Result:
    sizes = split if split_input is None else imp.sizes(split_input, 1)
    x = imp.tensor(x)
    if sizes is None:
        extent = imp.shape(x)[axis]
        each = -(-extent // imp.count) if isinstance(extent, int) else None
        if each is None or extent % imp.count == 0:
            where: int | list[Size] = imp.count
        else:
            where = [each * (n + 1) for n in range(imp.count - 1)]
    elif are_open(*sizes):
        return _parts_of_open_sizes(imp, x, sizes, axis)
    else:
        where = [sum(sizes[: n + 1]) for n in range(len(sizes) - 1)]
    parts = imp.emit(R.split(x, where, axis))
    return tuple([imp.emit(TupleGetItem(parts, n)) for n in range(imp.count)])


def _parts_of_open_sizes(
    imp: OnnxImporter, x: GraphExpr, sizes: Sequence[Size], axis: int
) -> tuple[GraphVar, ...]:
    """Parts of a tensor along an axis; calls check what does not follow from its sizes."""
    parts, begin = [], ops.convert(0)
    whole, dim = imp.shape(x), axis % imp.rank(x)
    for size in sizes:
        end = imp.builder.analyzer.simplify(begin + size)
        part = imp.emit(R.strided_slice(x, [dim], [begin], [end]))
        shape = shape_expr([*whole[:dim], size, *whole[dim + 1 :]])
        parts.append(imp.builder.match_cast(part, TensorStructInfo(shape, imp.dtype(x))))
        begin = end
    return tuple(parts)


@row("Expand")
def _expand(imp: OnnxImporter, x: Value, shape: Value) -> GraphExpr:
    sizes, old = imp.sizes(shape, 1), imp.shape(x)
    count = max(len(sizes), len(old))
    wide: list[list[Size]] = [[*[1] * (count - len(dims)), *dims] for dims in (sizes, old)]
    target_shape = [_expanded(imp, *pair) for pair in zip(*wide, strict=True)]
    return imp.emit(R.broadcast_to(imp.tensor(x), target_shape))


def _expanded(imp: OnnxImporter, wanted: Size, size: Size) -> Size:
    """The size of a dimension that is repeated if it is 1, and kept if 1 is wanted."""
    if not isinstance(wanted, Expr) or not isinstance(size, Expr):
        fixed = size if isinstance(wanted, Expr) else wanted
        other = wanted if isinstance(wanted, Expr) else size
        return other if fixed == 1 else fixed
    if not imp.builder.analyzer.can_prove_equal(wanted, size):
        raise GraphError(
            f"a dimension of size {size} is expanded to {wanted}",
            "whether it is repeated depends on the call",
            imp.help_with_shapes,
        )
    return size


@row("Tile")
def _tile(imp: OnnxImporter, x: Value, repeats: Value) -> GraphExpr:
    counts, x = imp.sizes(repeats, 1), imp.tensor(x)
    if not are_open(*counts):
        return imp.emit(R.tile(x, counts))
    sizes = imp.shape(x)
    inner = [part for size in sizes for part in (1, size)]
    outer = [part for pair in zip(counts, sizes, strict=True) for part in pair]
    whole = imp.emit(R.broadcast_to(imp.emit(R.reshape(x, inner)), outer))
    pairs = zip(counts, sizes, strict=True)
    return imp.emit(R.reshape(whole, [ops.multiply(*pair) for pair in pairs]))


@row("Pad")
def _pad(
    imp: OnnxImporter,
    x: Value,
    pads_input: Value | None = None,
    value_input: Value | None = None,
    axes: Ints | None = None,
    mode: str = "constant",
    pads: Ints | None = None,
    value: float = 0.0,
) -> GraphExpr:
    widths = imp.sizes(pads if pads_input is None else pads_input, 1)
    fill = value if value_input is None else imp.numbers(value_input, 2)[0]
    x = imp.tensor(x)
    rank = imp.rank(x)
    places = list(range(rank)) if axes is None else imp.ints(axes, 3)
    half = len(widths) // 2
    flat: list[Size] = [0] * (2 * rank)
    for n, axis in enumerate(places):
        flat[2 * (axis % rank)], flat[2 * (axis % rank) + 1] = widths[n], widths[half + n]
    if are_open(*flat):
        return padded(imp.builder, x, flat[::2], flat[1::2], fill, mode)
    kind = {"edge": "replicate", "wrap": "circular"}.get(mode, mode)
    return imp.emit(R.nn.pad(x, flat, pad_mode=kind, pad_value=fill))


@row("Trilu")
def _trilu(imp: OnnxImporter, x: Value, k: Value | None = None, upper: int = 1) -> GraphExpr:
    diagonal = 0 if k is None else imp.ints(k, 1)[0]
    return imp.emit((R.triu if upper else R.tril)(imp.tensor(x), diagonal))


@row("EyeLike")
def _eye_like(imp: OnnxImporter, x: Value, dtype: int | None = None, k: int = 0) -> GraphExpr:
    name = imp.dtype(x) if dtype is None else dtype_of(dtype)
    rows, columns = imp.shape(x)
    return imp.emit(R.eye(rows, columns, k, name))


@row("Range")
def _range(imp: OnnxImporter, start: Value, limit: Value, delta: Value) -> Value:
    begin, end, step = [
        imp.numbers(bound, position)[0] for position, bound in enumerate((start, limit, delta))
    ]
    dtype = imp.dtype(start)
    if not (isinstance(begin, Expr) or isinstance(end, Expr) or isinstance(step, Expr)):
        return np.arange(begin, end, step, dtype=dtype)
    kind = dtype
    if dtypes.is_float(dtype) and all(map(_sizes.is_whole, (begin, end, step))):
        kind = "int64"  # the number of elements of floats is not an expression of sizes
        begin, end, step = [_sizes.integral(number)[0] for number in (begin, end, step)]
    if not isinstance(step, Expr) and step != 0:  # a sequence against its direction is empty
        end = (ops.maximum if step > 0 else ops.minimum)(end, begin)
    numbers = imp.emit(R.arange(begin, end, step, kind))
    return numbers if kind == dtype else imp.emit(R.astype(numbers, dtype))


@row("DepthToSpace")
def _depth_to_space(imp: OnnxImporter, x: Value, blocksize: int, mode: str = "DCR") -> GraphExpr:
    return depth_to_space(imp.builder, imp.tensor(x), blocksize, mode == "DCR")


@row("SpaceToDepth")
def _space_to_depth(imp: OnnxImporter, x: Value, blocksize: int, mode: str = "DCR") -> GraphExpr:
    batch, channels, height, width = imp.shape(x)
    tall, wide = height // blocksize, width // blocksize
    parts = [batch, channels, tall, blocksize, wide, blocksize]
    axes = [0, 3, 5, 1, 2, 4] if mode == "DCR" else [0, 1, 3, 5, 2, 4]
    y = imp.emit(R.permute_dims(imp.emit(R.reshape(imp.tensor(x), parts)), axes))
    return imp.emit(R.reshape(y, [batch, channels * blocksize * blocksize, tall, wide]))
