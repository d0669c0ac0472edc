"""Operators of the virtual machine: what the passes of the build pipeline end with."""

from __future__ import annotations

from typing import Any

from te_sched.ir.graph import GraphCall, Tuple
from te_sched.ir.struct_info import ObjectStructInfo, StructInfo, TupleStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Arguments, Shape, Value
from te_sched.relax.operators.calls import call_packed
from te_sched.relax.operators.inference import allocated, as_dtype, as_number, as_string
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import as_shape
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


def _infer_object(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return ObjectStructInfo()


declare("relax.vm.alloc_storage", _infer_object, is_pure=False)


def alloc_tensor(storage: Value, offset: Any, shape: Shape, dtype: Any) -> GraphCall:
    """A tensor in a storage, which begins at a byte of it."""
    return make_call(
        "relax.vm.alloc_tensor", [storage, as_number(offset), as_shape(shape), as_dtype(dtype)]
    )


def _infer_tensor(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return allocated(call, call.args[2], call.args[3])


declare("relax.vm.alloc_tensor", _infer_tensor, is_pure=False)


def call_tir_dyn(func: Any, args: Arguments) -> GraphCall:
    """A call of a function of loops; the last argument is a shape with its numbers."""
    arguments = Tuple(tuple(args)) if is_sequence(args) else args
    return make_call("relax.vm.call_tir_dyn", [func, arguments])


def _lower_call_tir_dyn(call: GraphCall) -> GraphCall:
    function, args = call.args
    nothing = TupleStructInfo(())
    return call_packed("vm.builtin.call_tir_dyn", function, *args.fields, sinfo_args=nothing)


def kill_object(obj: Value) -> GraphCall:
    """The end of the life of a value."""
    return make_call("relax.vm.kill_object", [obj])


def _infer_nothing(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return TupleStructInfo(())


declare("relax.vm.call_tir_dyn", _infer_nothing, is_pure=False, lower=_lower_call_tir_dyn)
declare("relax.vm.kill_object", _infer_nothing, is_pure=False)
