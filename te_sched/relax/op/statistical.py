"""Reductions of tensors over axes, and sums and products along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import ShapeExpr, StructInfo, TensorStructInfo
from te_sched.relax.op.arguments import Numbers, Value
from te_sched.relax.op.common import as_int, like, shape_of, tensor_of
from te_sched.relax.op.sizes import as_axes, axes_of, axis_of, product
from te_sched.relax.operators import make_call, register_operator


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
        one if place in places else size
        for place, size in enumerate(sizes)
        if keepdims or place not in places
    ]
    return TensorStructInfo(ShapeExpr(tuple(left)), dtype, info.vdevice)


def _infer_reduction(call: GraphCall) -> StructInfo:
    dtype = tensor_of(call, 0).dtype
    return reduced(call, call.attrs.axis, call.attrs.keepdims, dtype)


def _reduction(name: str, words: str) -> Callable[..., GraphCall]:
    """The function that makes calls of a reduction."""
    full = f"relax.{name}"
    register_operator(full)(_infer_reduction)

    def build(x: Value, axis: Numbers | None = None, keepdims: bool = False) -> GraphCall:
        return make_call(full, [x], axis=as_axes(axis), keepdims=bool(keepdims))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = (
        f"{words} of the elements along axes: an int, several, or None for all of them.\n\n"
        "    The axes stay with size 1 if `keepdims`."
    )
    return build


max = _reduction("max", "The largest")
mean = _reduction("mean", "The mean")
min = _reduction("min", "The smallest")
prod = _reduction("prod", "The product")
std = _reduction("std", "The standard deviation (of the population)")
sum = _reduction("sum", "The sum")
variance = _reduction("variance", "The variance (of the population)")


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


@register_operator("relax.cumsum")
@register_operator("relax.cumprod")
def _infer_scan(call: GraphCall, builder: Any) -> StructInfo:
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
