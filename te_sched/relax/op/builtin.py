"""Operators of memory before it is planned: `alloc_tensor`, and marks for passes."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.op.arguments import Shape, Value
from te_sched.relax.op.common import allocated, as_dtype, as_number, as_shape, as_string
from te_sched.relax.operators import make_call, register_operator


def alloc_tensor(
    shape: Shape, dtype: Any, runtime_device_index: Any, storage_scope: Any = "global"
) -> GraphCall:
    """A new tensor."""
    return make_call(
        "relax.builtin.alloc_tensor",
        [
            as_shape(shape),
            as_dtype(dtype),
            as_number(runtime_device_index),
            as_string(storage_scope),
        ],
    )


def stop_lift_params(x: Value) -> GraphCall:
    """The tensor itself, which is not computed before the parameters are known."""
    return make_call("relax.builtin.stop_lift_params", [x])


@register_operator("relax.builtin.alloc_tensor")
def _infer_alloc_tensor(call: GraphCall) -> StructInfo:
    return allocated(call, call.args[0], call.args[1])


@register_operator("relax.builtin.stop_lift_params")
def _infer_same(call: GraphCall) -> StructInfo:
    info: StructInfo = call.args[0].struct_info
    return info
