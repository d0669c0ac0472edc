"""Rows of operators of transformers of onnxruntime (com.microsoft), which its optimizer writes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from te_sched.errors import GraphError
from te_sched.ir.graph import GraphExpr, GraphVar
from te_sched.relax import op as R
from te_sched.relax.constant import const
from te_sched.relax.frontend.onnx.importer import OnnxImporter
from te_sched.relax.frontend.onnx.registry import Ints, Result, row
from te_sched.relax.frontend.onnx.sizes import Value
from te_sched.relax.frontend.tensors import Size, filled, product_of

_DOMAIN = "com.microsoft"


@row("FusedMatMul", domain=_DOMAIN)
def _fused_matmul(
    imp: OnnxImporter,
    a: Value,
    b: Value,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> GraphVar:
    x = _transposed(imp, imp.tensor(a), transA, transBatchA)
    y = _transposed(imp, imp.tensor(b), transB, transBatchB)
    result = imp.emit(R.matmul(x, y))
    return result if alpha == 1 else imp.emit(R.multiply(result, const(alpha, imp.dtype(result))))


def _transposed(imp: OnnxImporter, x: GraphExpr, swaps: int, has_batch_inside: int) -> GraphExpr:
    """Matrices with their dimensions swapped, of batches whose last dimension may follow rows."""
    rank = imp.rank(x)
    axes = list(range(rank))
    if has_batch_inside:
        axes = [*axes[1:-1], 0, rank - 1]
    if swaps and rank > 1:
        axes[-2:] = axes[:-3:-1]
    return x if axes == sorted(axes) else imp.emit(R.permute_dims(x, axes))


@row("Gelu", domain=_DOMAIN)
def _gelu(imp: OnnxImporter, x: Value) -> GraphVar:
    return imp.emit(R.nn.gelu(imp.tensor(x)))


@row("BiasGelu", domain=_DOMAIN)
def _bias_gelu(imp: OnnxImporter, x: Value, bias: Value) -> GraphVar:
    return imp.emit(R.nn.gelu(imp.emit(R.add(imp.tensor(x), imp.tensor(bias)))))


@row("FastGelu", domain=_DOMAIN)
def _fast_gelu(imp: OnnxImporter, x: Value, bias: Value | None = None) -> GraphVar:
    data = imp.tensor(x)
    if bias is not None:
        data = imp.emit(R.add(data, imp.tensor(bias)))
    return imp.emit(R.nn.gelu_tanh(data))


@row("QuickGelu", domain=_DOMAIN)
def _quick_gelu(imp: OnnxImporter, x: Value, alpha: float = 1.702) -> GraphVar:
    data = imp.tensor(x)
    scaled = imp.emit(R.multiply(data, const(alpha, imp.dtype(data))))
    return imp.emit(R.multiply(data, imp.emit(R.sigmoid(scaled))))


@row("SimplifiedLayerNormalization")
@row("SimplifiedLayerNormalization", domain=_DOMAIN)
def _rms_norm(
    imp: OnnxImporter, x: Value, scale: Value, axis: int = -1, epsilon: float = 1e-5, **_: object
) -> Result:
    data, rank = imp.tensor(x), imp.rank(x)
    axes = list(range(axis % rank, rank))
    result = imp.emit(R.nn.rms_norm(data, imp.tensor(scale), axes, epsilon))
    if imp.count == 1:
        return result
    squares = imp.emit(R.mean(imp.emit(R.square(data)), axes, True))
    return result, imp.emit(R.rsqrt(imp.emit(R.add(squares, const(epsilon, imp.dtype(data))))))


def _sum(imp: OnnxImporter, *values: Value | None) -> GraphExpr:
    """The sum of the values that are given."""
    first, *rest = [imp.tensor(value) for value in values if value is not None]
    for value in rest:
        first = imp.emit(R.add(first, value))
    return first


def _normalized(
    imp: OnnxImporter, x: GraphExpr, scale: Value, bias: Value | None, epsilon: float
) -> tuple[GraphVar, ...]:
    """Normalized rows, their means, and the inverses of their deviations."""
    shift = filled(imp.builder, imp.shape(scale), 0, imp.dtype(x))
    shift = shift if bias is None else imp.tensor(bias)
    result = imp.emit(R.nn.layer_norm(x, imp.tensor(scale), shift, axes=[-1], epsilon=epsilon))
    if imp.count == 1:
        return (result,)
    spread = imp.emit(R.add(imp.emit(R.variance(x, [-1], True)), const(epsilon, imp.dtype(x))))
    return result, imp.emit(R.mean(x, [-1], True)), imp.emit(R.rsqrt(spread))


@row("SkipLayerNormalization", domain=_DOMAIN)
def _skip_layer_norm(
    imp: OnnxImporter,
    x: Value,
    skip: Value,
    scale: Value,
    shift: Value | None = None,
    bias: Value | None = None,
    epsilon: float = 1e-12,
) -> Result:
    total = _sum(imp, x, bias, skip)
    return (*_normalized(imp, total, scale, shift, epsilon), total)[: imp.count]


@row("SkipSimplifiedLayerNormalization", domain=_DOMAIN)
def _skip_rms_norm(
    imp: OnnxImporter,
    x: Value,
    skip: Value,
    scale: Value,
    bias: Value | None = None,
    epsilon: float = 1e-5,
) -> Result:
    total = _sum(imp, x, bias, skip)
    result = imp.emit(R.nn.rms_norm(total, imp.tensor(scale), [-1], epsilon))
    if imp.count == 1:
        return result
    squares = imp.emit(R.mean(imp.emit(R.square(total)), [-1], True))
    inverse = imp.emit(R.rsqrt(imp.emit(R.add(squares, const(epsilon, imp.dtype(total))))))
    return result, squares, inverse, total  # of the second, onnxruntime writes nothing


@row("EmbedLayerNormalization", domain=_DOMAIN)
def _embed(
    imp: OnnxImporter,
    words: Value,
    segments: Value | None,
    of_words: Value,
    of_positions: Value,
    of_segments: Value | None,
    scale: Value,
    shift: Value,
    mask: Value | None = None,
    positions: Value | None = None,
    epsilon: float = 1e-12,
    mask_index_type: int = 1,
) -> Result:
    def rows(table: Value, places: GraphExpr) -> GraphVar:
        return imp.emit(R.take(imp.tensor(table), places, 0))

    batch, length = imp.shape(words)
    total = rows(of_words, imp.tensor(words))
    places = (
        imp.emit(R.arange(0, length, 1, "int64")) if positions is None else imp.tensor(positions)
    )
    total = imp.emit(R.add(total, rows(of_positions, places)))
    if segments is not None and of_segments is not None:
        total = imp.emit(R.add(total, rows(of_segments, imp.tensor(segments))))
    result, *_ = _normalized(imp, total, scale, shift, epsilon)
    lengths: GraphExpr = filled(imp.builder, [batch], 0, "int32")
    if mask is not None:
        lengths = imp.emit(R.sum(imp.tensor(mask), [1]))
    return (result, lengths, total)[: imp.count]


@row("RotaryEmbedding", domain=_DOMAIN)
def _rotary(
    imp: OnnxImporter,
    x: Value,
    positions: Value,
    cosines: Value,
    sines: Value,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
    is_packed_batching: int = 0,
) -> GraphVar:
    data, shape = imp.tensor(x), imp.shape(x)
    half = imp.fixed_size(imp.shape(cosines)[-1], "rotate")
    if len(shape) == 3:
        width = imp.fixed_size(shape[-1], "rotate")
        heads = num_heads or width // (2 * half)
        data = imp.emit(R.reshape(data, [shape[0], shape[1], heads, width // heads]))
    else:
        data = imp.emit(R.permute_dims(data, [0, 2, 1, 3]))
    places, length = imp.tensor(positions), imp.shape(data)[1]
    if imp.rank(positions) == 1:  # the place of the first row
        places = imp.emit(R.add(places, imp.emit(R.arange(0, length, 1, "int64"))))
        places = imp.emit(R.reshape(places, [1, length]))
    result = rotated(imp, data, places, (imp.tensor(cosines), imp.tensor(sines)), interleaved)
    if len(shape) == 3:
        return imp.emit(R.reshape(result, shape))
    return imp.emit(R.permute_dims(result, [0, 2, 1, 3]))


def rotated(
    imp: OnnxImporter,
    data: GraphExpr,
    places: GraphExpr,
    tables: tuple[GraphExpr, GraphExpr],
    interleaved: int,
) -> GraphVar:
    """Rows (batch, length, heads, width of a head) whose pairs are rotated by angles of places.

    places : (batch, length), rows of the tables.
    tables : cosines and sines of a place, one of each pair.
    """
    batch, length, count, whole = imp.shape(data)
    width, half = (
        imp.fixed_size(whole, "rotate"),
        imp.fixed_size(imp.shape(tables[0])[-1], "rotate"),
    )
    turns = [imp.emit(R.expand_dims(imp.emit(R.take(table, places, 0)), [2])) for table in tables]
    parts = (half, 2) if interleaved else (2, half)
    first = imp.emit(R.strided_slice(data, [3], [0], [2 * half]))
    pairs = imp.emit(R.reshape(first, [batch, length, count, *parts]))
    turned = _turned(imp, pairs, turns, 4 if interleaved else 3)
    result = imp.emit(R.reshape(turned, [batch, length, count, 2 * half]))
    if 2 * half < width:
        rest = imp.emit(R.strided_slice(data, [3], [2 * half], [width]))
        result = imp.emit(R.concat([result, rest], 3))
    return result


def _turned(imp: OnnxImporter, pairs: GraphVar, turns: Sequence[GraphVar], axis: int) -> GraphVar:
    """Pairs along an axis, rotated by angles of which the cosines and the sines are given."""
    first, second = (
        imp.emit(R.squeeze(imp.emit(R.strided_slice(pairs, [axis], [at], [at + 1])), [axis]))
        for at in (0, 1)
    )
    cosine, sine = turns

    def product(a: GraphVar, b: GraphVar) -> GraphVar:
        return imp.emit(R.multiply(a, b))

    real = imp.emit(R.subtract(product(first, cosine), product(second, sine)))
    imaginary = imp.emit(R.add(product(first, sine), product(second, cosine)))
    fields = [imp.emit(R.expand_dims(part, [axis])) for part in (real, imaginary)]
    return imp.emit(R.concat(fields, axis))


# Attention


def _heads(imp: OnnxImporter, x: GraphExpr, count: int) -> GraphVar:
    """Rows (batch, length, width) as (batch, heads, length, width of a head)."""
    batch, length, width = imp.shape(x)
    depth = imp.fixed_size(width, "split") // count
    return imp.emit(
        R.permute_dims(imp.emit(R.reshape(x, [batch, length, count, depth])), [0, 2, 1, 3])
    )


def _mask(imp: OnnxImporter, mask: Value, length: Size, value: float) -> GraphVar:
    """What is added to scores, of keys that are left out: lengths, or marks of those that stay."""
    rank, tensor = imp.rank(mask), imp.tensor(mask)
    if rank == 1:
        places = imp.emit(R.arange(0, length, 1, "int32"))
        limits = imp.emit(R.expand_dims(imp.emit(R.astype(tensor, "int32")), [1]))
        stays = imp.emit(R.less(places, limits))
    else:
        stays = imp.emit(R.astype(tensor, "bool"))
    if rank < 4:
        stays = imp.emit(R.expand_dims(stays, [1] if rank == 3 else [1, 2]))
    return imp.emit(R.where(stays, const(0.0, "float32"), const(value, "float32")))


def attention(
    imp: OnnxImporter,
    heads: int,
    operands: Sequence[GraphExpr],
    mask: Value | None,
    bias: Value | None,
    scale: float,
    is_causal: int,
    filter_value: float,
) -> GraphVar:
    """softmax(q @ k.T * scale + mask) @ v for each head, of (batch, length, width)."""
    q, k, v = (_heads(imp, x, heads) for x in operands)
    depth = imp.fixed_size(imp.shape(q)[-1], "scale")
    rows, columns = imp.shape(q)[2], imp.shape(k)[2]
    transposed = imp.emit(R.permute_dims(k, [0, 1, 3, 2]))
    factor = const(scale or 1 / math.sqrt(depth), imp.dtype(q))
    scores = imp.emit(R.multiply(imp.emit(R.matmul(q, transposed)), factor))
    if mask is not None:
        scores = imp.emit(R.add(scores, _mask(imp, mask, columns, filter_value)))
    if bias is not None:
        scores = imp.emit(R.add(scores, imp.tensor(bias)))
    if is_causal:
        shape = [imp.fixed_size(size, "mask") for size in (rows, columns)]
        stays = np.tril(np.ones(shape, "bool"), shape[1] - shape[0])
        below = const(np.finfo("float32").min, "float32")
        scores = imp.emit(R.where(const(stays, "bool"), scores, below))
    weights = imp.emit(R.nn.softmax(scores, -1))
    result = imp.emit(R.permute_dims(imp.emit(R.matmul(weights, v)), [0, 2, 1, 3]))
    sizes = imp.shape(result)
    return imp.emit(R.reshape(result, [*sizes[:2], product_of(sizes[2:])]))


def refuse_past(*values: Value | None) -> None:
    """GraphError for attention with keys and values of calls before it."""
    if any(value is not None for value in values):
        raise GraphError(
            "attention is given keys and values of earlier calls",
            "the past of a model is not supported",
            "export the model without a cache",
        )


def split_projections(imp: OnnxImporter, x: GraphExpr, sizes: Ints | None) -> list[GraphExpr]:
    """The queries, keys and values that stand side by side in the last dimension."""
    width = imp.fixed_size(imp.shape(x)[-1], "split")
    widths = list(sizes or [width // 3] * 3)
    ends = [sum(widths[: at + 1]) for at in range(3)]
    begins = [0, *ends]
    return [
        imp.emit(R.strided_slice(x, [2], [begin], [end]))
        for begin, end in zip(begins, ends, strict=False)
    ]


@row("Attention", domain=_DOMAIN)
def _attention(
    imp: OnnxImporter,
    x: Value,
    weights: Value,
    bias: Value | None = None,
    mask: Value | None = None,
    past: Value | None = None,
    attention_bias: Value | None = None,
    past_length: Value | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    qkv_hidden_sizes: Ints | None = None,
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
    do_rotary: int = 0,
    **_: object,
) -> GraphVar:
    refuse_past(past, past_length)
    _refuse_rotation(do_rotary)
    joined = imp.emit(R.matmul(imp.tensor(x), imp.tensor(weights)))
    parts = split_projections(imp, _sum(imp, joined, bias), qkv_hidden_sizes)
    options = (scale, unidirectional, mask_filter_value)
    return attention(imp, num_heads, parts, mask, attention_bias, *options)


def _refuse_rotation(do_rotary: int) -> None:
    if do_rotary:
        raise GraphError("attention rotates its operands", "do_rotary is 1", "use RotaryEmbedding")


@row("MultiHeadAttention", domain=_DOMAIN)
def _multi_head_attention(
    imp: OnnxImporter,
    q: Value,
    k: Value | None = None,
    v: Value | None = None,
    bias: Value | None = None,
    mask: Value | None = None,
    attention_bias: Value | None = None,
    *past: Value | None,
    num_heads: int,
    unidirectional: int = 0,
    scale: float = 0.0,
    mask_filter_value: float = -10000.0,
) -> GraphVar:
    refuse_past(*past)
    if k is None or v is None or {imp.rank(value) for value in (q, k, v)} != {3}:
        raise GraphError(
            "attention is given operands that are packed",
            f"its first operand has the shape {imp.shape(q)}",
            "give queries, keys and values of three dimensions",
        )
    parts = [imp.tensor(value) for value in (q, k, v)]
    if bias is not None:
        widths = [imp.fixed_size(imp.shape(part)[-1], "split") for part in parts]
        begins = [0, widths[0], widths[0] + widths[1]]
        terms = [
            imp.emit(R.strided_slice(imp.tensor(bias), [0], [begin], [begin + width]))
            for begin, width in zip(begins, widths, strict=True)
        ]
        parts = [imp.emit(R.add(part, term)) for part, term in zip(parts, terms, strict=True)]
    options = (scale, unidirectional, mask_filter_value)
    return attention(imp, num_heads, parts, mask, attention_bias, *options)
