"""Rules of operators that make tensors, and of conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from te_sched import topi
from te_sched.ir import ops
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import Constant, GraphCall
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.constant import const
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    library_rule,
    scalar_or_expr,
)


def _full(name: str, value: float | None = None) -> LegalizeFunc:
    """The rule of a tensor of one value, which is an argument for None."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        info: Any = call.struct_info
        fill = scalar_or_expr(call.args[1], True) if value is None else value
        return builder.call_te(topi.full, info.shape, info.dtype, fill, primfunc_name_hint=name)

    return legalize


for _name in ("full", "full_like"):
    library_rule(f"relax.{_name}", _full("full"))
for _name, _value in (("ones", 1.0), ("zeros", 0.0)):
    library_rule(f"relax.{_name}", _full(_name, _value))
    library_rule(f"relax.{_name}_like", _full(_name, _value))


@library_rule("relax.arange")
def _arange(builder: BlockBuilder, call: GraphCall) -> Any:
    values = [one.struct_info.value for one in call.args]
    dtype = call.attrs.dtype
    if all(isinstance(one, IntImm | FloatImm) for one in values):
        return const(np.arange(*[one.value for one in values], dtype=dtype), dtype)
    info: Any = call.struct_info
    return builder.call_te(
        _sequence, info.shape, values[0], values[2], dtype, primfunc_name_hint="arange"
    )


def _sequence(shape: Any, start: Any, step: Any, dtype: str) -> Any:
    def element(i: Any) -> Any:
        moved = ops.multiply(i, step)
        # a constant is the second operand, as the simplifier has it
        is_constant = isinstance(start, IntImm | FloatImm)
        return ops.cast(dtype, ops.add(moved, start) if is_constant else ops.add(start, moved))

    return topi.utils.tensor_of(shape, element, "T_arange")


@library_rule("relax.eye")
@library_rule("relax.eye_like")
def _eye(builder: BlockBuilder, call: GraphCall) -> Any:
    info: Any = call.struct_info
    diagonal = call.args[-1]
    return builder.call_te(
        topi.eye,
        *info.shape.values,
        diagonal,
        info.dtype,
        primfunc_name_hint=str(call.op).removeprefix("relax."),
    )


def _triangle(is_upper: bool, name: str) -> LegalizeFunc:
    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        return builder.call_te(topi.trilu, *call.args, is_upper, primfunc_name_hint=name)

    return legalize


library_rule("relax.tril", _triangle(False, "tril"))
library_rule("relax.triu", _triangle(True, "triu"))


@library_rule("relax.astype")
def _astype(builder: BlockBuilder, call: GraphCall) -> Any:
    value = call.args[0]
    if isinstance(value, Constant) and len(value.data.shape) == 0:
        return const(value.data, call.attrs.dtype)
    return builder.call_te(topi.cast, value, call.attrs.dtype)
