"""Rows of operators of torch that take rows of a table: embeddings, and bags of them."""

from __future__ import annotations

from te_sched.ir.graph import GraphExpr
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.tensors import Size
from te_sched.relax.frontend.torch.importer import ROWS, Importer, row
from te_sched.relax.frontend.torch.values import TorchLayer, Value


@row("embedding")
def _embedding_aten(
    imp: Importer, weight: GraphExpr, indices: GraphExpr, *args: object, **kwargs: object
) -> GraphExpr:
    if not imp.info(weight).dtype.startswith(("float", "bfloat")):  # F.embedding(input, weight)
        weight, indices = indices, weight
    places = imp.cast(indices, "int32")
    if imp.info(places).ndim == 1:
        return imp.emit(R.take(weight, places, 0))
    shape = imp.shape(places)
    flat = imp.reshape(places, [-1])
    rows = imp.emit(R.take(weight, flat, 0))
    return imp.reshape(rows, [*shape, imp.shape(weight)[1]])


def _embedding_module(imp: Importer, m: TorchLayer) -> dict[str, object]:
    return {"indices": imp.param(m.weight)}


row(Embedding=_embedding_module)(_embedding_aten)


# Bags

_MODES = ("sum", "mean", "max")


@row("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def _embedding_bag(
    imp: Importer,
    weight: GraphExpr,
    indices: GraphExpr,
    offsets: GraphExpr,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: GraphExpr | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Value:
    """aten's order: the table, the rows of all bags, and where each bag begins."""
    (count,) = imp.shape(offsets)
    is_padded = padding_idx is not None and padding_idx >= 0
    padding = padding_idx if is_padded else None
    bags = _bags_of(imp, indices, offsets)
    how = _MODES[mode]
    result = _reduced_bags(imp, weight, indices, bags, count, how, per_sample_weights, padding)
    if include_last_offset:  # it begins a bag that is left out
        result = imp.emit(R.strided_slice(result, [0], [0], [count - 1], [1], True))
    return (result, None, None, None)


def _bags_of(imp: Importer, indices: GraphExpr, offsets: GraphExpr) -> GraphExpr:
    """The number of the bag of each index: that of the last bag that begins at it or before."""
    steps = imp.emit(R.arange(0, imp.shape(indices)[0], 1, imp.dtype(offsets)))
    after = ROWS["searchsorted"].rule(imp, offsets, steps, right=True)
    assert isinstance(after, GraphExpr)
    return imp.emit(R.subtract(after, const(1, "int64")))


def _reduced_bags(
    imp: Importer,
    weight: GraphExpr,
    indices: GraphExpr,
    bags: GraphExpr,
    count: Size,
    mode: str,
    factors: GraphExpr | None,
    padding: int | None,
) -> GraphExpr:
    """A row for each bag: the sum, mean or maximum of the rows of its indices, 0 of no rows."""
    dtype, width = imp.dtype(weight), imp.shape(weight)[1]
    total = imp.shape(indices)[0]
    rows: GraphExpr = imp.emit(R.take(weight, indices, 0))
    if factors is not None:
        rows = imp.emit(R.multiply(rows, imp.reshape(factors, [total, 1])))
    places = imp.broadcast(imp.reshape(bags, [total, 1]), [total, width])
    start = -float("inf") if mode == "max" else 0
    used: GraphExpr = imp.emit(R.full([total], const(1, dtype), dtype))
    if padding is not None:
        is_used = imp.emit(R.not_equal(indices, const(padding, imp.dtype(indices))))
        rows = imp.emit(R.where(imp.reshape(is_used, [total, 1]), rows, const(start, dtype)))
        used = imp.cast(is_used, dtype)
    first = imp.emit(R.full([count, width], const(start, dtype), dtype))
    reduction = "max" if mode == "max" else "add"
    result: GraphExpr = imp.emit(R.scatter_elements(first, places, rows, 0, reduction))
    if mode == "sum":
        return result
    zeros = imp.emit(R.full([count], const(0, dtype), dtype))
    counts = imp.emit(R.scatter_elements(zeros, bags, used, 0, "add"))
    counts = imp.reshape(counts, [count, 1])
    if mode == "mean":
        return imp.emit(R.divide(result, imp.emit(R.maximum(counts, const(1, dtype)))))
    is_empty = imp.emit(R.equal(counts, const(0, dtype)))
    return imp.emit(R.where(is_empty, const(0, dtype), result))
