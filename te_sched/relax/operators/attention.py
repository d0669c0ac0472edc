"""Attention."""

from __future__ import annotations

import math
from typing import Any

from te_sched import te
from te_sched.errors import GraphError, warn
from te_sched.ir import ops
from te_sched.ir.expr import Expr, FloatImm, IntImm
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.operators.activations import softmax
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.binary import add, multiply
from te_sched.relax.operators.creation import astype
from te_sched.relax.operators.inference import (
    argument_error,
    as_float,
    common_dtype,
    common_vdevice,
    shape_of,
    tensors_of,
)
from te_sched.relax.operators.legalization import topi
from te_sched.relax.operators.linear_algebra import matmul
from te_sched.relax.operators.registry import ALWAYS, Rewrite, declare, make_call
from te_sched.relax.operators.reshaping import permute_dims
from te_sched.relax.operators.sizes import check_equal


def attention(
    query: Value,
    key: Value,
    value: Value,
    bias: Value | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> GraphCall:
    """softmax(query @ key.T * scale + bias) @ value, for each batch and head.

    Parameters
    ----------
    query, key, value : of the shapes (batch, sequence, heads, size of a head).
    bias : of a shape that broadcasts to (batch, heads, sequence of queries, of keys).
    scale : by default 1 / sqrt(size of a head).
    causal_mask : "TopLeft" or "BottomRight" hides later keys.
    window_size : the number of keys before a query that it looks at.
    """
    args = [query, key, value] if bias is None else [query, key, value, bias]
    name = "relax.nn.attention" if bias is None else "relax.nn.attention_bias"
    return make_call(name, args, **_attrs(scale, causal_mask, window_size))


def attention_var_len(
    queries: Value,
    keys: Value,
    values: Value,
    seqstart_q: Value,
    max_seqlen_q: Value,
    seqstart_k: Value | None = None,
    max_seqlen_k: Value | None = None,
    scale: Any = None,
    causal_mask: str | None = None,
    window_size: int | None = None,
) -> GraphCall:
    """Attention of sequences of several lengths, one after another.

    Parameters
    ----------
    seqstart_q, seqstart_k : where each sequence begins; those of the keys are by default equal.
    max_seqlen_q, max_seqlen_k : the greatest length.
    """
    starts = seqstart_q if seqstart_k is None else seqstart_k
    length = max_seqlen_q if max_seqlen_k is None else max_seqlen_k
    args = [queries, keys, values, seqstart_q, max_seqlen_q, starts, length]
    return make_call("relax.nn.attention_var_len", args, **_attrs(scale, causal_mask, window_size))


def _attrs(scale: Any, causal_mask: str | None, window_size: int | None) -> dict[str, Any]:
    if causal_mask not in (None, "TopLeft", "BottomRight"):
        raise GraphError(
            f"attention does not support causal_mask={causal_mask!r}",
            "",
            'use "TopLeft", "BottomRight" or None',
        )
    if scale is not None and not isinstance(scale, Expr):
        scale = ops.const(as_float(scale, "scale"), "float32")
    return {"scale": scale, "causal_mask": causal_mask, "window_size": window_size}


def _infer_attention(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = tensors_of(call, 3)
    for index, info in enumerate(infos):
        if info.ndim != 4 or shape_of(info) is None:
            raise argument_error(call, index, "a tensor of 4 dimensions, of which sizes are known")
    dtype, vdevice = common_dtype(call, infos), common_vdevice(call, infos)
    q, k, v = (shape_of(struct_info) or () for struct_info in infos)
    for what, size, other in (
        ("the batches of query and key", q[0], k[0]),
        ("the batches of query and value", q[0], v[0]),
        ("the sequences of key and value", k[1], v[1]),
        ("the head sizes of query and key", q[3], k[3]),
        ("the heads of query and key", q[2], k[2]),
        ("the heads of query and value", q[2], v[2]),
    ):
        check_equal(call, builder, size, other, what)
    if str(call.op) == "relax.nn.attention_bias":
        _check_bias(call, builder, (q[0], q[2], q[1], k[1]))
    return TensorStructInfo((*q[:3], v[3]), dtype, vdevice)


def _check_bias(call: GraphCall, builder: BlockBuilder, scores: tuple[Any, ...]) -> None:
    bias = tensors_of(call, 4)[3]
    sizes = shape_of(bias)
    if bias.ndim not in (2, 3, 4) or sizes is None:
        raise argument_error(call, 3, "a tensor of 2 to 4 dimensions, of which sizes are known")
    for at, (bias_size, size) in enumerate(zip(reversed(sizes), reversed(scores), strict=False)):
        if not ops.is_const(bias_size, 1) or at == 0:
            check_equal(call, builder, bias_size, size, "the sizes of bias and scores")


def _of_one_query(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    """Attention of one query of each batch as products, which read keys and values in their order
    in memory; the call itself if there are several queries.
    """
    query, key, value, *bias = call.args
    info, attrs = tensors_of(call, 1)[0], call.attrs
    shape = shape_of(info) or ()
    hides_keys = attrs.causal_mask == "TopLeft" or attrs.window_size is not None
    factor = _factor(shape[3], attrs.scale)
    if hides_keys or factor is None or not ops.is_const(shape[1], 1):
        return call

    def cast(tensor: GraphExpr, dtype: str) -> GraphExpr:
        return tensor if wide == info.dtype else builder.emit(astype(tensor, dtype))

    wide = "float32" if info.dtype in ("float16", "bfloat16") else info.dtype
    by_head, keys = [
        builder.emit(permute_dims(tensor, axes))
        for tensor, axes in ((query, [0, 2, 1, 3]), (key, [0, 2, 3, 1]))
    ]
    scores = builder.emit(multiply(builder.emit(matmul(by_head, keys, wide)), const(factor, wide)))
    for term in bias:
        scores = builder.emit(add(scores, cast(term, wide)))
    shares = cast(builder.emit(softmax(scores)), info.dtype)
    values = builder.emit(permute_dims(value, [0, 2, 1, 3]))
    return permute_dims(builder.emit(matmul(shares, values)), [0, 2, 1, 3])


def _factor(size: Expr, scale: Expr | None) -> float | None:
    """What scores are multiplied by; None if a call computes it."""
    if scale is None:
        return 1 / math.sqrt(size.value) if isinstance(size, IntImm) else None
    return float(scale.value) if isinstance(scale, FloatImm | IntImm) else None


def _rule(name: str, is_exact: bool = False) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs
        if attrs.window_size is not None:
            warn(f"{call.op} with window_size has no rule")
            return call

        def te_attention(
            query: te.Tensor, key: te.Tensor, value: te.Tensor, bias: te.Tensor | None = None
        ) -> te.Tensor:
            options = (attrs.scale, attrs.causal_mask, is_exact)
            return _te_attention(query, key, value, bias, *options)

        return builder.call_te(te_attention, *call.args, primfunc_name_hint=name)

    return legalize


def _te_attention(
    query: te.Tensor,
    key: te.Tensor,
    value: te.Tensor,
    bias: te.Tensor | None,
    scale: Expr | None,
    causal_mask: str | None,
    is_exact: bool,
) -> te.Tensor:
    """softmax(query @ key.T * scale + bias) @ value, for each batch and head.

    query, key, value : of the shapes (batch, sequence, heads, size of a head).
    bias : of a shape that broadcasts to (batch, heads, sequence of queries, of keys), or None.
    scale : by default 1 / sqrt(size of a head).
    causal_mask : "TopLeft" or "BottomRight" leaves later keys out.
    is_exact : whether a mask leaves scores far below 0 as they are, which TVM's text has as NaN.
    """
    batch, queries, heads, size = query.shape
    keys, size_of_value = key.shape[1], value.shape[3]
    scores = topi.nn.batch_matmul(_by_head(query, queries, size), _by_head(key, keys, size))
    if scale is None:
        scores = topi.divide(scores, te.sqrt(ops.cast(scores.dtype, size)))
    else:
        scores = topi.multiply(scores, ops.cast(scores.dtype, scale))
    if bias is not None:
        scores = topi.reshape(scores, [batch, heads, queries, keys])
        scores = topi.add(scores, bias)
        scores = topi.reshape(scores, [batch * heads, queries, keys])
    if causal_mask is None:
        shares = topi.nn.softmax(scores)
    else:
        last = 0 if causal_mask == "TopLeft" else keys - queries
        shares = (_softmax_of_kept if is_exact else _masked_softmax)(scores, last)
    values = _by_head(value, keys, size_of_value)
    product = topi.nn.batch_matmul(shares, values, transpose_b=False)
    product = topi.reshape(product, [batch, heads, queries, size_of_value])
    result: te.Tensor = topi.transpose(product, [0, 2, 1, 3])
    return result


def _by_head(tensor: te.Tensor, count: Expr, size: Expr) -> te.Tensor:
    """(batch, sequence, heads, size) as (batch * heads, sequence, size)."""
    batch, heads = tensor.shape[0], tensor.shape[2]
    return topi.reshape(topi.transpose(tensor, [0, 2, 1, 3]), [batch * heads, count, size])


def _masked_softmax(scores: te.Tensor, last: Expr | int) -> te.Tensor:
    """The softmax along the last axis, of the elements up to the diagonal `last`."""
    kept = topi.trilu(scores, last, upper=False)
    greatest = topi.max(kept, axis=-1, keepdims=True)
    raised = topi.trilu(topi.exp(topi.subtract(kept, greatest)), last, upper=False)
    result: te.Tensor = topi.divide(raised, topi.sum(raised, axis=-1, keepdims=True))
    return result


def _softmax_of_kept(scores: te.Tensor, last: Expr | int) -> te.Tensor:
    """`_masked_softmax` by scores of minus infinity: its maximum is that of the kept ones alone."""
    hidden = te.const(-math.inf, scores.dtype)

    def element(*i: Expr) -> Expr:
        return te.select(ops.less_equal(i[-1] - i[-2], last), scores(*i), hidden)

    kept = te.compute(scores.shape, element, name="T_kept")
    result: te.Tensor = topi.nn.softmax(kept)
    return result


for _name in ("attention", "attention_bias"):
    declare(
        f"relax.nn.{_name}",
        _infer_attention,
        mixed_precision=ALWAYS,
        legalize=_rule(_name),
        exact=_rule(_name, is_exact=True),
        composition=_of_one_query,
    )
declare("relax.nn.attention_var_len", _infer_attention, mixed_precision=ALWAYS)
