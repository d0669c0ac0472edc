"""Rows of operators of torch that change shapes, select elements, and tell sizes."""

from __future__ import annotations

import math
import operator
from typing import Any

from te_sched.errors import GraphError, repr_of
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.torch.elementwise import promoted, sizes_of
from te_sched.relax.frontend.torch.importer import (
    ROWS,
    Importer,
    TorchRow,
    TorchSizes,
    as_tuples,
    dtype_of,
    row,
)

_END = (1 << 63) - 1  # where a slice ends that has no end


@row("reshape", "view", "_unsafe_view", "view_copy")
def _reshape(imp: Importer, x: Any, *shape: Any) -> Any:
    if len(shape) == 1 and not isinstance(shape[0], int | Expr | list | tuple):
        return imp.cast(x, dtype_of(shape[0]))  # x.view(dtype) of the same number of bits
    return imp.emit(R.reshape(x, sizes_of(shape)))


@row("reshape_as", "view_as")
def _reshape_as(imp: Importer, x: Any, other: Any) -> Any:
    return imp.emit(R.reshape(x, imp.shape(other)))


@row(
    "flatten",
    Flatten=lambda imp, m: {"start_dim": m.start_dim, "end_dim": m.end_dim},
)
def _flatten(imp: Importer, x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = imp.shape(x)
    if not shape:
        return imp.emit(R.reshape(x, [1]))
    begin, end = start_dim % len(shape), end_dim % len(shape)
    if begin == end:
        return x
    joined = math.prod(shape[begin : end + 1])
    return imp.emit(R.reshape(x, [*shape[:begin], joined, *shape[end + 1 :]]))


@row(
    "unflatten",
    Unflatten=lambda imp, m: {"dim": m.dim, "sizes": m.unflattened_size},
)
def _unflatten(imp: Importer, x: Any, dim: int, sizes: Any) -> Any:
    shape = imp.shape(x)
    dim %= len(shape)
    parts = list(sizes)
    if -1 in parts:
        known = math.prod([one for one in parts if one != -1])
        parts[parts.index(-1)] = shape[dim] // known
    return imp.emit(R.reshape(x, [*shape[:dim], *parts, *shape[dim + 1 :]]))


@row("permute")
def _permute(imp: Importer, x: Any, *dims: Any) -> Any:
    return imp.emit(R.permute_dims(x, sizes_of(dims)))


@row("transpose", "swapaxes")
def _transpose(imp: Importer, x: Any, dim0: int, dim1: int) -> Any:
    axes = list(range(imp.info(x).ndim))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return imp.emit(R.permute_dims(x, axes))


@row("t", "numpy_T")
def _t(imp: Importer, x: Any) -> Any:
    return imp.emit(R.permute_dims(x, None)) if imp.info(x).ndim > 1 else x


@row("movedim")
def _movedim(imp: Importer, x: Any, source: Any, destination: Any) -> Any:
    rank = imp.info(x).ndim
    given = [one if isinstance(one, list | tuple) else [one] for one in (source, destination)]
    sources, places = [[one % rank for one in ones] for ones in given]
    axes = [one for one in range(rank) if one not in sources]
    for place, one in sorted(zip(places, sources, strict=True)):
        axes.insert(place, one)
    return imp.emit(R.permute_dims(x, axes))


@row("unsqueeze")
def _unsqueeze(imp: Importer, x: Any, dim: int) -> Any:
    return imp.emit(R.expand_dims(x, dim))


@row("squeeze")
def _squeeze(imp: Importer, x: Any, dim: Any = None) -> Any:
    if dim is None:
        return imp.emit(R.squeeze(x, None))
    shape = imp.shape(x)
    dims = list(dim) if isinstance(dim, list | tuple) else [dim]
    ones = [one for one in dims if shape[one] == 1]
    return imp.emit(R.squeeze(x, ones)) if ones else x


@row("expand")
def _expand(imp: Importer, x: Any, *size: Any, implicit: bool = False) -> Any:
    sizes, shape = sizes_of(size), imp.shape(x)
    rest = len(sizes) - len(shape)
    known = [
        shape[n - rest] if type(one) is int and one == -1 else one for n, one in enumerate(sizes)
    ]
    return imp.emit(R.broadcast_to(x, known))


@row("expand_as")
def _expand_as(imp: Importer, x: Any, other: Any) -> Any:
    return imp.emit(R.broadcast_to(x, imp.shape(other)))


@row("broadcast_to")
def _broadcast_to(imp: Importer, x: Any, size: Any) -> Any:
    return imp.emit(R.broadcast_to(x, list(size)))


@row("repeat", "tile")
def _repeat(imp: Importer, x: Any, *repeats: Any) -> Any:
    return imp.emit(R.tile(x, sizes_of(repeats)))


@row("repeat_interleave")
def _repeat_interleave(
    imp: Importer, x: Any, repeats: int, dim: int | None = None, **_: Any
) -> Any:
    return imp.emit(R.repeat(x, repeats, dim))


@row("cat", "concat", "concatenate")
def _cat(imp: Importer, tensors: Any, dim: int = 0, axis: int | None = None) -> Any:
    return imp.emit(R.concat(promoted(imp, *tensors), axis if axis is not None else dim))


@row("stack")
def _stack(imp: Importer, tensors: Any, dim: int = 0) -> Any:
    if dim == 0:
        joined = imp.emit(R.concat(list(tensors), 0))
        return imp.emit(R.reshape(joined, [len(tensors), *imp.shape(tensors[0])]))
    parts = [imp.emit(R.expand_dims(one, dim)) for one in tensors]
    return imp.emit(R.concat(parts, dim))


@row("split", "split_with_sizes", "tensor_split_sizes")
def _split(imp: Importer, x: Any, split_size: Any = None, dim: int = 0, **kwargs: Any) -> Any:
    size = split_size if split_size is not None else next(iter(kwargs.values()))
    extent = imp.shape(x)[dim]
    if isinstance(size, list | tuple):
        places = [sum(size[: n + 1]) for n in range(len(size) - 1)]
        return imp.emit(R.split(x, places, dim)) if places else (x,)
    if not isinstance(extent, int):
        raise GraphError(
            f"split of a dimension of size {extent}", "its size is not known", "use fixed sizes"
        )
    count = -(-extent // size)
    if extent % size == 0:
        return imp.emit(R.split(x, count, dim))
    return imp.emit(R.split(x, [size * (n + 1) for n in range(count - 1)], dim))


@row("chunk")
def _chunk(imp: Importer, x: Any, chunks: int, dim: int = 0) -> Any:
    extent = imp.shape(x)[dim]
    if isinstance(extent, int) and extent % chunks:
        return _split(imp, x, -(-extent // chunks), dim)
    return imp.emit(R.split(x, chunks, dim))


@row("unbind")
def _unbind(imp: Importer, x: Any, dim: int = 0) -> Any:
    extent = imp.shape(x)[dim]
    if not isinstance(extent, int):
        raise GraphError(
            f"unbind of a dimension of size {extent}", "its size is not known", "use a fixed size"
        )
    parts = imp.emit(R.split(x, list(range(1, extent + 1)), dim))

    items = []
    for n in range(extent):
        item = imp.emit(TupleGetItem(parts, n))
        items.append(imp.emit(R.squeeze(item, dim)))
    return imp.emit(as_tuples(items))


@row("slice", "slice_copy")
def _slice(
    imp: Importer, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    begin = 0 if start is None else start
    stop = _END if end is None else end
    sizes = imp.known_sizes()
    is_inside = False
    if isinstance(stop, Expr) and sizes is not None:  # the sizes of torch take no minimum
        is_inside = imp.builder.analyzer.can_prove_equal(sizes[dim] * step, stop - begin)
    return imp.emit(R.strided_slice(x, [dim], [begin], [stop], [step], is_inside))


@row("narrow")
def _narrow(imp: Importer, x: Any, dim: int, start: Any, length: Any) -> Any:
    return imp.emit(R.strided_slice(x, [dim], [start], [start + length], [1]))


@row("select", "select_copy")
def _select(imp: Importer, x: Any, dim: int, index: Any) -> Any:
    if isinstance(index, int) and index < 0:
        index = index + imp.shape(x)[dim]
    place = const(index, "int64") if isinstance(index, int) else _place(imp, index)
    return imp.emit(R.take(x, place, dim))


def _place(imp: Importer, index: Any) -> Any:
    if imp.is_tensor(index):
        return index
    raise GraphError(f"the place {repr_of(index)} of an element", "", "use a number or a tensor")


@row("index_select")
def _index_select(imp: Importer, x: Any, dim: int, index: Any) -> Any:
    return imp.emit(R.take(x, index, dim))


@row("gather")
def _gather(imp: Importer, x: Any, dim: int, index: Any, **_: Any) -> Any:
    return imp.emit(R.gather_elements(x, index, dim))


@row("scatter")
def _scatter(imp: Importer, x: Any, dim: int, index: Any, src: Any) -> Any:
    return imp.emit(R.scatter_elements(x, index, src, dim))


@row("index")
def _index(imp: Importer, x: Any, indices: Any) -> Any:
    """x[i, j, ...] with tensors of places for some dimensions."""
    return _by_tensors(imp, x, list(indices))


def _by_tensors(imp: Importer, x: Any, indices: list[Any]) -> Any:
    places = [n for n, one in enumerate(indices) if one is not None]
    if len(places) == 1:
        return imp.emit(R.take(x, indices[places[0]], places[0]))
    if places != list(range(len(places))):
        raise GraphError(
            "elements are selected by tensors for dimensions that are not the first ones",
            f"the dimensions are {places}",
            "permute the dimensions first",
        )
    parts = promoted(imp, *[indices[n] for n in places])
    width = max(imp.info(one).ndim for one in parts)
    shape = next(imp.shape(one) for one in parts if imp.info(one).ndim == width)
    if any(imp.shape(one) != shape for one in parts):
        parts = [imp.emit(R.broadcast_to(one, shape)) for one in parts]
    stacked = imp.emit(R.concat([imp.emit(R.expand_dims(one, -1)) for one in parts], -1))
    return imp.emit(R.gather_nd(x, stacked))


@row("getitem")
def _getitem(imp: Importer, x: Any, index: Any) -> Any:
    """x[index], of a tensor, a tuple, or a shape."""
    if not isinstance(x, GraphExpr):
        return x[index]
    if not imp.is_tensor(x):
        return imp.emit(TupleGetItem(x, index))
    items = list(index) if isinstance(index, tuple) else [index]
    if any(imp.is_tensor(one) for one in items):
        if any(one is not None and not imp.is_tensor(one) and one != slice(None) for one in items):
            raise GraphError(
                f"elements are selected by {repr_of(index)}",
                "tensors and slices are mixed",
                "select in two steps",
            )
        return _by_tensors(imp, x, [one if imp.is_tensor(one) else None for one in items])
    rank = imp.info(x).ndim
    used = sum(1 for one in items if one is not None and one is not Ellipsis)
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items[at : at + 1] = [slice(None)] * (rank - used)
    begin: list[Any] = []
    end: list[Any] = []
    stride: list[Any] = []
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
    return imp.emit(R.reshape(found, kept))


@row("masked_scatter")
def _masked_scatter(imp: Importer, x: Any, mask: Any, source: Any) -> Any:
    """The elements where the mask holds are those of the source, in order."""
    flat, given = mask, source
    if imp.info(x).ndim > 1:
        flat = imp.emit(R.reshape(mask, [math.prod(imp.shape(mask))]))
    places = imp.emit(R.cumsum(flat, 0, "int32", False))
    places = imp.emit(R.subtract(places, const(1, "int32")))
    if imp.info(source).ndim > 1:
        given = imp.emit(R.reshape(source, [math.prod(imp.shape(source))]))
    taken = imp.emit(R.take(given, places, 0))
    if imp.info(x).ndim > 1:
        taken = imp.emit(R.reshape(taken, imp.shape(x)))
    return imp.emit(R.where(mask, taken, x))


@row("flip")
def _flip(imp: Importer, x: Any, *dims: Any) -> Any:
    for one in sizes_of(dims):
        x = imp.emit(R.flip(x, one))
    return x


@row("roll")
def _roll(imp: Importer, x: Any, shifts: Any, dims: Any = ()) -> Any:
    pairs = zip(
        shifts if isinstance(shifts, list | tuple) else [shifts],
        dims if isinstance(dims, list | tuple) else [dims],
        strict=True,
    )
    for shift, dim in pairs:
        extent = imp.shape(x)[dim]
        cut = -shift % extent
        if cut:
            parts = imp.emit(R.split(x, [cut], dim))
            first, last = [imp.emit(TupleGetItem(parts, n)) for n in (0, 1)]
            x = imp.emit(R.concat([last, first], dim))
    return x


# TorchSizes


@row("size")
def _size(imp: Importer, x: Any, dim: Any = None) -> Any:
    shape = imp.shape(x)
    return TorchSizes(shape) if dim is None else shape[dim]


ROWS["sym_size"] = TorchRow(_size)


@row("getattr")
def _getattr(imp: Importer, x: Any, name: str) -> Any:
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
def _dim(imp: Importer, x: Any) -> Any:
    return imp.info(x).ndim


@row("numel", "sym_numel")
def _numel(imp: Importer, x: Any) -> Any:
    return math.prod(imp.shape(x))


@row("sym_float", "sym_int", "item")
def _number(imp: Importer, x: Any) -> Any:
    return x


@row("sym_sum")
def _sym_sum(imp: Importer, values: Any) -> Any:
    return sum(values)


@row("sym_max")
def _sym_max(imp: Importer, a: Any, b: Any) -> Any:
    return ROWS["maximum"].rule(imp, a, b)


@row("sym_min")
def _sym_min(imp: Importer, a: Any, b: Any) -> Any:
    return ROWS["minimum"].rule(imp, a, b)


ROWS["is_floating_point"] = TorchRow(lambda imp, x: imp.dtype(x).startswith(("float", "bfloat")))
ROWS["len"] = TorchRow(lambda imp, x: imp.shape(x)[0] if imp.is_tensor(x) else len(x))
ROWS["sym_not"] = TorchRow(lambda imp, x: operator.not_(x))
