"""Rows of operators of torch that select elements: by slices, numbers, tensors and conditions.

The number of elements that a condition selects is known when the model runs: the tensor of their
places has a variable size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from te_sched.errors import GraphError, kind_of, repr_of
from te_sched.ir.expr import Expr, Var
from te_sched.ir.graph import Constant, GraphExpr, TupleGetItem
from te_sched.ir.struct_info import TensorStructInfo
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, first_elements, product_of, shape_expr
from te_sched.relax.frontend.torch.elementwise import promoted, scalar
from te_sched.relax.frontend.torch.importer import END, Importer, row
from te_sched.relax.frontend.torch.values import Indices, Operand, Tensors, Value
from te_sched.relax.frontend.windows import nonnegative_indices

MASKS = ("bool", "uint8")  # dtypes of indices that are conditions


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


@row("narrow", "narrow_copy")
def _narrow(imp: Importer, x: GraphExpr, dim: int, start: Size, length: Size) -> GraphExpr:
    if isinstance(start, int) and start < 0:
        start = start + imp.shape(x)[dim]
    return imp.emit(R.strided_slice(x, [dim], [start], [start + length], [1]))


@row("select", "select_copy")
def _select(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr | Size) -> GraphExpr:
    if isinstance(index, int) and index < 0:
        index = index + imp.shape(x)[dim]
    number = scalar(imp, index, "int64") if isinstance(index, int | Expr) else index
    if not imp.is_tensor(number):
        raise GraphError(
            f"the index of an element is {repr_of(index)}", "", "use a number or a tensor"
        )
    return imp.emit(R.take(x, number, dim))


@row("index_select")
def _index_select(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr) -> GraphExpr:
    if not imp.info(x).ndim:
        taken = imp.emit(R.take(imp.reshape(x, [1]), index, 0))
        return imp.reshape(taken, [])
    if not imp.info(index).ndim:
        index = imp.reshape(index, [1])
    return imp.emit(R.take(x, index, dim))


@row("gather")
def _gather(imp: Importer, x: GraphExpr, dim: int, index: GraphExpr, **_: object) -> GraphExpr:
    sizes = imp.shape(index)
    if not imp.info(x).ndim or not sizes:
        axis_size = imp.reshape(x, [-1])
        return imp.reshape(imp.emit(R.take(axis_size, imp.reshape(index, [-1]), 0)), sizes)
    source = first_elements(imp.builder, x, sizes, dim % len(sizes))
    return imp.emit(R.gather_elements(source, index, dim))


@row("take_along_dim")
def _take_along_dim(
    imp: Importer, x: GraphExpr, indices: GraphExpr, dim: int | None = None
) -> GraphExpr:
    if dim is None:
        return _gather(imp, imp.reshape(x, [-1]), 0, imp.reshape(indices, [-1]))
    axis = imp.axis(x, dim)
    shapes = [imp.shape(tensor) for tensor in (x, indices)]
    sizes = common_shape([[*shape[:axis], 1, *shape[axis + 1 :]] for shape in shapes])
    tensors = [
        imp.broadcast(tensor, [*sizes[:axis], shape[axis], *sizes[axis + 1 :]])
        for tensor, shape in zip((x, indices), shapes, strict=True)
    ]
    return _gather(
        imp, tensors[0], dim, nonnegative_indices(imp.builder, tensors[1], shapes[0][axis])
    )


@row("take")
def _take(imp: Importer, x: GraphExpr, index: GraphExpr) -> GraphExpr:
    flat = imp.reshape(x, [-1])
    return imp.emit(R.take(flat, nonnegative_indices(imp.builder, index, imp.shape(flat)[0]), 0))


# Selection by tensors


@row("index", "_unsafe_index")
def _index(imp: Importer, x: GraphExpr, indices: Indices) -> GraphExpr:
    """x[i, j, ...] with tensors of places, or conditions, for some dimensions."""
    return _by_tensors(imp, x, indices)


def _by_tensors(imp: Importer, x: GraphExpr, indices: Indices) -> GraphExpr:
    x, indices = without_masks(imp, x, indices)
    chosen = {axis: index for axis, index in enumerate(indices) if index is not None}
    extents, axes = imp.shape(x), list(chosen)
    parts = [nonnegative_indices(imp.builder, chosen[axis], extents[axis]) for axis in axes]
    if len(axes) == 1:
        return imp.emit(R.take(x, parts[0], axes[0]))
    rank, parts = len(extents), promoted(imp, *parts)
    shape = common_shape([imp.shape(part) for part in parts])
    parts = [imp.broadcast(part, shape) for part in parts]
    order = [*axes, *[axis for axis in range(rank) if axis not in axes]]
    x = x if order == list(range(rank)) else imp.emit(R.permute_dims(x, order))
    elements = imp.emit(R.gather_nd(x, stacked(imp, parts)))
    before = axes[0] if axes == list(range(axes[0], axes[-1] + 1)) else 0
    width = len(shape)
    if before == 0:
        return elements
    rest = list(range(width, imp.info(elements).ndim))
    return imp.emit(R.permute_dims(elements, [*rest[:before], *range(width), *rest[before:]]))


def stacked(imp: Importer, parts: Sequence[GraphExpr]) -> GraphExpr:
    """Tensors of one shape as vectors along a new last dimension."""
    return imp.emit(R.concat([imp.emit(R.expand_dims(part, -1)) for part in parts], -1))


def without_masks(
    imp: Importer, x: GraphExpr, indices: Indices, count: Size | None = None
) -> tuple[GraphExpr, list[GraphExpr | None]]:
    """A tensor and its indices, where conditions are replaced by the places where they hold.

    count : how many there are; by default, their number is a new variable.
    """
    places: list[GraphExpr | None] = []
    for index in indices:
        if index is None or imp.dtype(index) not in MASKS:
            places.append(index)
            continue
        if not imp.info(index).ndim:  # a condition of all elements is a dimension of its own
            shape, axis = imp.shape(x), len(places)
            x = imp.reshape(x, [*shape[:axis], 1, *shape[axis:]])
            index = imp.reshape(index, [1])
        check_mask(imp, x, index, len(places))
        places += places_of(imp, index, count)
    return x, places


def check_mask(imp: Importer, x: GraphExpr, mask: GraphExpr, axis: int) -> None:
    """GraphError if a condition has other sizes than the dimensions from `axis` on."""
    shape, sizes = imp.shape(x)[axis:], imp.shape(mask)
    pairs = list(zip(shape, sizes, strict=False))
    differ = any(type(a) is int and type(b) is int and a != b for a, b in pairs)
    if len(sizes) > len(shape) or differ:
        raise GraphError(
            f"a condition of shape {sizes} selects elements of dimensions {shape}",
            "a condition has the sizes of the dimensions that it selects of",
            "give it their sizes",
        )


def places_of(imp: Importer, mask: GraphExpr, count: Size | None = None) -> Tensors:
    """The places where a condition holds: a tensor of int64 for each dimension.

    count : how many there are, which is checked when the model runs; by default a new variable.
    """
    if isinstance(mask, Constant) and count is None:
        return tuple([const(part, "int64") for part in np.nonzero(mask.data.numpy())])
    rows = _rows_of_places(imp, imp.cast(mask, "bool"), count)
    return tuple(
        [imp.emit(R.take(rows, const(axis, "int64"), 0)) for axis in range(imp.info(mask).ndim)]
    )


def _rows_of_places(imp: Importer, mask: GraphExpr, count: Size | None = None) -> GraphExpr:
    """A row for each dimension, of the places where a tensor is not 0."""
    sizes = shape_expr([imp.info(mask).ndim, Var("count", "int64") if count is None else count])
    return imp.builder.match_cast(imp.emit(R.nonzero(mask)), TensorStructInfo(sizes, "int64"))


@row("nonzero", "argwhere")
def _nonzero(imp: Importer, x: GraphExpr, *, as_tuple: bool = False) -> Value:
    if as_tuple:
        return places_of(imp, x if imp.info(x).ndim else imp.reshape(x, [1]))
    return imp.emit(R.permute_dims(_rows_of_places(imp, x)))


@row("nonzero_numpy")
def _nonzero_numpy(imp: Importer, x: GraphExpr) -> Value:
    return _nonzero(imp, x, as_tuple=True)


@row("masked_select")
def _masked_select(imp: Importer, x: GraphExpr, mask: GraphExpr) -> GraphExpr:
    shape = common_shape([imp.shape(x), imp.shape(mask)])
    x, mask = imp.broadcast(x, shape), imp.broadcast(mask, shape)
    if not shape:
        x, mask = imp.reshape(x, [1]), imp.reshape(mask, [1])
    return _by_tensors(imp, x, [mask])


@row("where")
def _where(
    imp: Importer,
    condition: GraphExpr,
    a: Operand | None = None,
    b: Operand | None = None,
) -> Value:
    if a is None or b is None:
        return _nonzero(imp, condition, as_tuple=True)
    a, b = promoted(imp, a, b)
    return imp.emit(R.where(imp.cast(condition, "bool"), a, b))


def common_shape(shapes: list[list[Size]]) -> list[Size]:
    """The shape to which all shapes are broadcast."""
    shape: list[Size] = []
    for axis in range(1, max(map(len, shapes)) + 1):
        sizes = [sizes[-axis] for sizes in shapes if len(sizes) >= axis]
        shape.insert(0, next((size for size in sizes if type(size) is not int or size != 1), 1))
    return shape


# x[index] of Python


@row("getitem")
def getitem(imp: Importer, x: Value, index: object) -> Value:
    """x[index], of a tensor, a tuple, or a shape."""
    if not isinstance(x, GraphExpr):
        return _result(imp, x, index)
    if not isinstance(x.struct_info, TensorStructInfo) and isinstance(index, int):
        return imp.emit(TupleGetItem(x, index))
    rank = imp.info(x).ndim
    items = list(index) if isinstance(index, tuple) else [index]
    items = [_as_indices(imp, item) for item in items]
    used = sum(_dimensions_of(imp, item) for item in items)
    if any(item is Ellipsis for item in items):
        at = next(n for n, item in enumerate(items) if item is Ellipsis)
        items[at : at + 1] = [slice(None)] * (rank - used)
    if not any(imp.is_tensor(item) for item in items):
        return _by_slices(imp, x, items)
    others: list[object] = []
    for item in items:
        others += [slice(None)] * _dimensions_of(imp, item) if imp.is_tensor(item) else [item]
    kept = [item for item in items if item is None or imp.is_tensor(item) or type(item) is slice]
    if any(item != slice(None) for item in others):
        x = _by_slices(imp, x, others)  # torch takes single elements and slices first
    return _by_tensors(imp, x, [item if imp.is_tensor(item) else None for item in kept])


def _dimensions_of(imp: Importer, item: object) -> int:
    """How many dimensions an item of an index takes."""
    if item is None or item is Ellipsis:
        return 0
    is_mask = imp.is_tensor(item) and imp.dtype(item) in MASKS
    return imp.info(item).ndim if is_mask and imp.is_tensor(item) else 1


def _result(imp: Importer, values: Any, index: object) -> Value:
    """An element of what another node gives; None of those that are not computed, nor used."""
    result: Value = values[index]
    if result is None and imp.node.users:
        raise GraphError(
            f"result {index} of {imp.node.args[0]} is not computed",
            "the importer translates the first result of this operator alone",
            f"use its result 0, or compute result {index} by other operators",
        )
    return result


def _as_indices(imp: Importer, item: object) -> object:
    """A list of numbers, or of lists of them, as a tensor of indices; other items stay."""
    if not isinstance(item, list | tuple | range):
        return item
    values = np.array(list(item))
    if any(imp.is_tensor(part) for part in item) or values.dtype.kind not in "biu":
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
    position = 0  # in the result
    for item in items:
        if item is None:
            expanded.append(position)
            position += 1
            continue
        if isinstance(item, slice):
            begin.append(0 if item.start is None else item.start)
            end.append(shape[axis] if item.stop is None else item.stop)
            stride.append(1 if item.step is None else item.step)
            position += 1
        elif isinstance(item, bool) or not isinstance(item, int | Expr):
            raise GraphError(
                f"elements are selected by {repr_of(item)}",
                f"it is {kind_of(item)}",
                "use numbers, slices, None, lists and tensors of indices",
            )
        else:
            at = item + shape[axis] if isinstance(item, int) and item < 0 else item
            begin.append(at)
            end.append(at + 1)
            stride.append(1)
            squeezed.append(axis)
        axes.append(axis)
        axis += 1
    part = imp.emit(R.strided_slice(x, axes, begin, end, stride)) if axes else x
    kept = [size for n, size in enumerate(imp.shape(part)) if n not in squeezed]
    for position in expanded:
        kept.insert(position, 1)
    return imp.reshape(part, kept)


# Distinct elements


@row("unique", "_unique2", "_unique")
def _unique(
    imp: Importer,
    x: GraphExpr,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Value:
    """The distinct elements in order, the place of each element, and how often each is."""
    values, inverse, counts = _distinct(imp, x, None if dim is None else imp.axis(x, dim))
    inverse = imp.reshape(inverse, imp.shape(x)) if dim is None else inverse
    results = (values, inverse if return_inverse else None, counts if return_counts else None)
    if hasattr(imp.node.target, "overloadpacket"):
        return results
    wanted = tuple([result for result in results if result is not None])
    return wanted if len(wanted) > 1 else values


@row("unique_dim")
def _unique_dim(imp: Importer, x: GraphExpr, dim: int, *flags: bool, **options: bool) -> Value:
    return _distinct(imp, x, imp.axis(x, dim))


def _distinct(imp: Importer, x: GraphExpr, axis: int | None) -> Tensors:
    """The distinct elements, or slices along an axis, the place of each, and how often each is."""
    if not imp.info(x).ndim:
        x = imp.reshape(x, [1])
    shape, count = imp.shape(x), Var("count", "int64")
    call = imp.emit(R.unique(x, True, False, True, True, axis))
    sizes = [count] if axis is None else [*shape[:axis], count, *shape[axis + 1 :]]
    total = product_of(shape) if axis is None else shape[axis]
    infos = [
        TensorStructInfo(shape_expr(part), dtype)
        for part, dtype in ((sizes, imp.dtype(x)), ([total], "int64"), ([count], "int64"))
    ]
    return tuple(
        [
            imp.builder.match_cast(imp.emit(TupleGetItem(call, n)), info)
            for n, info in enumerate(infos)
        ]
    )


@row("unique_consecutive")
def _unique_consecutive(
    imp: Importer,
    x: GraphExpr,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Value:
    """Elements other than the one before, the place of each element, and how often each is."""
    if dim is not None and imp.info(x).ndim != 1:
        raise GraphError(
            "unique_consecutive along a dimension is not supported", "", "leave out its dim"
        )
    shape = imp.shape(x)
    size = product_of(shape)
    flat = imp.reshape(x, [size])
    later = imp.emit(R.strided_slice(flat, [0], [1], [END], [1]))
    earlier = imp.emit(R.strided_slice(flat, [0], [0], [size - 1], [1]))
    differs = imp.emit(R.not_equal(later, earlier))
    begins = imp.emit(R.concat([const(np.ones(1, "bool")), differs], 0))
    (places,) = places_of(imp, begins)
    values = imp.emit(R.take(flat, places, 0))
    inverse = imp.emit(R.cumsum(begins, 0, "int64"))
    inverse = imp.reshape(imp.emit(R.subtract(inverse, const(1, "int64"))), shape)
    ends = imp.emit(R.strided_slice(places, [0], [1], imp.shape(places), [1], True))
    end = imp.emit(R.concat([ends, imp.reshape(scalar(imp, size, "int64"), [1])], 0))
    return (values, inverse, imp.emit(R.subtract(end, places)))
