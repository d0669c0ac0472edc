"""Attention as tensor expressions."""

from __future__ import annotations

from typing import Any

from te_sched import te, topi
from te_sched.ir import ops


def attention(
    query: Any, key: Any, value: Any, bias: Any, scale: Any, causal_mask: str | None
) -> Any:
    """softmax(query @ key.T * scale + bias) @ value, for each batch and head.

    query, key, value : of the shapes (batch, sequence, heads, size of a head).
    bias : of a shape that broadcasts to (batch, heads, sequence of queries, of keys), or None.
    scale : by default 1 / sqrt(size of a head).
    causal_mask : "TopLeft" or "BottomRight" leaves later keys out.
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
        scores = topi.add(scores, _with_dimensions(bias))
        scores = topi.reshape(scores, [batch * heads, queries, keys])
    if causal_mask is None:
        shares = topi.nn.softmax(scores)
    else:
        last = 0 if causal_mask == "TopLeft" else keys - queries
        shares = _masked_softmax(scores, last)
    values = _by_head(value, keys, size_of_value)
    found = topi.nn.batch_matmul(shares, values, transpose_b=False)
    found = topi.reshape(found, [batch, heads, queries, size_of_value])
    return topi.transpose(found, [0, 2, 1, 3])


def _by_head(tensor: Any, count: Any, size: Any) -> Any:
    """(batch, sequence, heads, size) as (batch * heads, sequence, size)."""
    batch, heads = tensor.shape[0], tensor.shape[2]
    return topi.reshape(topi.transpose(tensor, [0, 2, 1, 3]), [batch * heads, count, size])


def _with_dimensions(bias: Any) -> Any:
    """A bias of 2 to 4 dimensions as one of 4: batch, heads, queries, keys."""
    sizes = list(bias.shape)
    if len(sizes) == 4:
        return bias
    if len(sizes) == 3:  # one for each batch
        return topi.reshape(bias, [sizes[0], 1, *sizes[1:]])
    return topi.reshape(bias, [sizes[0], 1, 1, sizes[1]])


def _masked_softmax(scores: Any, last: Any) -> Any:
    """The softmax along the last axis, of the elements up to the diagonal `last`."""
    kept = topi.trilu(scores, last, upper=False)
    greatest = topi.max(kept, axis=-1, keepdims=True)
    raised = topi.trilu(topi.exp(topi.subtract(kept, greatest)), last, upper=False)
    return topi.divide(raised, topi.sum(raised, axis=-1, keepdims=True))
