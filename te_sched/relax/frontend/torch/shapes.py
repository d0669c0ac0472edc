"""Rows of operators of torch that change shapes, select elements, and tell sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import (
    Size,
    as_list,
    fixed_size,
    has_size,
    product_of,
    several,
)
from te_sched.relax.frontend.torch.elementwise import promoted, scalar
from te_sched.relax.frontend.torch.importer import (
    ROWS,
    Importer,
    TorchRow,
    row,
)
from te_sched.relax.frontend.torch.values import (
    Dims,
    Ints,
    Operand,
    Scalar,
    Sizes,
    Tensors,
    TorchSizes,
    Value,
    as_tuples,
    dtype_of,
)


@row("reshape", "view", "_unsafe_view", "view_copy")
def _reshape(imp: Importer, x: GraphExpr, *shape: Any) -> GraphExpr:
    if len(shape) == 1 and not isinstance(shape[0], int | Expr | list | tuple):
        return imp.cast(x, dtype_of(shape[0]))  # x.view(dtype) of the same number of bits
    return imp.reshape(x, as_list(shape))


@row("reshape_as", "view_as")
def _reshape_as(imp: Importer, x: GraphExpr, other: GraphExpr) -> GraphExpr:
    return imp.reshape(x, imp.shape(other))


@row(
    "flatten",
    Flatten=lambda imp, m: {"start_dim": m.start_dim, "end_dim": m.end_dim},
)
def _flatten(imp: Importer, x: GraphExpr, start_dim: int = 0, end_dim: int = -1) -> GraphExpr:
    shape = imp.shape(x)
    if not shape:
        return imp.reshape(x, [1])
    begin, end = imp.axis(x, start_dim), imp.axis(x, end_dim)
    if begin > end:
        raise GraphError(
            f"start_dim is {start_dim} and end_dim is {end_dim}, of {len(shape)} dimensions",
            "the dimensions from the first to the second become one",
            "give a start_dim that does not come after end_dim",
        )
    if begin == end:
        return x
    joined = product_of(shape[begin : end + 1])
    return imp.reshape(x, [*shape[:begin], joined, *shape[end + 1 :]])


ROWS["ravel"] = TorchRow(_flatten)


@row(
    "unflatten",
    Unflatten=lambda imp, m: {"dim": m.dim, "sizes": m.unflattened_size},
)
def _unflatten(imp: Importer, x: GraphExpr, dim: int, sizes: Sequence[Size]) -> GraphExpr:
    shape = imp.shape(x)
    dim %= len(shape)
    parts = list(sizes)
    if has_size(parts, -1):
        position = next(n for n, part in enumerate(parts) if isinstance(part, int) and part == -1)
        parts[position] = shape[dim] // product_of([*parts[:position], *parts[position + 1 :]])
    return imp.reshape(x, [*shape[:dim], *parts, *shape[dim + 1 :]])


@row("permute")
def _permute(imp: Importer, x: GraphExpr, *dims: Ints) -> GraphExpr:
    return imp.emit(R.permute_dims(x, as_list(dims)))


@row("transpose", "swapaxes")
def _transpose(imp: Importer, x: GraphExpr, dim0: int, dim1: int) -> GraphExpr:
    axes = list(range(imp.info(x).ndim))
    if not axes:
        return x
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return imp.emit(R.permute_dims(x, axes))


@row("mT", "adjoint", "mH")
def _matrix_transpose(imp: Importer, x: GraphExpr) -> GraphExpr:
    return _transpose(imp, x, -2, -1)


@row("t", "numpy_T")
def _t(imp: Importer, x: GraphExpr) -> GraphExpr:
    return imp.emit(R.permute_dims(x, None)) if imp.info(x).ndim > 1 else x


@row("movedim")
def _movedim(imp: Importer, x: GraphExpr, source: Ints, destination: Ints) -> GraphExpr:
    rank = imp.info(x).ndim
    sources, places = [[n % rank for n in several(dims, 1)] for dims in (source, destination)]
    axes = [axis for axis in range(rank) if axis not in sources]
    for position, source_axis in sorted(zip(places, sources, strict=True)):
        axes.insert(position, source_axis)
    return imp.emit(R.permute_dims(x, axes))


@row("unsqueeze")
def _unsqueeze(imp: Importer, x: GraphExpr, dim: int) -> GraphExpr:
    return imp.emit(R.expand_dims(x, dim))


@row("squeeze")
def _squeeze(imp: Importer, x: GraphExpr, dim: Dims = None) -> GraphExpr:
    shape = imp.shape(x)
    dims = list(range(len(shape))) if dim is None else several(dim, 1)
    ones = [dim for dim in dims if shape and type(shape[dim]) is int and shape[dim] == 1]
    return imp.emit(R.squeeze(x, ones)) if ones else x


@row("expand")
def _expand(imp: Importer, x: GraphExpr, *size: Sizes, implicit: bool = False) -> GraphExpr:
    sizes, shape = as_list(size), imp.shape(x)
    rest = len(sizes) - len(shape)
    new_shape = [
        shape[n - rest] if type(size) is int and size == -1 else size
        for n, size in enumerate(sizes)
    ]
    return imp.emit(R.broadcast_to(x, new_shape))


@row("expand_as")
def _expand_as(imp: Importer, x: GraphExpr, other: GraphExpr) -> GraphExpr:
    return imp.emit(R.broadcast_to(x, imp.shape(other)))


@row("broadcast_to")
def _broadcast_to(imp: Importer, x: GraphExpr, size: Sequence[Size]) -> GraphExpr:
    return imp.emit(R.broadcast_to(x, list(size)))


@row("repeat", "tile")
def _repeat(imp: Importer, x: GraphExpr, *repeats: Sizes) -> GraphExpr:
    return imp.emit(R.tile(x, as_list(repeats)))


@row("cat", "concat", "concatenate")
def _cat(
    imp: Importer, tensors: Sequence[GraphExpr], dim: int = 0, axis: int | None = None
) -> GraphExpr:
    """Tensors joined, without those of shape (0,): torch ignores them, whatever others have."""
    tensors = promoted(imp, *tensors)
    shapes = [(tensor, imp.shape(tensor)) for tensor in tensors]
    some = [
        tensor
        for tensor, sizes in shapes
        if len(sizes) != 1 or not isinstance(sizes[0], int) or sizes[0]
    ]
    return imp.emit(R.concat(some or tensors, axis if axis is not None else dim))


@row("stack")
def _stack(imp: Importer, tensors: Sequence[GraphExpr], dim: int = 0) -> GraphExpr:
    tensors = promoted(imp, *tensors)
    if dim == 0 and imp.info(tensors[0]).ndim:
        joined = imp.emit(R.concat(tensors, 0))
        return imp.reshape(joined, [len(tensors), *imp.shape(tensors[0])])
    parts = [imp.emit(R.expand_dims(tensor, dim)) for tensor in tensors]
    return imp.emit(R.concat(parts, dim))


@row("split", "split_with_sizes", "tensor_split_sizes", "unsafe_split", "unsafe_split_with_sizes")
def _split(
    imp: Importer, x: GraphExpr, split_size: Sizes | None = None, dim: int = 0, **kwargs: Sizes
) -> Value:
    size = split_size if split_size is not None else next(iter(kwargs.values()))
    extent = imp.shape(x)[dim]
    if isinstance(size, Sequence):
        places = [sum(size[: n + 1]) for n in range(len(size) - 1)]
        return imp.emit(R.split(x, places, dim)) if places else (x,)
    if not isinstance(extent, int):
        return _sliced(imp, x, dim)
    width = fixed_size(size, "split by")
    count = -(-extent // width) if width else 1
    if count <= 1:
        return (x,)
    if extent % width == 0:
        return imp.emit(R.split(x, count, dim))
    return imp.emit(R.split(x, [width * (n + 1) for n in range(count - 1)], dim))


def _sliced(imp: Importer, x: GraphExpr, dim: int) -> Tensors:
    """Parts of a dimension of a size that is not constant."""
    sizes = imp.known_parts(dim)
    if sizes is None:
        raise GraphError(
            f"cannot split a dimension of size {imp.shape(x)[dim]}",
            "its size is not constant",
            "use fixed sizes",
        )
    parts, begin = [], ops.const(0, "int64")
    for size in sizes:
        end = imp.builder.analyzer.simplify(begin + size)
        parts.append(imp.emit(R.strided_slice(x, [dim], [begin], [end], [1], True)))
        begin = end
    return tuple(parts)


@row("chunk", "unsafe_chunk")
def _chunk(imp: Importer, x: GraphExpr, chunks: int, dim: int = 0) -> Value:
    extent = imp.shape(x)[dim]
    if not isinstance(extent, int) and imp.known_parts(dim) is not None:
        return _sliced(imp, x, dim)
    if isinstance(extent, int) and (extent % chunks or not extent):
        return _split(imp, x, -(-extent // chunks), dim)
    return imp.emit(R.split(x, chunks, dim))


@row("tensor_split")
def _tensor_split(imp: Importer, x: GraphExpr, parts: Ints, dim: int = 0) -> Value:
    """Parts of which the first ones have an element more, or that begin at places."""
    if not isinstance(parts, int):
        return imp.emit(R.split(x, list(parts), dim))
    extent = imp.shape(x)[dim]
    if not isinstance(extent, int):
        return _sliced(imp, x, dim)
    size, more = divmod(extent, parts)
    return _split(imp, x, [size + 1] * more + [size] * (parts - more), dim)


def _split_along(name: str, dim: int) -> None:
    """The row of a split along a dimension: of vectors, along that before it for hsplit."""

    @row(name)
    def rule(imp: Importer, x: GraphExpr, parts: Ints) -> Value:
        return _tensor_split(imp, x, parts, min(dim, imp.info(x).ndim - 1))


for _name, _axis in (("vsplit", 0), ("hsplit", 1), ("dsplit", 2)):
    _split_along(_name, _axis)


def _atleast_1d(imp: Importer, x: GraphExpr) -> GraphExpr:
    return x if imp.info(x).ndim else imp.reshape(x, [1])


def _atleast_2d(imp: Importer, x: GraphExpr) -> GraphExpr:
    rank = imp.info(x).ndim
    return x if rank > 1 else imp.reshape(x, [*[1] * (2 - rank), *imp.shape(x)])


def _atleast_3d(imp: Importer, x: GraphExpr) -> GraphExpr:
    """Rows and columns come first: a vector is a row of columns of one element."""
    x = _atleast_2d(imp, x)
    return x if imp.info(x).ndim > 2 else imp.emit(R.expand_dims(x, -1))


def _of_each(name: str, rule: Callable[[Importer, GraphExpr], GraphExpr]) -> None:
    """The row of an operator of a tensor, or of a list of them."""

    @row(name)
    def of_each(imp: Importer, x: GraphExpr | Sequence[GraphExpr]) -> Value:
        return rule(imp, x) if isinstance(x, GraphExpr) else [rule(imp, part) for part in x]


for _name, _rule in (
    ("atleast_1d", _atleast_1d),
    ("atleast_2d", _atleast_2d),
    ("atleast_3d", _atleast_3d),
):
    _of_each(_name, _rule)


@row("cartesian_prod")
def _cartesian_prod(imp: Importer, tensors: Sequence[GraphExpr]) -> GraphExpr:
    """All rows that take an element of each vector."""
    if len(tensors) == 1:
        return tensors[0]
    rank, sizes = len(tensors), [imp.shape(x)[0] for x in tensors]
    columns = []
    for n, x in enumerate(tensors):
        line = imp.reshape(x, [sizes[n] if axis == n else 1 for axis in range(rank)])
        columns.append(imp.reshape(imp.broadcast(line, sizes), [product_of(sizes), 1]))
    return imp.emit(R.concat(columns, 1))


@row("unbind")
def _unbind(imp: Importer, x: GraphExpr, dim: int = 0) -> GraphExpr:
    extent = fixed_size(imp.shape(x)[dim], "unbind")
    parts = imp.emit(R.split(x, list(range(1, extent + 1)), dim))

    items = []
    for n in range(extent):
        item = imp.emit(TupleGetItem(parts, n))
        items.append(imp.emit(R.squeeze(item, dim)))
    return imp.emit(as_tuples(items))


@row("broadcast_in_dim")
def _broadcast_in_dim(
    imp: Importer, x: GraphExpr, shape: Sequence[Size], broadcast_dimensions: Sequence[int]
) -> GraphExpr:
    """A tensor of which dimension n becomes dimension broadcast_dimensions[n]."""
    places = dict(zip(broadcast_dimensions, imp.shape(x), strict=True))
    aligned = imp.reshape(x, [places.get(n, 1) for n in range(len(shape))])
    return imp.broadcast(aligned, list(shape))


def _at_flat_places(imp: Importer, x: GraphExpr, places: NDArray[np.int64]) -> GraphExpr:
    """Elements of a tensor as if it had one dimension."""
    return imp.emit(R.take(imp.reshape(x, [-1]), const(places, "int64"), 0))


def numbered(imp: Importer, x: GraphExpr) -> NDArray[np.int64]:
    """The flat place of each element."""
    shape = imp.shape(x)
    fixed = [size for size in shape if isinstance(size, int)]
    if len(fixed) < len(shape):
        raise GraphError(
            f"cannot number the elements of a tensor of shape {shape}",
            "the shape is not constant",
            "use fixed sizes",
        )
    return np.arange(math.prod(fixed)).reshape(fixed)


@row("diagonal", "diagonal_copy")
def _diagonal(
    imp: Importer, x: GraphExpr, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> GraphExpr:
    axes = [imp.axis(x, dim) for dim in (dim1, dim2)]
    rest = [axis for axis in range(imp.info(x).ndim) if axis not in axes]
    moved = imp.emit(R.permute_dims(x, [*rest, *axes]))
    *outer, rows, columns = imp.shape(moved)
    flat = imp.reshape(moved, [*outer, rows * columns])
    first = max(-offset, 0), max(offset, 0)
    if isinstance(rows, int) and isinstance(columns, int):
        count = max(min(rows - first[0], columns - first[1]), 0)
        numbers = first[0] * columns + first[1] + np.arange(count) * (columns + 1)
        places: GraphExpr = const(numbers, "int64")
    else:
        known_sizes = imp.known_sizes()
        size = (
            ops.minimum(rows - first[0], columns - first[1])
            if known_sizes is None
            else known_sizes[-1]
        )
        steps = imp.emit(R.arange(0, size, 1, "int64"))
        begin, step = [
            scalar(imp, number, "int64") for number in (first[0] * columns + first[1], columns + 1)
        ]
        places = imp.emit(R.add(imp.emit(R.multiply(steps, step)), begin))
    return imp.emit(R.take(flat, places, len(outer)))


@row("as_strided", "as_strided_copy")
def _as_strided(
    imp: Importer,
    x: GraphExpr,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> GraphExpr:
    """Elements of the memory of a tensor, which is that of its elements in order."""
    numbered(imp, x)
    return _at_flat_places(imp, x, strided_places(size, stride, storage_offset))


def strided_places(
    size: Sequence[int], stride: Sequence[int], offset: int | None
) -> NDArray[np.int64]:
    """The places in the memory of a tensor at which the elements of a view are."""
    places = np.full(tuple(size), offset or 0)
    for axis, step in enumerate(stride):
        counted = np.arange(size[axis]) * step
        places += counted.reshape([-1 if n == axis else 1 for n in range(len(size))])
    return places


@row("unfold")
def _unfold(imp: Importer, x: GraphExpr, dimension: int, size: int, step: int) -> GraphExpr:
    """Windows of a dimension, with their elements in a new last dimension."""
    if not imp.info(x).ndim:
        return imp.reshape(x, [size])
    rank = imp.info(x).ndim
    extent = fixed_size(imp.shape(x)[dimension], "unfold")
    axis = dimension % rank
    places = np.arange(0, extent - size + 1, step)[:, None] + np.arange(size)
    windows = imp.emit(R.take(x, const(places, "int64"), axis))
    axes = [n for n in range(rank + 1) if n != axis + 1]
    return imp.emit(R.permute_dims(windows, [*axes, axis + 1]))


@row("im2col")
def _im2col(
    imp: Importer,
    x: GraphExpr,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> GraphExpr:
    """Windows of images as columns, (batch, channels * elements of a window, windows)."""
    if imp.info(x).ndim == 3:
        images = imp.emit(R.expand_dims(x, 0))
        return imp.emit(R.squeeze(_im2col(imp, images, kernel_size, dilation, padding, stride), 0))
    batch, channels, *sizes = imp.shape(x)
    tall, wide = padding
    x = imp.emit(R.nn.pad(x, [0, 0, 0, 0, tall, tall, wide, wide]))
    for axis, size in enumerate(sizes):
        extent = fixed_size(size, "unfold") + 2 * padding[axis]
        last = extent - dilation[axis] * (kernel_size[axis] - 1)
        begins = np.arange(0, last, stride[axis])
        places = dilation[axis] * np.arange(kernel_size[axis])[:, None] + begins
        x = imp.emit(R.take(x, const(places, "int64"), 2 + 2 * axis))
    columns = imp.emit(R.permute_dims(x, [0, 1, 2, 4, 3, 5]))
    count = math.prod(kernel_size)
    return imp.reshape(columns, [batch, product_of([channels, count]), -1])


@row("flip")
def _flip(imp: Importer, x: GraphExpr, *dims: Ints) -> GraphExpr:
    for dim in as_list(dims):
        x = imp.emit(R.flip(x, dim))
    return x


@row("roll")
def _roll(imp: Importer, x: GraphExpr, shifts: Ints, dims: Dims = ()) -> GraphExpr:
    if dims is None or (isinstance(dims, list | tuple) and not dims):
        flat = _roll(imp, imp.reshape(x, [-1]), shifts, 0)
        return imp.reshape(flat, imp.shape(x))
    pairs = zip(
        shifts if isinstance(shifts, list | tuple) else [shifts],
        dims if isinstance(dims, list | tuple) else [dims],
        strict=True,
    )
    for shift, dim in pairs:
        extent = imp.shape(x)[dim]
        if not isinstance(extent, int):
            pivot = ops.floormod(-shift, extent)
            first = imp.emit(R.strided_slice(x, [dim], [0], [pivot], [1], True))
            last = imp.emit(R.strided_slice(x, [dim], [pivot], [extent], [1], True))
            x = imp.emit(R.concat([last, first], dim))
            continue
        cut = -shift % extent if extent else 0
        if cut:
            parts = imp.emit(R.split(x, [cut], dim))
            first, last = [imp.emit(TupleGetItem(parts, n)) for n in (0, 1)]
            x = imp.emit(R.concat([last, first], dim))
    return x


# TorchSizes


@row("size")
def _size(imp: Importer, x: GraphExpr, dim: int | None = None) -> Value:
    shape = imp.shape(x)
    return TorchSizes(shape) if dim is None else shape[dim]


ROWS["sym_size"] = TorchRow(_size)


@row("getattr")
def _getattr(imp: Importer, x: GraphExpr, name: str) -> Value:
    if name == "shape":
        return TorchSizes(imp.shape(x))
    if name == "dtype":
        return f"torch.{imp.dtype(x)}"
    if name in ("T", "mT"):
        return _t(imp, x) if name == "T" else _transpose(imp, x, -2, -1)
    if name == "ndim":
        return imp.info(x).ndim
    if name in ("device", "is_cuda", "requires_grad", "data"):
        return x if name == "data" else None
    raise GraphError(
        f"attribute {name} of a tensor",
        "its value is not known",
        "use shape, dtype, ndim, T",
    )


@row("dim")
def _dim(imp: Importer, x: GraphExpr) -> Value:
    return imp.info(x).ndim


@row("numel", "sym_numel")
def _numel(imp: Importer, x: GraphExpr) -> Value:
    return product_of(imp.shape(x))


@row("sym_float", "sym_int", "item")
def _number(imp: Importer, x: Value) -> Value:
    return x


@row("sym_sum")
def _sym_sum(imp: Importer, values: Sequence[Scalar]) -> Scalar:
    return sum(values)


@row("sym_max")
def _sym_max(imp: Importer, a: Operand, b: Operand) -> Value:
    return ROWS["maximum"].rule(imp, a, b)


@row("sym_min")
def _sym_min(imp: Importer, a: Operand, b: Operand) -> Value:
    return ROWS["minimum"].rule(imp, a, b)


ROWS["is_floating_point"] = TorchRow(lambda imp, x: imp.dtype(x).startswith(("float", "bfloat")))
ROWS["len"] = TorchRow(lambda imp, x: imp.shape(x)[0] if imp.is_tensor(x) else len(x))
ROWS["sym_not"] = TorchRow(lambda imp, x: operator.not_(x))
