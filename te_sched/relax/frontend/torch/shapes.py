"""Rows of operators of torch that change shapes, select elements, and tell sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, TupleGetItem
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import (
    Size,
    as_list,
    first_elements,
    fixed_size,
    product_of,
    several,
)
from te_sched.relax.frontend.torch.elementwise import promoted, scalar
from te_sched.relax.frontend.torch.importer import (
    END,
    ROWS,
    Importer,
    TorchRow,
    row,
)
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.values import (
    Dims,
    Indices,
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
from te_sched.relax.frontend.windows import nonnegative_indices


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
    if -1 in parts:
        known = product_of([one for one in parts if one != -1])
        parts[parts.index(-1)] = shape[dim] // known
    return imp.reshape(x, [*shape[:dim], *parts, *shape[dim + 1 :]])


@row("permute")
def _permute(imp: Importer, x: GraphExpr, *dims: Ints) -> GraphExpr:
    return imp.emit(R.permute_dims(x, as_list(dims)))


@row("transpose", "swapaxes")
def _transpose(imp: Importer, x: GraphExpr, dim0: int, dim1: int) -> GraphExpr:
    axes = list(range(imp.info(x).ndim))
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
    axes = [one for one in range(rank) if one not in sources]
    for place, one in sorted(zip(places, sources, strict=True)):
        axes.insert(place, one)
    return imp.emit(R.permute_dims(x, axes))


@row("unsqueeze")
def _unsqueeze(imp: Importer, x: GraphExpr, dim: int) -> GraphExpr:
    return imp.emit(R.expand_dims(x, dim))


@row("squeeze")
def _squeeze(imp: Importer, x: GraphExpr, dim: Dims = None) -> GraphExpr:
    shape = imp.shape(x)
    dims = list(range(len(shape))) if dim is None else several(dim, 1)
    ones = [one for one in dims if shape and type(shape[one]) is int and shape[one] == 1]
    return imp.emit(R.squeeze(x, ones)) if ones else x


@row("expand")
def _expand(imp: Importer, x: GraphExpr, *size: Sizes, implicit: bool = False) -> GraphExpr:
    sizes, shape = as_list(size), imp.shape(x)
    rest = len(sizes) - len(shape)
    known = [
        shape[n - rest] if type(one) is int and one == -1 else one for n, one in enumerate(sizes)
    ]
    return imp.emit(R.broadcast_to(x, known))


@row("expand_as")
def _expand_as(imp: Importer, x: GraphExpr, other: GraphExpr) -> GraphExpr:
    return imp.emit(R.broadcast_to(x, imp.shape(other)))


@row("broadcast_to")
def _broadcast_to(imp: Importer, x: GraphExpr, size: Sequence[Size]) -> GraphExpr:
    return imp.emit(R.broadcast_to(x, list(size)))


@row("repeat", "tile")
def _repeat(imp: Importer, x: GraphExpr, *repeats: Sizes) -> GraphExpr:
    return imp.emit(R.tile(x, as_list(repeats)))


@row("repeat_interleave")
def _repeat_interleave(
    imp: Importer, x: GraphExpr, repeats: int, dim: int | None = None, **_: object
) -> GraphExpr:
    return imp.emit(R.repeat(x, repeats, dim))


@row("cat", "concat", "concatenate")
def _cat(
    imp: Importer, tensors: Sequence[GraphExpr], dim: int = 0, axis: int | None = None
) -> GraphExpr:
    return imp.emit(R.concat(promoted(imp, *tensors), axis if axis is not None else dim))


@row("stack")
def _stack(imp: Importer, tensors: Sequence[GraphExpr], dim: int = 0) -> GraphExpr:
    tensors = promoted(imp, *tensors)
    if dim == 0:
        joined = imp.emit(R.concat(tensors, 0))
        return imp.emit(R.reshape(joined, [len(tensors), *imp.shape(tensors[0])]))
    parts = [imp.emit(R.expand_dims(one, dim)) for one in tensors]
    return imp.emit(R.concat(parts, dim))


@row("split", "split_with_sizes", "tensor_split_sizes")
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
    for one in sizes:
        end = imp.builder.analyzer.simplify(begin + one)
        parts.append(imp.emit(R.strided_slice(x, [dim], [begin], [end], [1], True)))
        begin = end
    return tuple(parts)


@row("chunk")
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


@row("unbind")
def _unbind(imp: Importer, x: GraphExpr, dim: int = 0) -> GraphExpr:
    extent = fixed_size(imp.shape(x)[dim], "unbind")
    parts = imp.emit(R.split(x, list(range(1, extent + 1)), dim))

    items = []
    for n in range(extent):
        item = imp.emit(TupleGetItem(parts, n))
        items.append(imp.emit(R.squeeze(item, dim)))
    return imp.emit(as_tuples(items))


@row("slice", "slice_copy")
def _slice(
    imp: Importer,
    x: GraphExpr,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: int = 1,
) -> GraphExpr:
    begin = 0 if start is None else start
    stop = END if end is None else end
    sizes = imp.known_sizes()
    is_inside = False
    if isinstance(stop, Expr) and sizes is not None:  # the sizes of torch take no minimum
        is_inside = imp.builder.analyzer.can_prove_equal(sizes[dim] * step, stop - begin)
    return imp.emit(R.strided_slice(x, [dim], [begin], [stop], [step], is_inside))


@row("narrow")
def _narrow(imp: Importer, x: GraphExpr, dim: int, start: Size, length: Size) -> GraphExpr:
    return imp.emit(R.strided_slice(x, [dim], [start], [start + length], [1]))


@row("select", "select_copy")
def _select(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr | Size) -> GraphExpr:
    if isinstance(index, int) and index < 0:
        index = index + imp.shape(x)[dim]
    place = scalar(imp, index, "int64") if isinstance(index, int | Expr) else _place(imp, index)
    return imp.emit(R.take(x, place, dim))


def _place(imp: Importer, index: object) -> GraphExpr:
    if imp.is_tensor(index):
        return index
    raise GraphError(f"the index of an element is {repr_of(index)}", "", "use a number or a tensor")


@row("broadcast_in_dim")
def _broadcast_in_dim(
    imp: Importer, x: GraphExpr, shape: Sequence[Size], broadcast_dimensions: Sequence[int]
) -> GraphExpr:
    """A tensor of which dimension n becomes dimension broadcast_dimensions[n]."""
    places = dict(zip(broadcast_dimensions, imp.shape(x), strict=True))
    aligned = imp.reshape(x, [places.get(n, 1) for n in range(len(shape))])
    return imp.broadcast(aligned, list(shape))


@row("index_select")
def _index_select(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr) -> GraphExpr:
    return imp.emit(R.take(x, index, dim))


@row("gather")
def _gather(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, **_: object) -> GraphExpr:
    sizes = imp.shape(index)
    return imp.emit(
        R.gather_elements(first_elements(imp.builder, x, sizes, dim % len(sizes)), index, dim)
    )


@row("scatter", "scatter_add")
def _scatter(
    imp: Importer,
    x: GraphExpr,
    dim: int,
    index: GraphExpr,
    src: Operand,
    *,
    reduce: str | None = None,
) -> GraphExpr:
    dtype, sizes = imp.dtype(x), imp.shape(index)
    if imp.is_tensor(src):
        given = first_elements(imp.builder, src, sizes)
    else:
        given = imp.emit(R.full(sizes, const(src, dtype), dtype))
    reduction = {None: "update", "add": "add", "multiply": "mul"}[reduce]
    if base_name(imp.node) == "scatter_add":
        reduction = "add"
    return imp.emit(R.scatter_elements(x, index, given, dim, reduction))


@row("scatter_reduce")
def _scatter_reduce(
    imp: Importer,
    x: GraphExpr,
    dim: int,
    index: GraphExpr,
    src: GraphExpr,
    reduce: str,
    *,
    include_self: bool = True,
) -> GraphExpr:
    modes = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min"}
    if not include_self or reduce not in modes:
        raise GraphError(
            f"scatter_reduce has reduce={reduce!r}, include_self={include_self}",
            "elements are combined with those that are there, by sum, prod, amax or amin",
            "use one of these, with include_self=True",
        )
    given = first_elements(imp.builder, src, imp.shape(index))
    return imp.emit(R.scatter_elements(x, index, given, dim, modes[reduce]))


@row("index")
def _index(imp: Importer, x: GraphExpr, indices: Indices) -> GraphExpr:
    """x[i, j, ...] with tensors of places for some dimensions."""
    return _by_tensors(imp, x, indices)


def _by_tensors(imp: Importer, x: GraphExpr, indices: Indices) -> GraphExpr:
    chosen = {n: index for n, index in enumerate(indices) if index is not None}
    if any(imp.dtype(index) in ("bool", "uint8") for index in chosen.values()):
        raise GraphError(
            "elements are selected by conditions",
            "the number of elements is not known before the model runs",
            "use torch.where, or select by places",
        )
    extents, places = imp.shape(x), list(chosen)
    parts = [nonnegative_indices(imp.builder, chosen[n], extents[n]) for n in places]
    if len(places) == 1:
        return imp.emit(R.take(x, parts[0], places[0]))
    rank, parts = len(extents), promoted(imp, *parts)
    shape = _common_shape([imp.shape(one) for one in parts])
    parts = [imp.broadcast(one, shape) for one in parts]
    first = [*places, *[n for n in range(rank) if n not in places]]
    x = x if first == list(range(rank)) else imp.emit(R.permute_dims(x, first))
    stacked = imp.emit(R.concat([imp.emit(R.expand_dims(one, -1)) for one in parts], -1))
    found = imp.emit(R.gather_nd(x, stacked))
    before = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    width = len(shape)
    if before == 0:
        return found
    rest = list(range(width, imp.info(found).ndim))
    axes = [*rest[:before], *range(width), *rest[before:]]
    return imp.emit(R.permute_dims(found, axes))


def _common_shape(shapes: list[list[Size]]) -> list[Size]:
    """The shape to which all shapes are broadcast."""
    found: list[Size] = []
    for n in range(1, max(map(len, shapes)) + 1):
        sizes = [one[-n] for one in shapes if len(one) >= n]
        found.insert(0, next((one for one in sizes if type(one) is not int or one != 1), 1))
    return found


def _at_flat_places(imp: Importer, x: GraphExpr, places: NDArray[np.int64]) -> GraphExpr:
    """Elements of a tensor as if it had one dimension."""
    return imp.emit(R.take(imp.reshape(x, [-1]), const(places, "int64"), 0))


def _numbered(imp: Importer, x: GraphExpr) -> NDArray[np.int64]:
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
    return _at_flat_places(imp, x, np.diagonal(_numbered(imp, x), offset, dim1, dim2))


@row("as_strided", "as_strided_copy")
def _as_strided(
    imp: Importer,
    x: GraphExpr,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> GraphExpr:
    """Elements of the memory of a tensor, which is that of its elements in order."""
    _numbered(imp, x)
    places = np.full(tuple(size), storage_offset or 0)
    for axis, one in enumerate(stride):
        counted = np.arange(size[axis]) * one
        places += counted.reshape([-1 if n == axis else 1 for n in range(len(size))])
    return _at_flat_places(imp, x, places)


@row("unfold")
def _unfold(imp: Importer, x: GraphExpr, dimension: int, size: int, step: int) -> GraphExpr:
    """Windows of a dimension, with their elements in a new last dimension."""
    rank = imp.info(x).ndim
    extent = fixed_size(imp.shape(x)[dimension], "unfold")
    axis = dimension % rank
    places = np.arange(0, extent - size + 1, step)[:, None] + np.arange(size)
    found = imp.emit(R.take(x, const(places, "int64"), axis))
    axes = [n for n in range(rank + 1) if n != axis + 1]
    return imp.emit(R.permute_dims(found, [*axes, axis + 1]))


@row("getitem")
def _getitem(imp: Importer, x: Value, index: Any) -> Value:
    """x[index], of a tensor, a tuple, or a shape."""
    if not isinstance(x, GraphExpr):
        return _result(imp, x, index)
    if not isinstance(x.struct_info, TensorStructInfo):
        return imp.emit(TupleGetItem(x, index))
    rank = imp.info(x).ndim
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_as_indices(imp, one) for one in items]
    used = sum(1 for one in items if one is not None and one is not Ellipsis)
    if any(one is Ellipsis for one in items):
        at = next(n for n, one in enumerate(items) if one is Ellipsis)
        items[at : at + 1] = [slice(None)] * (rank - used)
    if not any(imp.is_tensor(one) for one in items):
        return _by_slices(imp, x, items)
    others = [slice(None) if imp.is_tensor(one) else one for one in items]
    kept = [one for one in items if one is None or imp.is_tensor(one) or isinstance(one, slice)]
    if any(one != slice(None) for one in others):
        x = _by_slices(imp, x, others)  # torch takes single elements and slices first
    return _by_tensors(imp, x, [one if imp.is_tensor(one) else None for one in kept])


def _result(imp: Importer, values: Any, index: object) -> Value:
    """An element of what another node gives; None of those that are not computed, nor used."""
    found: Value = values[index]
    if found is None and imp.node.users:
        raise GraphError(
            f"result {index} of {imp.node.args[0]} is not computed",
            "the importer translates the first result of this operator alone",
            f"use its result 0, or compute result {index} by other operators",
        )
    return found


def _as_indices(imp: Importer, item: object) -> object:
    """A list of numbers, or of lists of them, as a tensor of indices; other items stay."""
    if not isinstance(item, list | tuple | range):
        return item
    values = np.array(list(item))
    if any(imp.is_tensor(one) for one in item) or values.dtype.kind not in "biu":
        raise GraphError(
            f"elements are selected by {repr_of(item)}",
            "a list of indices holds numbers",
            "stack tensors of indices: torch.stack",
        )
    return const(values, "bool" if values.dtype.kind == "b" else "int64")


def _by_slices(imp: Importer, x: GraphExpr, items: Sequence[object]) -> GraphExpr:
    """x[items] of numbers, slices and None."""
    begin: list[Size] = []
    end: list[Size] = []
    stride: list[Size] = []
    axes: list[int] = []
    squeezed: list[int] = []
    expanded: list[int] = []
    shape = imp.shape(x)
    axis = 0
    place = 0  # in the result
    for one in items:
        if one is None:
            expanded.append(place)
            place += 1
            continue
        if isinstance(one, slice):
            begin.append(0 if one.start is None else one.start)
            end.append(shape[axis] if one.stop is None else one.stop)
            stride.append(1 if one.step is None else one.step)
            place += 1
        elif isinstance(one, bool) or not isinstance(one, int | Expr):
            raise GraphError(
                f"elements are selected by {repr_of(one)}",
                f"it is {kind_of(one)}",
                "use numbers, slices, None, lists and tensors of indices",
            )
        else:
            at = one + shape[axis] if isinstance(one, int) and one < 0 else one
            begin.append(at)
            end.append(at + 1)
            stride.append(1)
            squeezed.append(axis)
        axes.append(axis)
        axis += 1
    found = imp.emit(R.strided_slice(x, axes, begin, end, stride)) if axes else x
    sizes = imp.shape(found)
    kept = [one for n, one in enumerate(sizes) if n not in squeezed]
    for one in expanded:
        kept.insert(one, 1)
    return imp.reshape(found, kept)


@row("take")
def _take(imp: Importer, x: GraphExpr, index: GraphExpr) -> GraphExpr:
    flat = imp.reshape(x, [-1])
    return imp.emit(R.take(flat, nonnegative_indices(imp.builder, index, imp.shape(flat)[0]), 0))


@row("index_put", "_unsafe_index_put", "_index_put_impl")
def _index_put(
    imp: Importer,
    x: GraphExpr,
    indices: Indices,
    values: GraphExpr,
    accumulate: bool = False,
    unsafe: bool = False,
) -> GraphExpr:
    """x with x[indices] = values, or += values."""
    chosen = {n: index for n, index in enumerate(indices) if index is not None}
    extents, places, parts = imp.shape(x), list(chosen), list(chosen.values())
    if any(imp.dtype(one) in ("bool", "uint8") for one in parts):
        return _put_where(imp, x, parts, values, accumulate)
    parts = [nonnegative_indices(imp.builder, chosen[n], extents[n]) for n in places]
    if len(parts) == 1 and places[0] and len(imp.shape(parts[0])) == 1:
        return _put_along(imp, x, parts[0], values, places[0], accumulate)
    parts = promoted(imp, *parts) if len(parts) > 1 else parts
    shape = _common_shape([imp.shape(one) for one in parts])
    parts = [imp.broadcast(one, shape) for one in parts]
    stacked = imp.emit(R.concat([imp.emit(R.expand_dims(one, -1)) for one in parts], -1))
    rest = [n for n in range(len(extents)) if n not in places]
    first = [*places, *rest]
    before = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    sizes = [extents[n] for n in rest]
    given = imp.broadcast(values, [*sizes[:before], *shape, *sizes[before:]])
    if before and shape:  # the dimensions of the indices come first
        width = len(shape)
        inner = range(before, before + width)
        axes = [*inner, *[n for n in range(width + len(rest)) if n not in inner]]
        given = imp.emit(R.permute_dims(given, axes))
    moved = x if first == sorted(first) else imp.emit(R.permute_dims(x, first))
    made = imp.emit(R.scatter_nd(moved, stacked, given, "add" if accumulate else "update"))
    back = [first.index(n) for n in range(len(first))]
    return made if first == sorted(first) else imp.emit(R.permute_dims(made, back))


def _put_along(
    imp: Importer, x: GraphExpr, index: GraphExpr, values: GraphExpr, axis: int, accumulate: bool
) -> GraphExpr:
    """x with slices along an axis replaced, without moving the axis to the front."""
    extents, (count,) = imp.shape(x), imp.shape(index)
    shape = [*extents[:axis], count, *extents[axis + 1 :]]
    column = imp.reshape(index, [count, *[1] * (len(extents) - axis - 1)])
    args = imp.broadcast(column, shape), imp.broadcast(values, shape)
    return imp.emit(R.scatter_elements(x, *args, axis, "add" if accumulate else "update"))


def _put_where(
    imp: Importer, x: GraphExpr, parts: Sequence[GraphExpr], values: GraphExpr, accumulate: bool
) -> GraphExpr:
    """x with one value where a mask of its first dimensions holds."""
    sizes = imp.shape(values)
    if len(parts) > 1 or any(one != 1 for one in sizes):
        raise GraphError(
            "elements that a condition selects are replaced by several values",
            "the number of elements is not known before the model runs",
            "use torch.where, or replace them by one value",
        )
    mask = imp.cast(parts[0], "bool")
    for _ in range(imp.info(x).ndim - imp.info(mask).ndim):
        mask = imp.emit(R.expand_dims(mask, -1))
    value = imp.reshape(values, []) if sizes else values
    new = imp.emit(R.add(x, value)) if accumulate else imp.broadcast(value, imp.shape(x))
    return imp.emit(R.where(mask, new, x))


@row("index_copy")
def _index_copy(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, source: GraphExpr
) -> GraphExpr:
    return _index_put(imp, x, [*[None] * imp.axis(x, dim), index], source)


@row("index_add")
def _index_add(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, source: GraphExpr, *, alpha: float = 1
) -> GraphExpr:
    if alpha != 1:
        source = imp.emit(R.multiply(source, const(alpha, imp.dtype(source))))
    return _index_put(imp, x, [*[None] * imp.axis(x, dim), index], source, True)


@row("index_fill")
def _index_fill(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, value: Operand
) -> GraphExpr:
    value = value if imp.is_tensor(value) else const(value, imp.dtype(x))
    return _index_put(imp, x, [*[None] * imp.axis(x, dim), index], value)


@row("take_along_dim")
def _take_along_dim(
    imp: Importer, x: GraphExpr, indices: GraphExpr, dim: int | None = None
) -> GraphExpr:
    if dim is None:
        return _gather(imp, imp.reshape(x, [-1]), 0, imp.reshape(indices, [-1]))
    return _gather(imp, x, dim, indices)


@row("masked_scatter")
def _masked_scatter(imp: Importer, x: GraphExpr, mask: GraphExpr, source: GraphExpr) -> GraphExpr:
    """The elements where the mask holds are those of the source, in order."""
    if 0 in imp.shape(source):  # the mask holds nowhere
        return x
    mask = imp.broadcast(mask, imp.shape(x))
    flat, given = mask, source
    if imp.info(x).ndim > 1:
        flat = imp.emit(R.reshape(mask, [product_of(imp.shape(mask))]))
    places = imp.emit(R.cumsum(flat, 0, "int32", False))
    places = imp.emit(R.subtract(places, const(1, "int32")))
    places = imp.emit(R.maximum(places, const(0, "int32")))  # -1 before the first one
    if imp.info(source).ndim > 1:
        given = imp.emit(R.reshape(source, [product_of(imp.shape(source))]))
    taken = imp.emit(R.take(given, places, 0))
    if imp.info(x).ndim > 1:
        taken = imp.emit(R.reshape(taken, imp.shape(x)))
    return imp.emit(R.where(mask, taken, x))


@row("flip")
def _flip(imp: Importer, x: GraphExpr, *dims: Ints) -> GraphExpr:
    for one in as_list(dims):
        x = imp.emit(R.flip(x, one))
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
            place = ops.floormod(-shift, extent)
            first = imp.emit(R.strided_slice(x, [dim], [0], [place], [1], True))
            last = imp.emit(R.strided_slice(x, [dim], [place], [extent], [1], True))
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
