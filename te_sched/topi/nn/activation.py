"""Activation functions. Must not know layers."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.ir import ops
from te_sched.te.tensor import Tensor
from te_sched.topi.elementwise import map_elements
from te_sched.topi.tag import BROADCAST
from te_sched.topi.utils import (
    check_rank,
    check_same,
    check_tensor,
    normalized_axis,
    tensor_of,
)


def relu(x: Tensor) -> Tensor:
    """max(x, 0).

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.nn.relu(A).op.body[0]
    T.max(A[i0, i1], T.float32(0))
    """
    return map_elements(x, lambda v: ops.maximum(v, te.const(0, v.dtype)), "nn.relu")


def leaky_relu(x: Tensor, alpha: float) -> Tensor:
    """x where x > 0, else x * alpha.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.nn.leaky_relu(A, 0.5).op.body[0]
    T.Select(A[i0, i1] > T.float32(0), A[i0, i1], A[i0, i1] * T.float32(0.5))
    """

    def value(v: Any) -> Any:
        return te.select(v > te.const(0, v.dtype), v, v * te.const(alpha, v.dtype))

    return map_elements(x, value, "nn.leaky_relu")


def prelu(x: Tensor, slope: Tensor, axis: int = 1) -> Tensor:
    """x where x > 0, else x * slope, with one slope for each index along `axis`.

    >>> A, V = te.placeholder((4, 8), name="A"), te.placeholder((8,), name="V")
    >>> topi.nn.prelu(A, V).op.body[0]
    T.Select(A[i0, i1] > T.float32(0), A[i0, i1], A[i0, i1] * V[i1])
    """
    data, slopes = check_tensor(x, "nn.prelu"), check_rank(slope, 1, "nn.prelu")
    at = normalized_axis(axis, data.ndim, "nn.prelu")
    check_same(slopes.shape[0], data.shape[at], "nn.prelu", "extent of slope")

    def value(*i: Any) -> Any:
        v = data(*i)
        return te.select(v > te.const(0, v.dtype), v, v * slopes(i[at]))

    return tensor_of(data.shape, value, "compute", BROADCAST, "i")
