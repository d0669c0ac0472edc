"""Rows of operators of torch that search sorted values, and count elements: bins of a range."""

from __future__ import annotations

from te_sched import topi
from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size, computed_size, product_of
from te_sched.relax.frontend.torch.elementwise import promoted
from te_sched.relax.frontend.torch.importer import Importer, row
from te_sched.relax.frontend.torch.values import Operand


@row("searchsorted")
def _searchsorted(
    imp: Importer,
    sequence: GraphExpr,
    values: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: GraphExpr | None = None,
) -> GraphExpr:
    """The places at which values keep a sequence sorted: before equal elements, or after them."""
    if sorter is not None:
        axis = imp.info(sequence).ndim - 1
        sequence = imp.emit(R.gather_elements(sequence, sorter, axis))
    sequence, values = promoted(imp, sequence, values)
    dtype = "int32" if out_int32 else "int64"
    is_after = right or side == "right"
    hint = {"primfunc_name_hint": "searchsorted"}
    return imp.builder.emit_te(topi.searchsorted, sequence, values, is_after, dtype, **hint)


@row("bucketize")
def _bucketize(
    imp: Importer,
    values: Operand,
    boundaries: GraphExpr,
    *,
    out_int32: bool = False,
    right: bool = False,
) -> GraphExpr:
    return _searchsorted(imp, boundaries, values, out_int32=out_int32, right=right)


@row("histc")
def _histc(
    imp: Importer, x: GraphExpr, bins: int = 100, min: float = 0, max: float = 0
) -> GraphExpr:
    """How many elements are in each of equal parts of a range, by default that of the elements."""
    dtype, flat = imp.dtype(x), imp.reshape(x, [-1])
    if min > max:
        raise GraphError(f"min is {min} and max is {max}", "", "give a min that is at most max")
    low, high = _range_of(imp, flat, min, max)
    width = imp.emit(R.subtract(high, low))
    steps = imp.emit(R.multiply(imp.emit(R.subtract(flat, low)), const(bins, dtype)))
    part = imp.emit(R.floor(imp.emit(R.divide(steps, width))))
    part = imp.emit(R.minimum(part, const(bins - 1, dtype)))  # the last one has its end
    is_above, is_below = imp.emit(R.greater_equal(flat, low)), imp.emit(R.less_equal(flat, high))
    inside = imp.emit(R.logical_and(is_above, is_below))
    bin_index = imp.cast(imp.emit(R.where(inside, part, const(bins, dtype))), "int64")
    counts = _added_at(imp, bins + 1, bin_index, None, dtype)
    return imp.emit(R.strided_slice(counts, [0], [0], [bins], [1]))


def _range_of(
    imp: Importer, x: GraphExpr, least: float, most: float
) -> tuple[GraphExpr, GraphExpr]:
    """A range; if it is one number, the least and the largest element, and 1 around equal ones."""
    dtype = imp.dtype(x)
    if least < most:
        return const(least, dtype), const(most, dtype)
    if imp.shape(x) == [0]:
        return const(least - 1, dtype), const(most + 1, dtype)
    low, high = imp.emit(R.min(x)), imp.emit(R.max(x))
    is_same, one = imp.emit(R.equal(low, high)), const(1, dtype)
    return (
        imp.emit(R.where(is_same, imp.emit(R.subtract(low, one)), low)),
        imp.emit(R.where(is_same, imp.emit(R.add(high, one)), high)),
    )


def _added_at(
    imp: Importer, size: Size, places: GraphExpr, values: GraphExpr | None, dtype: str
) -> GraphExpr:
    """A vector in which each element is the sum of the values of its place, or their number."""
    zeros = imp.emit(R.full([size], const(0, dtype), dtype))
    if values is None:
        values = imp.emit(R.full(imp.shape(places), const(1, dtype), dtype))
    return imp.emit(R.scatter_elements(zeros, places, values, 0, "add"))


@row("bincount")
def _bincount(
    imp: Importer, x: GraphExpr, weights: GraphExpr | None = None, minlength: int = 0
) -> GraphExpr:
    """How often each number is an element, or the sum of the weights of these elements."""
    dtype = "int64" if weights is None else imp.dtype(weights)
    dtype = dtype if dtype in ("int64", "float32") else "float64"
    weights = None if weights is None else imp.cast(weights, dtype)
    if imp.shape(x) == [0]:
        return imp.emit(R.zeros([minlength], dtype))
    places = imp.cast(x, "int64")
    count = imp.emit(R.add(imp.emit(R.max(places)), const(1, "int64")))
    count = imp.emit(R.maximum(count, const(minlength, "int64")))
    return _added_at(
        imp, computed_size(imp.builder, imp.reshape(count, [1])), places, weights, dtype
    )


@row("repeat_interleave")
def _repeat_interleave(
    imp: Importer,
    x: GraphExpr,
    repeats: int | GraphExpr | None = None,
    dim: int | None = None,
    *,
    output_size: Size | None = None,
) -> GraphExpr:
    """Elements repeated a number of times, or each as often as a tensor says."""
    if isinstance(repeats, int):
        return imp.emit(R.repeat(x, repeats, dim))
    if repeats is None:  # the places of elements repeated x times
        return _places_repeated(imp, x, output_size)
    if dim is None:
        x, dim = imp.reshape(x, [product_of(imp.shape(x))]), 0
    repeats = imp.broadcast(imp.reshape(repeats, [-1]), [imp.shape(x)[dim]])
    return imp.emit(R.take(x, _places_repeated(imp, repeats, output_size), dim))


def _places_repeated(imp: Importer, repeats: GraphExpr, total: Size | None) -> GraphExpr:
    """0 as often as the first element says, then 1 as often as the second one says, ..."""
    ends = imp.emit(R.cumsum(imp.cast(repeats, "int64"), 0))
    if total is None:
        total = computed_size(
            imp.builder, imp.emit(R.sum(imp.cast(repeats, "int64"), keepdims=True))
        )
    steps = imp.emit(R.arange(0, total, 1, "int64"))
    return imp.cast(_searchsorted(imp, ends, steps, right=True), imp.dtype(repeats))
