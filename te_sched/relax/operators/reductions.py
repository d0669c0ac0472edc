"""Reductions of tensors over axes, and sums and products along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from te_sched import te
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Expr, IntImm
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import as_int, like, shape_of, tensor_of
from te_sched.relax.operators.layouts import Layout, Order, Plan, axes_in_order, renumbered
from te_sched.relax.operators.legalization import TEFunc, topi, topi_function
from te_sched.relax.operators.registry import Rewrite, declare, make_call, named
from te_sched.relax.operators.sizes import as_axes, axes_of, axis_of, product

Axes = list[int] | None


def reduced(
    call: GraphCall, axes: Sequence[int] | None, keepdims: bool, dtype: str
) -> TensorStructInfo:
    """What remains of the first argument after a reduction over axes, or over all for None."""
    info = tensor_of(call, 0)
    one = ops.const(1, "int64")
    if axes is None:
        if not keepdims:
            return TensorStructInfo((), dtype, info.vdevice)
        if info.ndim == -1:
            return TensorStructInfo(None, dtype, info.vdevice)
        return TensorStructInfo((one,) * info.ndim, dtype, info.vdevice)
    if info.ndim == -1:
        return TensorStructInfo(None, dtype, info.vdevice)
    places = axes_of(call, axes, info.ndim)
    sizes = shape_of(info)
    if sizes is None:
        ndim = info.ndim if keepdims else info.ndim - len(places)
        if ndim == 0:
            return TensorStructInfo((), dtype, info.vdevice)
        return TensorStructInfo(None, dtype, info.vdevice, ndim)
    left = [
        one if axis in places else size
        for axis, size in enumerate(sizes)
        if keepdims or axis not in places
    ]
    return TensorStructInfo(ShapeExpr(tuple(left)), dtype, info.vdevice)


def _infer_reduction(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    dtype = tensor_of(call, 0).dtype
    return reduced(call, call.attrs.axis, call.attrs.keepdims, dtype)


def _layout_of_reduction(call: GraphCall, orders: list[Order]) -> Plan | None:
    order = orders[0]
    if call.attrs.axis is None:
        return Plan({0: order}, order if call.attrs.keepdims else None)
    axes = sorted(axes_in_order(call, "axis", order))
    if call.attrs.keepdims:
        return Plan({0: order}, order, {"axis": tuple(axes)})
    left = [axis for at, axis in enumerate(order) if at not in axes]
    return Plan({0: order}, renumbered(left), {"axis": tuple(axes)})


def reduction_rule(te_func: TEFunc, name: str) -> Rewrite:
    """The rule of a reduction: a function of a tensor, axes and whether they are kept."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        axis, keepdims = call.attrs.axis, call.attrs.keepdims
        axes = list(axis) if isinstance(axis, tuple) else axis
        return builder.call_te(te_func, call.args[0], axes, keepdims, primfunc_name_hint=name)

    return legalize


if TYPE_CHECKING:

    class _Reduction(Protocol):
        def __call__(
            self, x: Value, axis: Numbers | None = None, keepdims: bool = False
        ) -> GraphCall: ...


def _reduction(name: str, words: str, te_func: TEFunc) -> _Reduction:
    """The function that makes calls of a reduction, which it declares."""
    full = f"relax.{name}"
    declare(
        full,
        _infer_reduction,
        legalize=reduction_rule(te_func, name),
        layout=Layout(_layout_of_reduction, numbers_axes=True),
    )

    def call_operator(x: Value, axis: Numbers | None = None, keepdims: bool = False) -> GraphCall:
        return make_call(full, [x], axis=as_axes(axis), keepdims=bool(keepdims))

    return named(
        call_operator,
        name,
        f"{words} of the elements along axes: an int, several, or None for all of them.\n\n"
        "    The axes stay with size 1 if `keepdims`.",
    )


# Reductions as tensor expressions


