"""Operators of planned memory: storages, tensors in them, views, and the end of their lives."""

from __future__ import annotations

import math
from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import DataTypeImm, ExternFunc, GraphCall, GraphVar, PrimValue, Tuple
from te_sched.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators import machine
from te_sched.relax.operators.arguments import Numbers, Shape, Value
from te_sched.relax.operators.calls import machine_call
from te_sched.relax.operators.inference import (
    allocated,
    argument_error,
    as_dtype,
    as_number,
    as_string,
    shape_of,
    tensor_of,
)
from te_sched.relax.operators.registry import declare, make_call
from te_sched.relax.operators.sizes import as_shape
from te_sched.runtime.registry import bring


def alloc_storage(
    size: Numbers, virtual_device_index: Any, storage_scope: Any, dtype: Any
) -> GraphCall:
    """Memory for tensors.

    Parameters
    ----------
    size : its bytes, as a shape.
    virtual_device_index : the device that it is on.
    storage_scope : the kind of memory there, as "global".
    dtype : a dtype of which the elements are aligned in it.
    """
    return make_call(
        "relax.memory.alloc_storage",
        [
            as_shape(size),
            as_number(virtual_device_index),
            as_string(storage_scope),
            as_dtype(dtype),
        ],
    )


def _infer_object(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return ObjectStructInfo()


def _lower_alloc_storage(call: GraphCall) -> GraphCall:
    size, device, scope, _ = call.args
    return machine.alloc_storage(size, device, "uint8", scope)  # the size is in bytes


def alloc_tensor(storage: Value, offset: Any, shape: Shape, dtype: Any) -> GraphCall:
    """A tensor in a storage, which begins at a byte of it."""
    return make_call(
        "relax.memory.alloc_tensor", [storage, as_number(offset), as_shape(shape), as_dtype(dtype)]
    )


def _infer_tensor(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return allocated(call, call.args[2], call.args[3])


def kill_storage(storage: Value) -> GraphCall:
    """The end of the life of a storage."""
    return make_call("relax.memory.kill_storage", [storage])


def kill_tensor(tensor: Value) -> GraphCall:
    """The end of the life of a tensor."""
    return make_call("relax.memory.kill_tensor", [tensor])


def _infer_nothing(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return TupleStructInfo(())


declare("relax.memory.alloc_storage", _infer_object, lower=_lower_alloc_storage)
declare(
    "relax.memory.alloc_tensor", _infer_tensor, lower=lambda call: machine.alloc_tensor(*call.args)
)
declare(
    "relax.memory.kill_storage",
    _infer_nothing,
    is_pure=False,
    lower=lambda call: machine.kill_object(call.args[0]),
)
declare(
    "relax.memory.kill_tensor",
    _infer_nothing,
    is_pure=False,
    lower=lambda call: machine.kill_object(call.args[0]),
)


def view(
    data: Value, shape: Shape | None = None, dtype: Any = None, relative_byte_offset: Any = None
) -> GraphCall:
    """The memory of a tensor as one of another shape or dtype, or a part of it.

    Parameters
    ----------
    shape : the new shape; that of the tensor by default.
    dtype : the new dtype; that of the tensor by default.
    relative_byte_offset : the byte of the tensor at which the new one begins.
    """
    none = Tuple(())
    arguments = [
        none if shape is None else as_shape(shape),
        none if dtype is None else as_dtype(dtype),
        none if relative_byte_offset is None else as_number(relative_byte_offset),
    ]
    return make_call("relax.memory.view", [data, *arguments])


def _is_given(value: Any) -> bool:
    info = value.struct_info
    return not (isinstance(info, TupleStructInfo) and not info.fields)


def _infer_view(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    data, (shape, dtype, offset) = tensor_of(call, 0), call.args[1:]
    if _is_given(shape) and not isinstance(shape.struct_info, ShapeStructInfo):
        raise argument_error(call, 1, "a shape")
    new_dtype = data.dtype
    if _is_given(dtype):
        bound = builder.lookup_binding(dtype) if isinstance(dtype, GraphVar) else dtype
        new_dtype = bound.value if isinstance(bound, DataTypeImm) else ""
    if not _is_given(shape):
        new_shape, ndim = data.shape, data.ndim
    else:
        sizes = shape.struct_info.values
        ndim = shape.struct_info.ndim
        new_shape = shape if sizes is None else ShapeExpr(sizes)
    view_info = TensorStructInfo(new_shape, new_dtype, data.vdevice, ndim)
    _check_view(
        call, data, view_info, offset.value if isinstance(offset, PrimValue) else None, builder
    )
    return view_info


def _check_view(
    call: GraphCall,
    data: TensorStructInfo,
    view_info: TensorStructInfo,
    offset: Any,
    builder: BlockBuilder,
) -> None:
    """Refuse a view that reaches outside of the tensor, as far as that is known."""
    begin = offset.value if isinstance(offset, IntImm) else (0 if offset is None else None)
    if begin is not None and begin < 0:
        raise GraphError(
            f"the offset of {call.op} is {begin}",
            "it is a byte of the tensor",
            "give an offset of 0 or more",
        )
    is_moved = begin is not None and begin > 0
    if is_moved and not _is_given(call.args[1]) and not _is_given(call.args[2]):
        raise GraphError(
            f"{call.op} moves {data} by {begin} bytes",
            "a view of the same shape and dtype would reach outside of the tensor",
            "give a shape or dtype of fewer bytes",
        )
    is_same_dtype = not _is_given(call.args[2]) and not _is_given(call.args[3])
    have, want = (_bytes_of(info, builder, is_same_dtype) for info in (data, view_info))
    offset_given = _is_given(call.args[3])
    if have is None or want is None or (offset_given and offset is None):
        return
    end = want + (offset if offset is not None else 0)
    if builder.analyzer.can_prove(ops.greater(end, have)):
        raise GraphError(
            f"{call.op} makes {view_info} of {data}",
            f"it needs {end} bytes, and the tensor has {have}",
            "give a shape, dtype and offset inside of the tensor",
        )


def _bytes_of(info: TensorStructInfo, builder: BlockBuilder, is_same_dtype: bool) -> Any:
    """The bytes of a tensor, or its elements where the dtype does not matter; None if unknown."""
    sizes = shape_of(info)
    if sizes is None or not (info.dtype or is_same_dtype):
        return None
    width = dtypes.storage_bytes(info.dtype) if info.dtype else 1
    return builder.analyzer.simplify(math.prod(sizes, start=ops.const(width, "int64")))


DERIVES_VIEW = "tvm.relax.struct_info.infer_view_sinfo"


bring({DERIVES_VIEW: _infer_view})


def _lower_view(call: GraphCall) -> GraphCall:
    info = FuncStructInfo.opaque_func(derive_func=DERIVES_VIEW, purity=True)
    data, *parts = call.args
    shape, dtype = data.struct_info.shape, data.struct_info.dtype
    defaults = (shape, DataTypeImm(dtype) if dtype else None, as_number(0))
    args = [
        part if default is None or _is_given(part) else default
        for part, default in zip(parts, defaults, strict=True)
    ]
    return GraphCall(ExternFunc("runtime.TVMArrayCreateView", info), (data, *args))


declare("relax.memory.view", _infer_view, lower=_lower_view, is_alias=True)


def ensure_zero_offset(data: Value) -> GraphCall:
    """The tensor, copied if it begins inside of its memory."""
    return make_call("relax.memory.ensure_zero_offset", [data])


def _infer_same(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return tensor_of(call, 0)


declare(
    "relax.memory.ensure_zero_offset",
    _infer_same,
    lower=machine_call("vm.builtin.ensure_zero_offset"),
    is_alias=True,
)
