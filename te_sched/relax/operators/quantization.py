"""Quantization: real numbers as small integers with a scale and a zero point, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched import te
from te_sched.errors import GraphError
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import StructInfo, TensorStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import (
    argument_error,
    as_int,
    common_vdevice,
    shape_of,
    tensors_of,
)
from te_sched.relax.operators.legalization import TEFunc, scalar_or_expr, topi
from te_sched.relax.operators.registry import Rewrite, declare, make_call
from te_sched.relax.operators.sizes import axis_of, check_equal

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


def _infer_quantize(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return _infer(call, builder, _REAL, _SMALL)


def _infer_dequantize(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return _infer(call, builder, (*_SMALL, "int32", *_REAL), _REAL)


def _infer(
    call: GraphCall, builder: BlockBuilder, inputs: tuple[str, ...], outputs: tuple[str, ...]
) -> StructInfo:
    infos = tensors_of(call, 3)
    for index, allowed in enumerate([inputs, _REAL, ("int8", "float16")]):
        if infos[index].dtype and infos[index].dtype not in allowed:
            raise argument_error(call, index, f"a tensor of {' or '.join(allowed)}")
    if call.attrs.out_dtype not in outputs:
        raise GraphError(
            f"out_dtype of {call.op} is {call.attrs.out_dtype}", "", f"use {', '.join(outputs)}"
        )
    data = infos[0]
    if data.ndim != -1 and (data.ndim or any(info.ndim != 0 for info in infos[1:])):
        axis = axis_of(call, call.attrs.axis, data.ndim)
        sizes = shape_of(data)
        for index, info in enumerate(infos[1:], start=1):
            shape = shape_of(info)
            if shape is not None and len(shape) > 1:
                raise argument_error(call, index, "a tensor of one dimension at most")
            if shape and sizes is not None:
                check_equal(call, builder, shape[0], sizes[axis], f"the sizes along axis {axis}")
    vdevice = common_vdevice(call, infos)
    return TensorStructInfo(data.shape, call.attrs.out_dtype, vdevice, data.ndim)


_Parameter = te.Tensor | Expr


def _limits(dtype: str) -> tuple[Any, Any]:
    largest = dtypes.LARGEST.get(dtype)
    return ops.int_limits(dtype) if largest is None else (-largest, largest)


def _at(value: _Parameter, i: Sequence[Expr], axis: int) -> Expr:
    """A number, the element of a tensor without dimensions, or that of an index along an axis."""
    if isinstance(value, Expr):
        return value
    return value(i[axis]) if value.ndim == 1 else value()


def _quantize(
    data: te.Tensor, scale: _Parameter, zero_point: _Parameter, axis: int, dtype: str
) -> te.Tensor:
    low, high = _limits(dtype)
    kind = data.dtype
    # The limits are numbers of the type in which they are compared.
    clipped_as = "float32" if kind == "float16" and high > dtypes.LARGEST["float16"] else kind

    def element(*i: Expr) -> Expr:
        scaled = ops.div(data(*i), _at(scale, i, axis))
        if dtypes.is_integral(dtype):
            scaled = intrinsics.round(scaled)
        moved = ops.add(scaled, ops.cast(kind, _at(zero_point, i, axis)))
        clipped = ops.minimum(ops.cast(clipped_as, moved), ops.const(high, clipped_as))
        return ops.cast(dtype, ops.maximum(clipped, ops.const(low, clipped_as)))

    return topi.utils.compute(data.shape, lambda *i: element(*i), name="quantized")


def _dequantize(
    data: te.Tensor, scale: _Parameter, zero_point: _Parameter, axis: int, dtype: str
) -> te.Tensor:
    kind = "int32" if dtypes.is_integral(data.dtype) else "float32"

    def element(*i: Expr) -> Expr:
        value = ops.cast(kind, data(*i))
        moved = ops.subtract(value, ops.cast(kind, _at(zero_point, i, axis)))
        factor = ops.cast("float32", _at(scale, i, axis))
        result = ops.multiply(ops.cast("float32", moved), factor)
        if dtype == "float16":
            limit, least = [
                ops.const(sign * dtypes.LARGEST["float16"], "float32") for sign in (1, -1)
            ]
            result = ops.maximum(ops.minimum(result, limit), least)
        return ops.cast(dtype, result)

    return topi.utils.compute(data.shape, lambda *i: element(*i), name="dequantized")


def _rule(te_func: TEFunc, name: str) -> Rewrite:
    def legalize(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
        data, *parameters = call.args
        ndim = data.struct_info.ndim
        axis = call.attrs.axis % ndim if ndim else 0
        return builder.call_te(
            te_func,
            data,
            *[scalar_or_expr(parameter) for parameter in parameters],
            axis,
            call.attrs.out_dtype,
            primfunc_name_hint=name,
        )

    return legalize


declare("relax.quantize", _infer_quantize, legalize=_rule(_quantize, "quantize"))
declare("relax.dequantize", _infer_dequantize, legalize=_rule(_dequantize, "dequantize"))
