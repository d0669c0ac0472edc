"""Operators of which the number of results depends on the elements."""

from __future__ import annotations

from typing import Any

from te_sched.ir import ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo, StructInfo, TensorStructInfo, TupleStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import argument_error, number, tensor_of
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import axis_of


def unique(
    x: Value,
    sorted: Value = True,
    return_index: Value = False,
    return_inverse: Value = False,
    return_counts: Value = False,
    axis: Numbers | None = None,
) -> GraphCall:
    """The distinct elements, or the distinct slices along an axis.

    Parameters
    ----------
    sorted : whether they are in ascending order; otherwise in that of the first one of each.
    return_index : also the index of the first one of each.
    return_inverse : also the place of each element of `x` among the distinct ones.
    return_counts : also how often each occurs.
    """
    flags = [_flag(flag) for flag in (sorted, return_index, return_inverse, return_counts)]
    return make_call("relax.unique", [x, *flags, *([] if axis is None else [number(axis)])])


def _infer_unique(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info = tensor_of(call, 0)
    flags = [_value_of(call, index) for index in range(1, len(call.args))]
    axis = flags[4] if len(flags) > 4 else None
    if axis is not None and info.ndim != -1:
        axis_of(call, axis, info.ndim)
    if info.ndim == 0:
        unit_shape = (ops.const(1, "int64"),)
        results = [TensorStructInfo(unit_shape, info.dtype, info.vdevice)]
        numbers = TensorStructInfo(unit_shape, "int64", info.vdevice)
    else:
        ndim = 1 if axis is None else info.ndim
        results = [TensorStructInfo(None, info.dtype, info.vdevice, ndim)]
        numbers = TensorStructInfo(None, "int64", info.vdevice, 1)
    results += [numbers for flag in flags[1:4] if flag]
    return results[0] if len(results) == 1 else TupleStructInfo(tuple(results))


declare("relax.unique", _infer_unique, packed="relax.run.unique")


def nonzero(x: Value) -> GraphCall:
    """The indices of the elements that are not 0: a row for each dimension, a column for each."""
    return make_call("relax.nonzero", [x])


def _infer_nonzero(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return TensorStructInfo(None, "int64", tensor_of(call, 0).vdevice, 2)


declare("relax.nonzero", _infer_nonzero, packed="relax.run.nonzero")


def _flag(value: Any) -> Any:
    return number(int(value) if isinstance(value, bool) else value)


def _value_of(call: GraphCall, index: int) -> int:
    info = call.args[index].struct_info
    if not isinstance(info, PrimStructInfo) or not isinstance(info.value, IntImm):
        raise argument_error(call, index, "a number that is a constant")
    return info.value.value
