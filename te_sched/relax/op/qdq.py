"""Quantization: real numbers as small integers with a scale and a zero point, and back."""

from __future__ import annotations

from typing import Any

from te_sched.errors import GraphError
from te_sched.ir import dtypes
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import StructInfo, TensorStructInfo
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.common import (
    argument_error,
    as_int,
    common_vdevice,
    shape_of,
    tensors_of,
)
from te_sched.relax.op.sizes import axis_of, check_equal
from te_sched.relax.operators import make_call, register_operator

_FLOAT8 = ("e4m3_float8", "e5m2_float8")
_SMALL = ("int8", "uint8", "int16", "uint16", *_FLOAT8)
_REAL = ("float16", "float32")


def quantize(
    data: Value, scale: Value, zero_point: Value, axis: int = -1, out_dtype: str = "int8"
) -> GraphCall:
    """round(data / scale) + zero_point, limited to the range of `out_dtype`.

    Parameters
    ----------
    scale, zero_point : a value for each index of the axis, or one without dimensions.
    out_dtype : int8, uint8, int16, uint16, e4m3_float8 or e5m2_float8.
    """
    return _call("relax.quantize", data, scale, zero_point, axis, out_dtype)


def dequantize(
    data: Value, scale: Value, zero_point: Value, axis: int = -1, out_dtype: str = "float32"
) -> GraphCall:
    """scale * (data - zero_point), as float16 or float32; see `quantize`."""
    return _call("relax.dequantize", data, scale, zero_point, axis, out_dtype)


def _call(name: str, data: Any, scale: Value, zero_point: Any, axis: Any, dtype: str) -> GraphCall:
    return make_call(
        name,
        [data, scale, zero_point],
        out_dtype=dtypes.spelled(dtype),
        axis=as_int(axis, "axis"),
    )


@register_operator("relax.quantize")
def _infer_quantize(call: GraphCall, builder: Any) -> StructInfo:
    return _infer(call, builder, _REAL, _SMALL)


@register_operator("relax.dequantize")
def _infer_dequantize(call: GraphCall, builder: Any) -> StructInfo:
    return _infer(call, builder, (*_SMALL, "int32", *_REAL), _REAL)


def _infer(
    call: GraphCall, builder: Any, inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> StructInfo:
    infos = tensors_of(call, 3)
    for place, allowed in enumerate([inputs, _REAL, ("int8", "float16")]):
        if infos[place].dtype and infos[place].dtype not in allowed:
            raise argument_error(call, place, f"a tensor of {' or '.join(allowed)}")
    if call.attrs.out_dtype not in outputs:
        raise GraphError(
            f"out_dtype of {call.op} is {call.attrs.out_dtype}", "", f"use {', '.join(outputs)}"
        )
    data = infos[0]
    if data.ndim != -1 and (data.ndim or any(one.ndim != 0 for one in infos[1:])):
        axis = axis_of(call, call.attrs.axis, data.ndim)
        sizes = shape_of(data)
        for info in infos[1:]:
            known = shape_of(info)
            if known is not None and len(known) > 1:
                raise argument_error(call, infos.index(info), "a tensor of one dimension at most")
            if known and sizes is not None:
                check_equal(call, builder, known[0], sizes[axis], f"the sizes along axis {axis}")
    vdevice = common_vdevice(call, infos)
    return TensorStructInfo(data.shape, call.attrs.out_dtype, vdevice, data.ndim)