def _or_all(name: str) -> TEFunc:
    """A reduction of topi that gives the data for an empty list of axes, or without dimensions."""

    def reduce(data: te.Tensor, axis: Axes, keepdims: bool) -> te.Tensor:
        is_same = axis == [] or data.ndim == 0
        return topi.identity(data) if is_same else getattr(topi, name)(data, axis, keepdims)

    return reduce


def _count(data: te.Tensor, axis: Axes) -> Expr | int:
    """The number of elements of which a reduction over axes makes one."""
    axes = range(data.ndim) if axis is None else axis
    result: Expr | int = topi.utils.prod([data.shape[axis] for axis in axes])
    return result


def _mean(data: te.Tensor, axis: Axes, keepdims: bool) -> te.Tensor:
    count, total = ops.convert(_count(data, axis)), _or_all("sum")(data, axis, keepdims)
    largest = dtypes.LARGEST.get(data.dtype, math.inf)
    if isinstance(count, IntImm) and count.value > largest:  # two divisors are in the range
        scale = 2.0 ** math.ceil(math.log2(count.value / largest))
        total = topi.divide(total, ops.const(scale, data.dtype))
        count = ops.convert(count.value / scale)
    result: te.Tensor = topi.divide(total, ops.cast(data.dtype, count))
    return result


def _variance(data: te.Tensor, axis: Axes, keepdims: bool) -> te.Tensor:
    difference = topi.subtract(data, _mean(data, axis, True))
    return _mean(topi.multiply(difference, difference), axis, keepdims)


def _std(data: te.Tensor, axis: Axes, keepdims: bool) -> te.Tensor:
    result: te.Tensor = topi.sqrt(_variance(data, axis, keepdims))
    return result


max = _reduction("max", "The largest", _or_all("max"))
mean = _reduction("mean", "The mean", _mean)
min = _reduction("min", "The smallest", _or_all("min"))
prod = _reduction("prod", "The product", _or_all("prod"))
std = _reduction("std", "The standard deviation (of the population)", _std)
sum = _reduction("sum", "The sum", _or_all("sum"))
variance = _reduction("variance", "The variance (of the population)", _variance)

# Scans


def cumsum(
    data: Value, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
) -> GraphCall:
    """The sums of the elements up to each one, along an axis, or of all in one row for None.

    `exclusive` leaves out the element itself; `dtype` is that of `data`, by default.
    """
    return _scan("relax.cumsum", data, axis, dtype, exclusive)


def cumprod(
    data: Value, axis: int | None = None, dtype: str | None = None, exclusive: bool = False
) -> GraphCall:
    """The products of the elements up to each one, with the parameters of `cumsum`."""
    return _scan("relax.cumprod", data, axis, dtype, exclusive)


def _scan(name: str, data: Any, axis: Any, dtype: Any, exclusive: bool) -> GraphCall:
    along = None if axis is None else as_int(axis, "axis")
    return make_call(name, [data], axis=along, dtype=dtypes.known(dtype), exclusive=bool(exclusive))


def _infer_scan(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    dtype = call.attrs.dtype or info.dtype
    if call.attrs.axis is not None:
        if info.ndim != -1:
            axis_of(call, call.attrs.axis, info.ndim)
        return like(info, dtype)
    sizes = shape_of(info)
    if sizes is None:
        return TensorStructInfo(None, dtype, info.vdevice, 1)
    count = builder.analyzer.simplify(product(sizes))
    return TensorStructInfo(ShapeExpr((count,)), dtype, info.vdevice)


def _scan_rule(name: str) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        attrs = call.attrs
        return builder.call_te(
            topi_function(name),
            call.args[0],
            attrs.axis,
            attrs.dtype or None,
            attrs.exclusive,
            primfunc_name_hint=name,
        )

    return legalize


declare("relax.cumsum", _infer_scan, legalize=_scan_rule("cumsum"))
declare("relax.cumprod", _infer_scan, legalize=_scan_rule("cumprod"))
