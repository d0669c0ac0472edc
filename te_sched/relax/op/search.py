"""Selection by a condition, and the places of the largest and the smallest elements."""

from __future__ import annotations

from typing import Any

from te_sched.ir import dtypes
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.common import (
    argument_error,
    as_int,
    broadcast,
    common_dtype,
    operand_of,
    tensor_of,
)
from te_sched.relax.op.statistical import reduced
from te_sched.relax.operators import make_call, register_operator


def where(condition: Value, x1: Value, x2: Value) -> GraphCall:
    """The elements of x1 where a condition holds, those of x2 elsewhere, with broadcasting."""
    return make_call("relax.where", [condition, x1, x2])


@register_operator("relax.where")
def _infer_where(call: GraphCall, builder: Any) -> StructInfo:
    infos = [tensor_of(call, 0), operand_of(call, 1), operand_of(call, 2)]
    if not infos[0].dtype or not dtypes.is_bool(infos[0].dtype):
        raise argument_error(call, 0, "a tensor of bool")
    return broadcast(call, builder, infos, common_dtype(call, infos[1:]))


def argmax(x: Value, axis: int | None = None, keepdims: bool = False) -> GraphCall:
    """The index of the largest element along an axis, or of all elements in one row for None."""
    return _place("relax.argmax", x, axis, keepdims)


def argmin(x: Value, axis: int | None = None, keepdims: bool = False) -> GraphCall:
    """The index of the smallest element along an axis, or of all elements in one row for None."""
    return _place("relax.argmin", x, axis, keepdims)


def _place(name: str, x: Any, axis: int | None, keepdims: bool) -> GraphCall:
    along = None if axis is None else as_int(axis, "axis")
    return make_call(name, [x], axis=along, keepdims=bool(keepdims))


@register_operator("relax.argmax")
@register_operator("relax.argmin")
def _infer_place(call: GraphCall) -> StructInfo:
    axis = call.attrs.axis
    return reduced(call, None if axis is None else [axis], call.attrs.keepdims, "int64")
