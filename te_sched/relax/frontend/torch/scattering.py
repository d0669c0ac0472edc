"""Rows of operators of torch that replace elements of a tensor: at places, or by a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, first_elements, has_size, product_of
from te_sched.relax.frontend.torch.elementwise import promoted, scalar
from te_sched.relax.frontend.torch.importer import Importer, row
from te_sched.relax.frontend.torch.indexing import (
    MASKS,
    check_mask,
    common_shape,
    getitem,
    stacked,
    without_masks,
)
from te_sched.relax.frontend.torch.nodes import base_name
from te_sched.relax.frontend.torch.shapes import numbered, strided_places
from te_sched.relax.frontend.torch.values import Indices, Operand, Scalar
from te_sched.relax.frontend.windows import nonnegative_indices

# Along a dimension

_REDUCTIONS = {
    **{"sum": "add", "add": "add", "prod": "mul", "multiply": "mul"},
    **{"amax": "max", "amin": "min", "mean": "add"},
}


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
    mode = "update" if reduce is None else _REDUCTIONS[reduce]
    mode = "add" if base_name(imp.node) == "scatter_add" else mode
    return _scattered(imp, x, dim, index, src, mode)


def _scattered(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, src: Operand, mode: str
) -> GraphExpr:
    """A tensor with elements of another one, or a number, at places along a dimension."""
    dtype, shape = imp.dtype(x), imp.shape(x)
    if not shape:
        x = imp.reshape(x, [1])
    if not imp.info(index).ndim:
        index = imp.reshape(index, [1])
    sizes = imp.shape(index)
    if imp.is_tensor(src):
        source = src if imp.info(src).ndim else imp.reshape(src, [1])
        source = first_elements(imp.builder, imp.cast(source, dtype), sizes)
    else:
        source = imp.emit(R.full(sizes, const(src, dtype), dtype))
    if has_size(sizes, 0):
        return x if shape else imp.reshape(x, [])
    result = imp.emit(R.scatter_elements(x, index, source, dim, mode))
    return result if shape else imp.reshape(result, [])


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
    """The elements at the same place combined; the one that was there is one of them, or not."""
    if reduce not in _REDUCTIONS:
        raise GraphError(
            f"reduce is {reduce!r}", "", f"use one of {', '.join(map(repr, _REDUCTIONS))}"
        )
    if not include_self:
        start = _identity(reduce, imp.dtype(x))
        x = _scattered(imp, x, dim, index, start, "update")
    total = _scattered(imp, x, dim, index, src, _REDUCTIONS[reduce])
    if reduce != "mean":
        return total
    dtype = imp.dtype(x)
    ones: GraphExpr = imp.emit(R.full(imp.shape(x), const(1, dtype), dtype))
    if not include_self:
        ones = _scattered(imp, ones, dim, index, 0, "update")
    counts = _scattered(imp, ones, dim, index, 1, "add")
    return imp.emit((R.divide if dtypes.is_float(dtype) else R.floor_divide)(total, counts))


def _identity(reduce: str, dtype: str) -> Scalar:
    """The number that changes no other one when they are combined."""
    if reduce in ("sum", "add", "mean"):
        return 0
    if reduce in ("prod", "multiply"):
        return 1
    is_largest = reduce == "amin"
    if dtypes.is_float(dtype):
        return float("inf") if is_largest else -float("inf")
    if dtype == "bool":
        return is_largest
    limits = np.iinfo(dtype)
    return int(limits.max if is_largest else limits.min)


@row("index_reduce")
def _index_reduce(
    imp: Importer,
    x: GraphExpr,
    dim: int,
    index: GraphExpr,
    source: GraphExpr,
    reduce: str,
    *,
    include_self: bool = True,
) -> GraphExpr:
    if imp.info(source).ndim:
        axis, sizes = imp.axis(x, dim), imp.shape(source)
        column = [-1 if n == axis else 1 for n in range(len(sizes))]
        index = imp.broadcast(imp.reshape(index, column), sizes)
    return _scatter_reduce(imp, x, dim, index, source, reduce, include_self=include_self)


# x[indices] = values


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
    values = imp.cast(values, imp.dtype(x))
    if any(index is not None and imp.dtype(index) in MASKS for index in indices):
        return _put_where(imp, x, indices, values, accumulate)
    return _put(imp, x, indices, values, accumulate)


def _put(
    imp: Importer, x: GraphExpr, indices: Indices, values: GraphExpr, accumulate: bool
) -> GraphExpr:
    """x with values at places along some dimensions."""
    chosen = {axis: index for axis, index in enumerate(indices) if index is not None}
    extents, axes = imp.shape(x), list(chosen)
    parts = [nonnegative_indices(imp.builder, chosen[axis], extents[axis]) for axis in axes]
    if len(parts) == 1 and axes[0] and len(imp.shape(parts[0])) == 1:
        return _put_along(imp, x, parts[0], values, axes[0], accumulate)
    parts = promoted(imp, *parts) if len(parts) > 1 else parts
    shape = common_shape([imp.shape(part) for part in parts])
    parts = [imp.broadcast(part, shape) for part in parts]
    rest = [axis for axis in range(len(extents)) if axis not in axes]
    order = [*axes, *rest]
    before = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    sizes = [extents[axis] for axis in rest]
    updates = imp.broadcast(values, [*sizes[:before], *shape, *sizes[before:]])
    if before and shape:  # the dimensions of the indices come first
        width = len(shape)
        inner = range(before, before + width)
        outer = [axis for axis in range(width + len(rest)) if axis not in inner]
        updates = imp.emit(R.permute_dims(updates, [*inner, *outer]))
    moved = x if order == sorted(order) else imp.emit(R.permute_dims(x, order))
    mode = "add" if accumulate else "update"
    result = imp.emit(R.scatter_nd(moved, stacked(imp, parts), updates, mode))
    back = [order.index(axis) for axis in range(len(order))]
    return result if order == sorted(order) else imp.emit(R.permute_dims(result, back))


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
    imp: Importer, x: GraphExpr, indices: Indices, values: GraphExpr, accumulate: bool
) -> GraphExpr:
    """x with values where masks hold: one value for all, or one for each element."""
    first, sizes = indices[0], imp.shape(values)
    if first is not None and len(indices) == 1:
        check_mask(imp, x, first, 0)
        rest = imp.shape(x)[imp.info(first).ndim :]
        is_row = len(sizes) <= len(rest) or (type(sizes[0]) is int and sizes[0] == 1)
        if is_row:  # the values are the same for all elements that the mask selects
            return _put_row(imp, x, first, values, accumulate)
    axes = sum(imp.info(index).ndim for index in indices if index is not None)
    kept = imp.info(x).ndim - axes
    before = next(n for n, index in enumerate(indices) if index is not None)
    at = len(sizes) - kept - 1 + (before if len(indices) == before + 1 else 0)
    count = sizes[at] if 0 <= at < len(sizes) else 1
    is_one = type(count) is int and count == 1
    x, places = without_masks(imp, x, indices, None if is_one else count)
    return _put(imp, x, places, values, accumulate)


def _put_row(
    imp: Importer, x: GraphExpr, mask: GraphExpr, values: GraphExpr, accumulate: bool
) -> GraphExpr:
    shape, depth = imp.shape(x), imp.info(mask).ndim
    sizes = imp.shape(values)[-(len(shape) - depth) :] if len(shape) > depth else []
    value = imp.reshape(values, sizes) if len(sizes) != imp.info(values).ndim else values
    mask = imp.reshape(imp.cast(mask, "bool"), [*imp.shape(mask), *[1] * (len(shape) - depth)])
    new = imp.emit(R.add(x, value)) if accumulate else imp.broadcast(value, shape)
    return imp.emit(R.where(mask, new, x))


def _along(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr) -> Indices:
    return [*[None] * imp.axis(x, dim), index]


def _of_vectors(rule: Callable[..., GraphExpr]) -> Callable[..., GraphExpr]:
    """A rule for tensors with dimensions that gives the results for those without any, too."""

    def call(
        imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, value: Operand, **options: object
    ) -> GraphExpr:
        if not imp.info(index).ndim:
            index = imp.reshape(index, [1])
        if imp.info(x).ndim:
            return rule(imp, x, dim, index, value, **options)
        return imp.reshape(rule(imp, imp.reshape(x, [1]), dim, index, value, **options), [])

    return call


def _index_copy(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, source: GraphExpr
) -> GraphExpr:
    return _index_put(imp, x, _along(imp, x, dim, index), source)


def _index_add(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, source: GraphExpr, *, alpha: float = 1
) -> GraphExpr:
    if alpha != 1:
        source = imp.emit(R.multiply(source, const(alpha, imp.dtype(source))))
    return _index_put(imp, x, _along(imp, x, dim, index), source, True)


def _index_fill(
    imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, value: Operand
) -> GraphExpr:
    value = value if imp.is_tensor(value) else const(value, imp.dtype(x))
    return _index_put(imp, x, _along(imp, x, dim, index), value)


for _name, _rule in (
    ("index_copy", _index_copy),
    ("index_add", _index_add),
    ("index_fill", _index_fill),
):
    row(_name)(_of_vectors(_rule))


@row("put")
def _flat_put(
    imp: Importer, x: GraphExpr, index: GraphExpr, source: GraphExpr, accumulate: bool = False
) -> GraphExpr:
    """x with elements of a source at places of x as if it had one dimension."""
    flat, places = imp.reshape(x, [-1]), imp.reshape(index, [-1])
    result = _put(imp, flat, [places], imp.reshape(source, [-1]), accumulate)
    return imp.reshape(result, imp.shape(x))


@row("setitem")
def _setitem(imp: Importer, x: GraphExpr, index: object, value: Operand) -> GraphExpr:
    """x after `x[index] = value`: the places are the elements that `[index]` has of numbers."""
    count = product_of(imp.shape(x))
    numbers = imp.reshape(imp.emit(R.arange(0, count, 1, "int64")), imp.shape(x))
    places = getitem(imp, numbers, index)
    assert isinstance(places, GraphExpr)
    dtype = imp.dtype(x)
    new = imp.cast(value, dtype) if imp.is_tensor(value) else const(value, dtype)
    sizes: list[Size] = [product_of(imp.shape(places))]
    updates = imp.reshape(imp.broadcast(new, imp.shape(places)), sizes)
    flat = imp.reshape(x, [count])
    return imp.reshape(_put(imp, flat, [imp.reshape(places, sizes)], updates, False), imp.shape(x))


@row("masked_scatter")
def _masked_scatter(imp: Importer, x: GraphExpr, mask: GraphExpr, source: GraphExpr) -> GraphExpr:
    """The elements where the mask holds are those of the source, in order."""
    if has_size(imp.shape(source), 0):  # the mask holds nowhere
        return x
    shape = common_shape([imp.shape(x), imp.shape(mask)])
    x, mask = imp.broadcast(x, shape), imp.broadcast(mask, shape)
    flat, elements = mask, source
    if imp.info(x).ndim != 1:
        flat = imp.emit(R.reshape(mask, [product_of(shape)]))
    places = imp.emit(R.cumsum(flat, 0, "int32", False))
    places = imp.emit(R.subtract(places, const(1, "int32")))
    places = imp.emit(R.maximum(places, const(0, "int32")))  # -1 before the first one
    if imp.info(source).ndim != 1:
        elements = imp.emit(R.reshape(source, [product_of(imp.shape(source))]))
    taken = imp.emit(R.take(elements, places, 0))
    if imp.info(x).ndim != 1:
        taken = imp.emit(R.reshape(taken, shape))
    return imp.emit(R.where(mask, taken, x))


# Views of which the elements are replaced


@row("slice_scatter")
def _slice_scatter(
    imp: Importer,
    x: GraphExpr,
    src: GraphExpr,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: int = 1,
) -> GraphExpr:
    """x with x[start:end:step] = src along a dimension."""
    axis, shape, dtype = imp.axis(x, dim), imp.shape(x), imp.dtype(x)
    extent, count = shape[axis], imp.shape(src)[axis]
    src = imp.broadcast(imp.cast(src, dtype), [*shape[:axis], count, *shape[axis + 1 :]])
    begin = 0 if start is None else start
    if isinstance(begin, int) and begin < 0:
        begin = max(begin + extent, 0) if isinstance(extent, int) else begin + extent
    if imp.is_equal(count, extent):
        return src
    if step == 1:
        before = imp.emit(R.strided_slice(x, [axis], [0], [begin], [1], True))
        after = imp.emit(R.strided_slice(x, [axis], [begin + count], [extent], [1], True))
        return imp.emit(R.concat([before, src, after], axis))
    if has_size([count], 0):
        return x
    steps = imp.emit(R.arange(0, extent, 1, "int64"))
    steps = imp.emit(R.subtract(steps, scalar(imp, begin, "int64")))
    stride, last = const(step, "int64"), scalar(imp, count - 1, "int64")
    number = imp.emit(R.minimum(imp.emit(R.floor_divide(steps, stride)), last))
    number = imp.emit(R.maximum(number, const(0, "int64")))
    is_new = imp.emit(R.equal(imp.emit(R.multiply(number, stride)), steps))
    mask = imp.reshape(is_new, [-1, *[1] * (len(shape) - axis - 1)])
    return imp.emit(R.where(mask, imp.emit(R.take(src, number, axis)), x))


@row("select_scatter")
def _select_scatter(
    imp: Importer, x: GraphExpr, src: GraphExpr, dim: int, index: Size
) -> GraphExpr:
    """x with one element along a dimension replaced."""
    axis = imp.axis(x, dim)
    start = index + imp.shape(x)[axis] if isinstance(index, int) and index < 0 else index
    return _slice_scatter(imp, x, imp.emit(R.expand_dims(src, axis)), axis, start, start + 1)


@row("as_strided_scatter")
def _as_strided_scatter(
    imp: Importer,
    x: GraphExpr,
    src: GraphExpr,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> GraphExpr:
    return _at_places(imp, x, src, strided_places(size, stride, storage_offset))


@row("diagonal_scatter")
def _diagonal_scatter(
    imp: Importer, x: GraphExpr, src: GraphExpr, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> GraphExpr:
    return _at_places(imp, x, src, np.diagonal(numbered(imp, x), offset, dim1, dim2))


def _at_places(imp: Importer, x: GraphExpr, src: GraphExpr, places: NDArray[np.int64]) -> GraphExpr:
    """x with the elements of a source at constant places of x as if it had one dimension."""
    shape = imp.shape(x)
    origins = np.full(numbered(imp, x).size, -1)
    origins[places.reshape(-1)] = np.arange(places.size)
    if not places.size:
        return x
    new = imp.emit(R.take(imp.reshape(src, [-1]), const(np.maximum(origins, 0), "int64"), 0))
    is_new = const((origins >= 0).reshape(numbered(imp, x).shape), "bool")
    return imp.emit(R.where(is_new, imp.reshape(imp.cast(new, imp.dtype(x)), shape), x))
