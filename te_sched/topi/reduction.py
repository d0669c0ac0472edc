"""Reductions along axes of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched import te
from te_sched.errors import DeclarationError
from te_sched.ir import dtypes
from te_sched.ir.expr import IterVar
from te_sched.te.reducer import Reducer
from te_sched.te.tensor import Tensor, tensor_label
from te_sched.topi.tag import COMM_REDUCE, COMM_REDUCE_IDX
from te_sched.topi.utils import (
    Sizes,
    check_tensor,
    normalized_axis,
    ravel_index,
    tensor_of,
)

_any = te.comm_reducer(lambda x, y: te.any(x, y), lambda dtype: te.const(0, dtype), "any")
_all = te.comm_reducer(lambda x, y: te.all(x, y), lambda dtype: te.const(1, dtype), "all")


def reduced_axes(data: Tensor, axis: Sizes | None, what: str) -> list[int]:
    """The axes to reduce, sorted; all axes when none is given."""
    axis_list = list(axis) if isinstance(axis, list | tuple) else [] if axis is None else [axis]
    axes = [normalized_axis(number, data.ndim, what) for number in axis_list]
    if len(set(axes)) != len(axes):
        raise DeclarationError(f"topi.{what} axes {axes} repeat an axis", "", "name each axis once")
    return sorted(axes) if axes else list(range(data.ndim))


def reduce_elements(
    data: Tensor,
    axes: Sequence[int],
    keepdims: bool,
    function: Callable[[Sequence[Any], list[IterVar]], Any],
    name: str,
    tag: str = COMM_REDUCE,
) -> Any:
    """The reduction whose elements are `function(indices into data, reduction axes)`."""
    over = {at: te.reduce_axis((0, data.shape[at]), f"k{at}") for at in axes}
    kept = [at for at in range(data.ndim) if keepdims or at not in over]
    shape = [1 if at in over else data.shape[at] for at in kept]

    def value(*i: Any) -> Any:
        outer = dict(zip(kept, i, strict=True))
        indices = [over[at].var if at in over else outer[at] for at in range(data.ndim)]
        return function(indices, list(over.values()))

    return tensor_of(shape, value, name, tag)


def _reduction(
    data: Any, axis: Sizes | None, keepdims: bool, reducer: Reducer, what: str
) -> Tensor:
    source = check_tensor(data, what)
    axes = reduced_axes(source, axis, what)
    if not axes:
        raise DeclarationError(
            f"topi.{what} cannot reduce {source.name}: it has no dimensions",
            "",
            "reduce a tensor of at least one dimension",
        )
    reduced: Tensor = reduce_elements(
        source,
        axes,
        bool(keepdims),
        lambda indices, over: reducer(source(*indices), axis=over),
        f"{source.op.name}_red",
    )
    return reduced


def sum(data: Tensor, axis: Sizes | None = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, by default all; for dtype bool, whether any element is true.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.sum(A, axis=1).shape, topi.sum(A, axis=1, keepdims=True).shape, topi.sum(A).shape
    ([4], [4, 1], [])
    """
    reducer = _any if _is_condition(data) else te.sum
    return _reduction(data, axis, keepdims, reducer, "sum")


def prod(data: Tensor, axis: Sizes | None = None, keepdims: bool = False) -> Tensor:
    """The product along axes, by default all; for dtype bool, whether all elements are true.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.prod(A, axis=0).shape
    [8]
    """
    reducer = _all if _is_condition(data) else te.prod
    return _reduction(data, axis, keepdims, reducer, "prod")


def max(data: Tensor, axis: Sizes | None = None, keepdims: bool = False) -> Tensor:
    """The maximum along axes, by default all.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.max(A, axis=(0, 1)).shape
    []
    """
    return _reduction(data, axis, keepdims, te.max, "max")


def min(data: Tensor, axis: Sizes | None = None, keepdims: bool = False) -> Tensor:
    """The minimum along axes, by default all.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.min(A, axis=-1).shape
    [4]
    """
    return _reduction(data, axis, keepdims, te.min, "min")


def all(data: Tensor, axis: Sizes | None = None, keepdims: bool = False) -> Tensor:
    """Whether all elements (dtype bool) along axes are true.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.all(topi.greater(A, 0), axis=1).dtype
    'bool'
    """
    return _reduction(_conditions(data, "all"), axis, keepdims, _all, "all")


