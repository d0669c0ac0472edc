"""GroupQueryAttention of onnxruntime: attention of language models, with keys and values of earlier
calls, of which several heads of queries share one head.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.frontend.onnx import sizes as _sizes
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.operators.microsoft import rotated
from te_sched.relax.frontend.onnx.registry import Result, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, computed_size, product_of


class _Heads(NamedTuple):
    """Queries, keys and values as (batch, length, heads, width of a head)."""

    queries: GraphExpr
    keys: GraphExpr
    values: GraphExpr


@row("GroupQueryAttention", domain="com.microsoft")
def _grouped_attention(
    imp: OnnxImporter,
    query: Value,
    key: Value | None,
    value: Value | None,
    past_key: Value | None,
    past_value: Value | None,
    seqlens_k: Value,
    total_sequence_length: Value,
    cos_cache: Value | None = None,
    sin_cache: Value | None = None,
    position_ids: Value | None = None,
    attention_bias: Value | None = None,
    head_sink: Value | None = None,
    *others: Value | None,
    num_heads: int,
    kv_num_heads: int,
    scale: float = 0.0,
    softcap: float = 0.0,
    local_window_size: int = -1,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    smooth_softmax: int = 0,
    causal: int = 1,
    sliding_window_cache: int = 0,
    **_: object,
) -> Result:
    has_others = any(value is not None for value in others) or imp.count > 3
    if has_others or not causal or sliding_window_cache:
        raise GraphError(
            "attention has an input, an output or an attribute that is not supported",
            "it has quantized or sliding caches, norms of heads, query_seqlens, output_qk or "
            "causal=0",
            "export the model without them",
        )
    heads = _heads(imp, [query, key, value], num_heads, kv_num_heads)
    total = _total_length(imp, total_sequence_length)
    begins = _begins(imp, seqlens_k, imp.shape(heads.queries)[1], total)
    if do_rotary and cos_cache is not None and sin_cache is not None:
        tables = imp.tensor(cos_cache), imp.tensor(sin_cache)
        places = _places(imp, begins, position_ids, imp.shape(heads.queries)[1])
        queries, keys = (
            rotated(imp, part, places, tables, rotary_interleaved) for part in heads[:2]
        )
        heads = _Heads(queries, keys, heads.values)
    pasts = (past_key, past_value)
    caches = [
        _cache(imp, new, past, begins, total) for new, past in zip(heads[1:], pasts, strict=True)
    ]
    sinks = None if head_sink is None else imp.tensor(head_sink)
    if smooth_softmax == 1:
        sinks = imp.emit(R.zeros([num_heads], imp.dtype(heads.queries)))
    factor = scale or 1 / math.sqrt(imp.fixed_size(imp.shape(heads.queries)[3], "scale"))
    options = _Scores(factor, softcap, local_window_size, total, attention_bias, sinks)
    return _attended(imp, heads.queries, caches, begins, options), *caches


def _heads(imp: OnnxImporter, inputs: list[Value | None], count: int, groups: int) -> _Heads:
    """The heads of three inputs of (batch, length, width), or of one that has all side by side."""
    query, key, value = inputs
    assert query is not None  # which nodes have
    batch, length, whole = imp.shape(query)
    counts = [count, groups, groups]
    if key is None or value is None:
        depth = imp.fixed_size(whole, "split") // sum(counts)
        joined = imp.emit(R.reshape(imp.tensor(query), [batch, length, sum(counts), depth]))
        ends = [count, count + groups, count + 2 * groups]
        parts = [
            imp.emit(R.strided_slice(joined, [2], [end - size], [end]))
            for end, size in zip(ends, counts, strict=True)
        ]
        return _Heads(*parts)
    depth = imp.fixed_size(whole, "split") // count
    tensors = [imp.tensor(part) for part in (query, key, value)]
    return _Heads(
        *[
            imp.emit(R.reshape(tensor, [batch, length, size, depth]))
            for tensor, size in zip(tensors, counts, strict=True)
        ]
    )


def _total_length(imp: OnnxImporter, value: Value) -> Size:
    """The greatest number of keys of a batch: a size of an input, or one that a call computes."""
    numbers = imp.known_numbers(value, 6)
    if numbers is not None:
        size, _ = _sizes.integral(numbers[0])
        return ops.cast("int64", size) if isinstance(size, Expr) else size
    wide = imp.emit(R.astype(imp.tensor(value), "int64"))
    return computed_size(imp.builder, imp.emit(R.reshape(wide, [1])))


def _begins(imp: OnnxImporter, lengths: Value, count: Size, total: Size) -> GraphVar:
    """Where the new keys of each batch begin: at 0 in a prompt, else after those of the past.

    lengths : the number of keys of each batch, without the last one.
    """
    flat = imp.emit(R.reshape(imp.tensor(lengths), [-1]))

    def begins(last: te.Tensor, new: Expr, whole: Expr) -> te.Tensor:
        def begin(batch: Expr) -> Expr:
            past = ops.cast("int64", last(batch)) + 1 - new
            return te.select(ops.equal(new, whole), ops.const(0, "int64"), past)

        return te.compute(last.shape, begin, name="begins")

    numbers = [ops.cast("int64", ops.convert(size)) for size in (count, total)]
    return imp.builder.emit_te(begins, flat, *numbers)


def _places(
    imp: OnnxImporter, begins: GraphVar, positions: Value | None, length: Size
) -> GraphExpr:
    """The positions of new keys, (batch, length)."""
    if positions is not None:
        return imp.tensor(positions)
    steps = imp.emit(R.arange(0, length, 1, "int64"))
    return imp.emit(R.add(imp.emit(R.expand_dims(begins, [1])), steps))


def _cache(
    imp: OnnxImporter, new: GraphExpr, past: Value | None, begins: GraphVar, total: Size
) -> GraphVar:
    """Keys or values of all calls, (batch, heads, length, width of a head): those of the past, new
    ones from `begins` on, and zeros.
    """
    rows_of_past = 0 if past is None else imp.shape(past)[2]
    is_new_alone = isinstance(rows_of_past, int) and rows_of_past == 0
    length = total if is_new_alone else _sizes.largest(rows_of_past, total)

    def cache(rows: te.Tensor, starts: te.Tensor, size: Expr, *older: te.Tensor) -> te.Tensor:
        batch, count, heads, depth = rows.shape

        def element(b: Expr, head: Expr, position: Expr, n: Expr) -> Expr:
            offset = position - starts(b)
            is_new = te.all(offset >= 0, offset < count)
            rest: Expr = ops.const(0, rows.dtype)
            for tensor in older:
                is_past = te.all(offset < 0, position < tensor.shape[2])
                rest = te.if_then_else(is_past, tensor(b, head, position, n), rest)
            return te.if_then_else(is_new, rows(b, offset, head, n), rest)

        return te.compute((batch, heads, size, depth), element, name="cache")

    older = [] if past is None or is_new_alone else [imp.tensor(past)]
    return imp.builder.emit_te(cache, new, begins, ops.convert(length), *older)


class _Scores(NamedTuple):
    """How the scores of keys are computed."""

    factor: float
    softcap: float
    window: int
    total: Size
    bias: Value | None
    sinks: GraphExpr | None  # a score of each head that adds to the sum of the softmax alone


def _attended(
    imp: OnnxImporter,
    queries: GraphExpr,
    caches: list[GraphVar],
    begins: GraphVar,
    options: _Scores,
) -> GraphVar:
    """softmax(scores) @ values, (batch, length, heads * width of a head)."""
    batch, length, heads, depth = imp.shape(queries)
    if options.bias is not None:  # which has as many columns as there are keys
        caches = [imp.emit(R.strided_slice(cache, [2], [0], [options.total])) for cache in caches]
    keys, values = caches
    _, groups, count, width = imp.shape(keys)
    each = imp.fixed_size(heads, "split") // imp.fixed_size(groups, "split")
    rows = imp.emit(R.permute_dims(queries, [0, 2, 1, 3]))
    rows = imp.emit(R.reshape(rows, [batch, groups, each * length, depth]))
    products = imp.emit(R.matmul(rows, imp.emit(R.permute_dims(keys, [0, 1, 3, 2]))))
    products = imp.emit(R.reshape(products, [batch, heads, length, count]))
    weights = _weights(imp, products, begins, options)
    weights = imp.emit(R.reshape(weights, [batch, groups, each * length, count]))
    sums = imp.emit(R.matmul(weights, values))
    sums = imp.emit(R.reshape(sums, [batch, heads, length, width]))
    result = imp.emit(R.permute_dims(sums, [0, 2, 1, 3]))
    return imp.emit(R.reshape(result, [batch, length, product_of([heads, width])]))


def _weights(imp: OnnxImporter, products: GraphVar, begins: GraphVar, options: _Scores) -> GraphVar:
    """The softmax of products of queries and keys, of the keys that each query sees."""
    dtype, (batch, heads, length, count) = imp.dtype(products), imp.shape(products)

    def scaled(x: te.Tensor) -> te.Tensor:
        def element(*index: Expr) -> Expr:
            score = x(*index) * ops.const(options.factor, dtype)
            cap = ops.const(options.softcap, dtype)
            return te.tanh(score / cap) * cap if options.softcap else score

        return te.compute(x.shape, element, name="scaled")

    def masked(x: te.Tensor, starts: te.Tensor) -> te.Tensor:
        def element(b: Expr, head: Expr, position: Expr, key: Expr) -> Expr:
            last = starts(b) + position
            is_seen = key <= last
            if options.window > 0:
                is_seen = te.all(is_seen, key > last - options.window)
            return te.select(is_seen, x(b, head, position, key), te.min_value(dtype))

        return te.compute(x.shape, element, name="masked")

    scores = imp.builder.emit_te(scaled, products)
    if options.bias is not None:
        scores = imp.emit(R.add(*imp.tensors([scores, options.bias])))
    scores = imp.builder.emit_te(masked, scores, begins)
    if options.sinks is None:
        return imp.emit(R.nn.softmax(scores, -1))
    column = imp.emit(R.reshape(options.sinks, [1, heads, 1, 1]))
    column = imp.emit(R.broadcast_to(column, [batch, heads, length, 1]))
    weights = imp.emit(R.nn.softmax(imp.emit(R.concat([scores, column], -1)), -1))
    return imp.emit(R.strided_slice(weights, [3], [0], [count]))
