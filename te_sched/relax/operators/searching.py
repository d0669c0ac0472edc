"""Selection by a condition, and the places of the largest and the smallest elements."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.creation import full_like
from te_sched.relax.operators.inference import (
    argument_error,
    as_int,
    broadcast,
    common_dtype,
    operand_of,
    shape_of,
    tensor_of,
)
from te_sched.relax.operators.legalization import TEFunc, te_rule, topi, topi_function
from te_sched.relax.operators.reductions import Axes, reduced, reduction_rule
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import check_at_least, product


def where(condition: Value, x1: Value, x2: Value) -> GraphCall:
    """The elements of x1 where a condition holds, those of x2 elsewhere, with broadcasting."""
    return make_call("relax.where", [condition, x1, x2])


def _infer_where(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    infos = [tensor_of(call, 0), operand_of(call, 1), operand_of(call, 2)]
    if not infos[0].dtype or not dtypes.is_bool(infos[0].dtype):
        raise argument_error(call, 0, "a tensor of bool")
    return broadcast(call, builder, infos, common_dtype(call, infos[1:]))


declare("relax.where", _infer_where, legalize=te_rule(topi_function("where"), "where"))


def masked_fill(x: Value, mask: Value, value: Value) -> GraphCall:
    """The tensor with a value where a mask holds: a call of `where`.

    >>> from te_sched import relax
    >>> masked_fill(relax.const([1.0, 2.0]), relax.const([True, False]), 0.0).op
    'relax.where'
    """
    if isinstance(value, bool | int | float):
        value = const(value, x.struct_info.dtype or None)
    return where(mask, full_like(x, value), x)


def argmax(x: Value, axis: int | None = None, keepdims: bool = False) -> GraphCall:
    """The index of the largest element along an axis, or of all elements in one row for None."""
    return _place("relax.argmax", x, axis, keepdims)


def argmin(x: Value, axis: int | None = None, keepdims: bool = False) -> GraphCall:
    """The index of the smallest element along an axis, or of all elements in one row for None."""
    return _place("relax.argmin", x, axis, keepdims)


def _place(name: str, x: Any, axis: int | None, keepdims: bool) -> GraphCall:
    along = None if axis is None else as_int(axis, "axis")
    return make_call(name, [x], axis=along, keepdims=bool(keepdims))


def _infer_place(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    axis = call.attrs.axis
    info = reduced(call, None if axis is None else [axis], call.attrs.keepdims, "int64")
    sizes = shape_of(tensor_of(call, 0))
    if sizes:  # no element has a place
        extent = product(sizes) if axis is None else sizes[axis]
        check_at_least(call, builder, extent, ops.const(1, "int64"), "the number of elements")
    return info


def _or_first(te_func: TEFunc) -> TEFunc:
    """A search for a place, which is 0 in a tensor without dimensions."""

    def find(data: te.Tensor, axis: Axes, keepdims: bool) -> te.Tensor:
        return te_func(data, axis, keepdims) if data.ndim else topi.full((), "int64", 0)

    return find


def _exact_place(name: str) -> TEFunc:
    """The first place of the extremum, which is NaN if an element is. To find the extremum first is
    as fast as to carry values and places along.
    """

    def find(data: te.Tensor, axis: Axes, keepdims: bool) -> te.Tensor:
        axes = topi.reduction.reduced_axes(data, axis, "argmax")
        extents = [data.shape[at] for at in axes]
        best = getattr(topi, name)(data, axes, True)

        def place(indices: Any, over: Any) -> Any:
            value = data(*indices)
            kept = [0 if at in axes else index for at, index in enumerate(indices)]
            is_best = value.equal(best(*kept))
            if dtypes.is_float(data.dtype):
                is_best = te.any(is_best, te.isnan(value))
            at = topi.utils.ravel_index([iter_var.var for iter_var in over], extents)
            return te.min(te.select(is_best, at, te.max_value(at.dtype)), axis=over)

        name_of_places = f"{data.op.name}_red"
        places: te.Tensor = topi.reduction.reduce_elements(
            data, axes, bool(keepdims), place, name_of_places
        )
        return places

    return _or_first(find)


# Those of `topi` begin with place -1, which stays where all integers are the least or the largest.
declare(
    "relax.argmax",
    _infer_place,
    legalize=reduction_rule(_or_first(topi_function("argmax")), "argmax"),
    exact=reduction_rule(_exact_place("max"), "argmax"),
)
declare(
    "relax.argmin",
    _infer_place,
    legalize=reduction_rule(_or_first(topi_function("argmin")), "argmin"),
    exact=reduction_rule(_exact_place("min"), "argmin"),
)
