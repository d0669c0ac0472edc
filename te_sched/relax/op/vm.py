"""Operators of the virtual machine: what the passes of the build pipeline end with."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall, Tuple
from te_sched.ir.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo
from te_sched.relax.op.arguments import Arguments, Shape, Value
from te_sched.relax.op.common import allocated, as_dtype, as_number, as_shape, as_string
from te_sched.relax.operators import make_call, register_operator
from te_sched.signatures import is_sequence


def alloc_storage(
    shape: Shape, runtime_device_index: Any, dtype: Any, storage_scope: Any = "global"
) -> GraphCall:
    """Memory for tensors: its bytes as a shape, or those of a tensor of a shape and dtype."""
    return make_call(
        "relax.vm.alloc_storage",
        [
            as_shape(shape),
            as_number(runtime_device_index),
            as_dtype(dtype),
            as_string(storage_scope),
        ],
    )


def alloc_tensor(storage: Value, offset: Any, shape: Shape, dtype: Any) -> GraphCall:
    """A tensor in a storage, which begins at a byte of it."""
    return make_call(
        "relax.vm.alloc_tensor", [storage, as_number(offset), as_shape(shape), as_dtype(dtype)]
    )


def call_tir_dyn(func: Any, args: Arguments) -> GraphCall:
    """A call of a function of loops; the last argument is a shape with its numbers."""
    given = Tuple(tuple(args)) if is_sequence(args) else args
    return make_call("relax.vm.call_tir_dyn", [func, given])


def kill_object(obj: Value) -> GraphCall:
    """The end of the life of a value."""
    return make_call("relax.vm.kill_object", [obj])


@register_operator("relax.vm.alloc_storage", is_pure=False)
def _infer_object(_: GraphCall) -> StructInfo:
    return ObjectStructInfo()


@register_operator("relax.vm.alloc_tensor", is_pure=False)
def _infer_tensor(call: GraphCall) -> StructInfo:
    return allocated(call, call.args[2], call.args[3])


@register_operator("relax.vm.call_tir_dyn", is_pure=False)
@register_operator("relax.vm.kill_object", is_pure=False)
def _infer_nothing(_: GraphCall) -> StructInfo:
    return TupleStructInfo(())
