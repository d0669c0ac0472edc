"""Rules of quantization."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import Expr
from te_sched.ir.graph import GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    TEFunc,
    library_rule,
    scalar_or_expr,
)

_LIMITS = {"e4m3_float8": (-448.0, 448.0), "e5m2_float8": (-57344.0, 57344.0)}


def _limits(dtype: str) -> tuple[Any, Any]:
    return _LIMITS[dtype] if dtype in _LIMITS else ops.int_limits(dtype)


def _at(value: Any, i: Any, axis: int) -> Any:
    """A number, the element of a tensor without dimensions, or that of an index along an axis."""
    if isinstance(value, Expr):
        return value
    return value(i[axis]) if value.ndim == 1 else value()


def _quantize(data: Any, scale: Any, zero_point: Any, axis: int, dtype: str) -> Any:
    low, high = _limits(dtype)

    def element(*i: Any) -> Any:
        kind = data.dtype
        scaled = ops.div(data(*i), _at(scale, i, axis))
        if dtypes.is_integral(dtype):
            scaled = intrinsics.round(scaled)
        moved = ops.add(scaled, ops.cast(kind, _at(zero_point, i, axis)))
        clipped = ops.minimum(moved, ops.const(high, kind))
        return ops.cast(dtype, ops.maximum(clipped, ops.const(low, kind)))

    return topi.utils.compute(data.shape, lambda *i: element(*i), name="quantized")


def _dequantize(data: Any, scale: Any, zero_point: Any, axis: int, dtype: str) -> Any:
    kind = "int32" if dtypes.is_integral(data.dtype) else "float32"

    def element(*i: Any) -> Any:
        value = ops.cast(kind, data(*i))
        moved = ops.subtract(value, ops.cast(kind, _at(zero_point, i, axis)))
        factor = ops.cast("float32", _at(scale, i, axis))
        found = ops.multiply(ops.cast("float32", moved), factor)
        if dtype == "float16":
            limit = ops.const(65504.0, "float32")
            found = ops.maximum(ops.minimum(found, limit), ops.const(-65504.0, "float32"))
        return ops.cast(dtype, found)

    return topi.utils.compute(data.shape, lambda *i: element(*i), name="dequantized")


def _rule(te_func: TEFunc, name: str) -> LegalizeFunc:
    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        data, *parameters = call.args
        ndim = data.struct_info.ndim
        axis = call.attrs.axis % ndim if ndim else 0
        return builder.call_te(
            te_func,
            data,
            *[scalar_or_expr(one) for one in parameters],
            axis,
            call.attrs.out_dtype,
            primfunc_name_hint=name,
        )

    return legalize


library_rule("relax.quantize", _rule(_quantize, "quantize"))
library_rule("relax.dequantize", _rule(_dequantize, "dequantize"))
