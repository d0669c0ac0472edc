"""softmax and log_softmax; the maximum is subtracted first so that exp does not overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.te.tensor import Tensor
from te_sched.topi.utils import axis_names, check_tensor, normalized_axis, tensor_of


def _without(i: Sequence[Any], at: int) -> list[Any]:
    return [*i[:at], *i[at + 1 :]]


def _reduced(data: Tensor, at: int, reducer: Any, element: Any, name: str, tag: str) -> Tensor:
    k = te.reduce_axis((0, data.shape[at]), "k")
    shape = _without(data.shape, at)
    return tensor_of(
        shape, lambda *i: reducer(element(*i[:at], k, *i[at:]), axis=k), name, tag, "i"
    )


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.nn.softmax(A).op.body[0]
    T_softmax_exp[i0, i1] / T_softmax_expsum[i0]
    """
    data, tag = check_tensor(x, "nn.softmax"), "softmax_output"
    at = normalized_axis(axis, data.ndim, "nn.softmax")
    largest = _reduced(data, at, te.max, data, "T_softmax_maxelem", tag)
    power = tensor_of(
        data.shape,
        lambda *i: te.exp(data(*i) - largest(*_without(i, at))),
        "T_softmax_exp",
        tag,
        "i",
    )
    total = _reduced(data, at, te.sum, power, "T_softmax_expsum", tag)
    return te.compute(
        data.shape,
        lambda *i: power(*i) / total(*_without(i, at)),
        name="T_softmax_norm",
        tag=tag,
        attrs={"axis": at},
        varargs_names=axis_names(data.ndim, "i"),
    )


def fast_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """softmax; unlike TVM's function of this name, not an approximation.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.nn.fast_softmax(A).op.body[0]
    T_softmax_exp[i0, i1] / T_softmax_expsum[i0]
    """
    return softmax(x, axis)


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of softmax(x) along an axis.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.nn.log_softmax(A).shape
    [4, 8]
    """
    data, tag = check_tensor(x, "nn.log_softmax"), "log_softmax_output"
    at = normalized_axis(axis, data.ndim, "nn.log_softmax")
    largest = _reduced(data, at, te.max, data, "T_softmax_maxelem", tag)
    total = _reduced(
        data,
        at,
        te.sum,
        lambda *i: te.exp(data(*i) - largest(*_without(i, at))),
        "compute",
        tag,
    )
    return te.compute(
        data.shape,
        lambda *i: data(*i) - largest(*_without(i, at)) - te.log(total(*_without(i, at))),
        tag=tag,
        attrs={"axis": at},
        varargs_names=axis_names(data.ndim, "i"),
    )
