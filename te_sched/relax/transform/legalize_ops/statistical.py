"""Rules of reductions, scans, sorting, searching and sampling."""

from __future__ import annotations

from typing import Any

from te_sched import te, topi
from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    TEFunc,
    call_te_of,
    library_rule,
)


def reduction(te_func: TEFunc, name: str) -> LegalizeFunc:
    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        axis, keepdims = call.attrs.axis, call.attrs.keepdims
        axes = list(axis) if isinstance(axis, tuple) else axis
        return builder.call_te(te_func, call.args[0], axes, keepdims, primfunc_name_hint=name)

    return legalize


def _or_all(te_func: TEFunc) -> TEFunc:
    """A reduction that gives the data itself for an empty list of axes, or without dimensions."""

    def reduce(data: Any, axis: Any, keepdims: bool) -> Any:
        is_same = axis == [] or data.ndim == 0
        return topi.identity(data) if is_same else te_func(data, axis, keepdims)

    return reduce


def place_of(te_func: TEFunc) -> TEFunc:
    """A search for a place, which is 0 in a tensor without dimensions."""

    def find(data: Any, axis: Any, keepdims: bool) -> Any:
        return te_func(data, axis, keepdims) if data.ndim else topi.full((), "int64", 0)

    return find


def _count(data: Any, axis: Any) -> Any:
    """The number of elements of which a reduction over axes makes one."""
    axes = range(data.ndim) if axis is None else axis
    return topi.utils.prod([data.shape[one] for one in axes])


def _mean(data: Any, axis: Any, keepdims: bool) -> Any:
    return topi.divide(
        _or_all(topi.sum)(data, axis, keepdims), _as_number(_count(data, axis), data.dtype)
    )


def _as_number(count: Any, dtype: str) -> Any:
    return ops.cast(dtype, ops.convert(count))


def _variance(data: Any, axis: Any, keepdims: bool) -> Any:
    difference = topi.subtract(data, _mean(data, axis, True))
    return _mean(topi.multiply(difference, difference), axis, keepdims)


def _std(data: Any, axis: Any, keepdims: bool) -> Any:
    return topi.sqrt(_variance(data, axis, keepdims))


for _name, _func in {
    "max": _or_all(topi.max),
    "min": _or_all(topi.min),
    "prod": _or_all(topi.prod),
    "sum": _or_all(topi.sum),
    "mean": _mean,
    "std": _std,
    "variance": _variance,
    "argmax": place_of(topi.argmax),
    "argmin": place_of(topi.argmin),
}.items():
    library_rule(f"relax.{_name}", reduction(_func, _name))
library_rule("relax.where", call_te_of(topi.where))


def _scan(te_func: TEFunc, name: str) -> LegalizeFunc:
    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        attrs = call.attrs
        return builder.call_te(
            te_func,
            call.args[0],
            attrs.axis,
            attrs.dtype or None,
            attrs.exclusive,
            primfunc_name_hint=name,
        )

    return legalize


library_rule("relax.cumsum", _scan(topi.cumsum, "cumsum"))
library_rule("relax.cumprod", _scan(topi.cumprod, "cumprod"))


@library_rule("relax.sort")
def _sort(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(topi.sort, call.args[0], call.attrs.axis, not call.attrs.descending)


@library_rule("relax.argsort")
def _argsort(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    return builder.call_te(
        topi.argsort, call.args[0], None, attrs.axis, not attrs.descending, attrs.dtype
    )


@library_rule("relax.topk")
def _topk(builder: BlockBuilder, call: GraphCall) -> Any:
    attrs = call.attrs
    size = call.args[0].struct_info.shape.values[attrs.axis]
    k = min(attrs.k, size.value) if isinstance(size, IntImm) else attrs.k
    return builder.call_te(
        topi.topk,
        call.args[0],
        k,
        attrs.axis,
        attrs.ret_type,
        not attrs.largest,
        attrs.dtype,
    )


@library_rule("relax.multinomial_from_uniform")
def _multinomial(builder: BlockBuilder, call: GraphCall) -> Any:
    return builder.call_te(
        _first_above, *call.args, call.attrs.dtype, primfunc_name_hint="multinomial_from_uniform"
    )


def _first_above(prob: Any, uniform_sample: Any, sample_indices: Any, dtype: str) -> Any:
    """For each sample, how many sums of its row are not above it."""
    sums = topi.cumsum(prob, axis=1)
    count = prob.shape[1]
    k = te.reduce_axis((0, count), name="k")
    below = te.compute(
        sample_indices.shape,
        lambda i, j: te.sum(
            ops.cast(dtype, sums[sample_indices[i, j], k] <= uniform_sample[i, j]), axis=k
        ),
        name="T_below",
    )
    last = ops.cast(dtype, ops.convert(count) - 1)
    return te.compute(
        sample_indices.shape, lambda i, j: ops.minimum(below[i, j], last), name="T_multinomial"
    )
