"""What a tensor has at run time: its dtype, shape, strides and offset, as numbers."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.errors import GraphError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import IntImm
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo, StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Numbers, Value
from te_sched.relax.operators.inference import argument_error, number, shape_of, tensor_of
from te_sched.relax.operators.registry import Infer, declare, make_call, named


def _field(name: str, infer: Infer, summary: str) -> Callable[[Value], GraphCall]:
    """The function that makes calls of an operator that reads a field of a tensor."""
    full = f"relax.inspect.{name}"
    declare(full, infer, packed=full)

    def call_operator(tensor: Value) -> GraphCall:
        return make_call(full, [tensor])

    return named(call_operator, name, summary)


def _known(value: int | None, dtype: str) -> PrimStructInfo:
    return PrimStructInfo(dtype) if value is None else PrimStructInfo(value=ops.const(value, dtype))


def _infer_code(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    dtype = tensor_of(call, 0).dtype
    return _known(dtypes.type_code(dtype) if dtype else None, "uint8")


def _infer_bits(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    dtype = tensor_of(call, 0).dtype
    return _known(dtypes.bits(dtype) if dtype else None, "uint8")


def _infer_lanes(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    dtype = tensor_of(call, 0).dtype
    return _known(dtypes.lanes(dtype) if dtype else None, "uint16")


def _infer_ndim(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    ndim = tensor_of(call, 0).ndim
    return _known(ndim if ndim != -1 else None, "int32")


def _infer_offset(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    tensor_of(call, 0)
    return PrimStructInfo("uint64")


tensor_dtype_code = _field("tensor_dtype_code", _infer_code, "The kind of the dtype, as in DLPack")


tensor_dtype_bits = _field("tensor_dtype_bits", _infer_bits, "The bits of an element")


tensor_dtype_lanes = _field("tensor_dtype_lanes", _infer_lanes, "The lanes of an element")


tensor_ndim = _field("tensor_ndim", _infer_ndim, "The number of dimensions")


tensor_byte_offset = _field(
    "tensor_byte_offset", _infer_offset, "The offset of the first element in memory, in bytes"
)


tensor_elem_offset = _field(
    "tensor_elem_offset", _infer_offset, "The offset of the first element in memory, in elements"
)


def tensor_shape_i(tensor: Value, axis: Numbers) -> GraphCall:
    """The size along an axis."""
    return make_call("relax.inspect.tensor_shape_i", [tensor, number(axis)])


def _infer_shape_i(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    info, axis = _checked_axis(call)
    sizes = shape_of(info)
    if sizes is None or axis is None:
        return PrimStructInfo("int64")
    return PrimStructInfo(value=sizes[axis])


declare("relax.inspect.tensor_shape_i", _infer_shape_i, packed="relax.inspect.tensor_shape_i")


def tensor_stride_i(tensor: Value, axis: Numbers) -> GraphCall:
    """The stride along an axis, in elements."""
    return make_call("relax.inspect.tensor_stride_i", [tensor, number(axis)])


def _infer_stride_i(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    _checked_axis(call)
    return PrimStructInfo("int64")


declare("relax.inspect.tensor_stride_i", _infer_stride_i, packed="relax.inspect.tensor_stride_i")


def _checked_axis(call: GraphCall) -> tuple[TensorStructInfo, int | None]:
    """The tensor, and the axis if it is a constant."""
    info, axis = tensor_of(call, 0), call.args[1].struct_info
    if not isinstance(axis, PrimStructInfo) or axis.dtype != "int64":
        raise argument_error(call, 1, "an axis of int64")
    if not isinstance(axis.value, IntImm):
        return info, None
    index = axis.value.value
    if index < 0 or (info.ndim != -1 and index >= info.ndim):
        raise GraphError(
            f"axis {index} of {call.op} is out of range",
            f"{call.args[0]} is {info}",
            "give an axis from 0 to the number of dimensions, exclusive",
        )
    return info, index