def any(data: Tensor, axis: Sizes | None = None, keepdims: bool = False) -> Tensor:
    """Whether any element (dtype bool) along axes is true.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.any(topi.greater(A, 0), axis=1).dtype
    'bool'
    """
    return _reduction(_conditions(data, "any"), axis, keepdims, _any, "any")


def _is_condition(data: Any) -> bool:
    return isinstance(data, Tensor) and dtypes.is_bool(data.dtype)


def _conditions(data: Any, what: str) -> Tensor:
    source = check_tensor(data, what)
    if not dtypes.is_bool(source.dtype):
        raise DeclarationError(
            f"topi.{what} needs a tensor of bool, {source.name} has dtype {source.dtype}",
            "",
            'pass a comparison, or topi.cast(data, "bool")',
            tensor_label(source),
        )
    return source


def argmax(
    data: Tensor, axis: Sizes | None = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """The index (int32) of the maximum along axes; the first of equal ones, or the last.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.argmax(A, axis=1)
    Tensor(shape=[4], op.name=A_red)
    """
    return _arg_reduction(data, axis, keepdims, select_last_index, "argmax")


def argmin(
    data: Tensor, axis: Sizes | None = None, keepdims: bool = False, select_last_index: bool = False
) -> Tensor:
    """The index (int32) of the minimum along axes; the first of equal ones, or the last.

    >>> A = te.placeholder((4, 8), name="A")
    >>> topi.argmin(A, axis=1).dtype
    'int32'
    """
    return _arg_reduction(data, axis, keepdims, select_last_index, "argmin")


def _arg_reduction(
    data: Any, axis: Sizes | None, keepdims: bool, is_last: bool, what: str
) -> Tensor:
    source = check_tensor(data, what)
    axes = reduced_axes(source, axis, what)
    extents = [source.shape[at] for at in axes]
    reducer = _arg_max(is_last) if what == "argmax" else _arg_min(is_last)
    results = reduce_elements(
        source,
        axes,
        bool(keepdims),
        lambda indices, over: reducer(
            (ravel_index([reduce_axis.var for reduce_axis in over], extents), source(*indices)),
            axis=over,
        ),
        f"{source.op.name}_red_temp",
        COMM_REDUCE_IDX,
    )
    return tensor_of(results[0].shape, results[0], f"{source.op.name}_red", COMM_REDUCE_IDX)


def _better(lhs: Any, rhs: Any, wins: Any, is_last: bool) -> tuple[Any, Any]:
    """lhs where `wins`, or where the values are equal and its index is preferred; else rhs."""
    first = lhs[0] > rhs[0] if is_last else lhs[0] < rhs[0]
    stays = te.any(wins, te.all(lhs[1] == rhs[1], first))
    return te.select(stays, lhs[0], rhs[0]), te.select(wins, lhs[1], rhs[1])


def _arg_max(is_last: bool) -> Reducer:
    def combine(argmax_lhs: Any, argmax_rhs: Any) -> tuple[Any, Any]:
        return _better(argmax_lhs, argmax_rhs, argmax_lhs[1] > argmax_rhs[1], is_last)

    return te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.min_value(v)), "argmax")


def _arg_min(is_last: bool) -> Reducer:
    def combine(argmin_lhs: Any, argmin_rhs: Any) -> tuple[Any, Any]:
        return _better(argmin_lhs, argmin_rhs, argmin_lhs[1] < argmin_rhs[1], is_last)

    return te.comm_reducer(combine, lambda i, v: (te.const(-1, i), te.max_value(v)), "argmin")


def tuple_sum(*values: Any, axis: Sequence[IterVar]) -> tuple[Any, ...]:
    """Several sums over the same axes, computed together."""

    def combine(tuple_sum_lhs: Any, tuple_sum_rhs: Any) -> tuple[Any, ...]:
        return tuple([a + b for a, b in zip(tuple_sum_lhs, tuple_sum_rhs, strict=True)])

    zeros = te.comm_reducer(
        combine, lambda *kinds: tuple([te.const(0, kind) for kind in kinds]), "tuple_sum"
    )
    result: tuple[Any, ...] = zeros(values, axis=axis)
    return result
