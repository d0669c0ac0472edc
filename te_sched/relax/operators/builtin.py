"""Operators of memory before it is planned: `alloc_tensor`, and marks for passes."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Shape, Value
from te_sched.relax.operators.inference import allocated, as_dtype, as_number, as_string
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import as_shape


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


def _infer_alloc_tensor(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return allocated(call, call.args[0], call.args[1])


def _refuse(call: GraphCall) -> GraphCall:
    raise GraphError(
        f"{call.op} is left in the graph",
        "it is lowered to a storage and a tensor in it before",
        "run relax.transform.LowerAllocTensor first",
    )


declare("relax.builtin.alloc_tensor", _infer_alloc_tensor, lower=_refuse)


def stop_lift_params(x: Value) -> GraphCall:
    """The tensor itself, which is not computed before the parameters are known."""
    return make_call("relax.builtin.stop_lift_params", [x])


def _infer_same(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info: StructInfo = call.args[0].struct_info
    return info


declare("relax.builtin.stop_lift_params", _infer_same)
