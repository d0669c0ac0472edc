"""Rows of operators of torch that sort: elements in order, medians, modes."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from te_sched.ir.graph import GraphExpr, TupleGetItem
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size
from te_sched.relax.frontend.torch.elementwise import dtype_kind
from te_sched.relax.frontend.torch.importer import ROWS, Importer, TorchRow, row
from te_sched.relax.frontend.torch.values import Tensors, Value


def _of_numbers(rule: Callable[..., Tensors]) -> Callable[..., Tensors]:
    """A rule of tensors with dimensions that gives the results for those without any, too."""

    @functools.wraps(rule)
    def call(imp: Importer, x: GraphExpr, *args: object, **options: object) -> Tensors:
        if imp.info(x).ndim:
            return rule(imp, x, *args, **options)
        parts = rule(imp, imp.reshape(x, [1]), *args, **options)
        return tuple([imp.reshape(part, []) for part in parts])

    return call


@row("topk")
@_of_numbers
def _topk(
    imp: Importer, x: GraphExpr, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Tensors:
    if k == 0:  # of which R.topk takes all
        sizes = list(imp.shape(x))
        sizes[dim] = 0
        return (imp.emit(R.zeros(sizes, imp.dtype(x))), imp.emit(R.zeros(sizes, "int64")))
    pair = imp.emit(R.topk(x, k, dim, "both", largest, "int64"))
    return (imp.emit(TupleGetItem(pair, 0)), imp.emit(TupleGetItem(pair, 1)))


@row("sort", "msort")
@_of_numbers
def _sort(
    imp: Importer, x: GraphExpr, dim: int = -1, descending: bool = False, **_: object
) -> Tensors:
    places = imp.emit(R.argsort(x, dim, descending, "int64"))
    return (imp.emit(R.sort(x, dim, descending)), places)


@row("argsort")
def _argsort(
    imp: Importer, x: GraphExpr, dim: int = -1, descending: bool = False, **_: object
) -> GraphExpr:
    if not imp.info(x).ndim:
        return const(0, "int64")
    return imp.emit(R.argsort(x, dim, descending, "int64"))


@row("kthvalue")
@_of_numbers
def _kthvalue(
    imp: Importer, x: GraphExpr, k: Size, dim: int = -1, keepdim: bool = False
) -> Tensors:
    """The element that is in place k - 1 when a dimension is sorted, and its place."""
    parts = [
        imp.emit(R.strided_slice(part, [dim], [k - 1], [k], [1], True))
        for part in _sort(imp, x, dim)
    ]
    return tuple(parts if keepdim else [imp.emit(R.squeeze(part, [dim])) for part in parts])


def _median_along(imp: Importer, x: GraphExpr, dim: int, keepdim: bool) -> Tensors:
    """The lower one of two elements in the middle, or the first NaN; and its place."""
    middle = (imp.shape(x)[dim] + 1) // 2
    value, index = _kthvalue(imp, x, middle, dim, keepdim)
    if dtype_kind(imp.dtype(x)) < 2:
        return value, index
    most = imp.emit(R.max(x, dim, keepdim))
    is_nan, first = imp.emit(R.isnan(most)), imp.emit(R.argmax(x, dim, keepdim))
    return (
        imp.emit(R.where(is_nan, most, value)),
        imp.emit(R.where(is_nan, imp.cast(first, imp.dtype(index)), index)),
    )


def _nanmedian_along(imp: Importer, x: GraphExpr, dim: int, keepdim: bool) -> Tensors:
    """The lower one of two elements in the middle of those that are numbers, and its place."""
    if dtype_kind(imp.dtype(x)) < 2:
        return _median_along(imp, x, dim, keepdim)
    is_number = imp.emit(R.logical_not(imp.emit(R.isnan(x))))
    count = imp.emit(R.sum(imp.cast(is_number, "int64"), [dim], True))
    last = imp.emit(R.maximum(imp.emit(R.subtract(count, const(1, "int64"))), const(0, "int64")))
    middle = imp.emit(R.floor_divide(last, const(2, "int64")))
    index = _gathered(imp, imp.emit(R.argsort(x, dim, False, "int64")), dim, middle)
    parts = [_gathered(imp, x, dim, index), index]
    return tuple(parts if keepdim else [imp.emit(R.squeeze(part, [dim])) for part in parts])


def _median_rule(along: Callable[..., Tensors]) -> Callable[..., Value]:
    """The rule of a median along a dimension, or of all elements."""

    def rule(imp: Importer, x: GraphExpr, dim: int | None = None, keepdim: bool = False) -> Value:
        if dim is None:
            return along(imp, imp.reshape(x, [-1]), 0, False)[0]
        return _of_numbers(along)(imp, x, dim, keepdim)

    return rule


ROWS["median"] = TorchRow(_median_rule(_median_along))
ROWS["nanmedian"] = TorchRow(_median_rule(_nanmedian_along))


def _gathered(imp: Importer, x: GraphExpr, dim: int, places: GraphExpr) -> GraphExpr:
    result = ROWS["gather"].rule(imp, x, dim, places)
    assert isinstance(result, GraphExpr)
    return result


@row("mode")
@_of_numbers
def _mode(imp: Importer, x: GraphExpr, dim: int = -1, keepdim: bool = False) -> Tensors:
    """The least one of the most frequent elements, and the last place of it."""
    axis, rank = imp.axis(x, dim), imp.info(x).ndim
    dtype = imp.dtype(x)
    numbers = imp.cast(x, "int32") if dtype == "bool" else x
    pair = [imp.emit(R.expand_dims(numbers, n)) for n in (axis, axis + 1)]
    is_same = imp.cast(imp.emit(R.equal(*pair)), "int32")
    counts = imp.emit(R.sum(is_same, [axis]))
    is_most = imp.emit(R.equal(counts, imp.emit(R.max(counts, [axis], True))))
    kind = imp.dtype(numbers)
    limit = float("inf") if dtype_kind(kind) == 2 else np.iinfo(kind).max
    least = imp.emit(R.min(imp.emit(R.where(is_most, numbers, const(limit, kind))), [axis], True))
    steps = imp.emit(R.arange(0, imp.shape(x)[axis], 1, "int64"))
    steps = imp.reshape(steps, [-1 if n == axis else 1 for n in range(rank)])
    is_least = imp.emit(R.equal(numbers, least))
    index = imp.emit(R.max(imp.emit(R.where(is_least, steps, const(0, "int64"))), [axis], True))
    parts: list[GraphExpr] = [imp.cast(least, dtype), index]
    return tuple(parts if keepdim else [imp.emit(R.squeeze(part, [axis])) for part in parts])
