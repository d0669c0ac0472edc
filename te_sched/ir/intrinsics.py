"""Mathematical functions and calls of intrinsics. Must not know what a pass does with them."""

from __future__ import annotations

from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Call, Expr

_FLOAT_MAX = {
    16: 65504.0,
    32: 340282346638528859811704183484516925440.0,
    64: 1.7976931348623157e308,
}


def max_value(dtype: str) -> Expr:
    """The largest finite value of a data type."""
    kind = dtypes.parse(dtype)
    if kind.code == "float":
        return ops.const(_FLOAT_MAX[kind.bits], dtype)
    return ops.const((1 << (kind.bits - (kind.code == "int"))) - 1, dtype)


def min_value(dtype: str) -> Expr:
    """The smallest finite value of a data type."""
    kind = dtypes.parse(dtype)
    if kind.code == "float":
        return ops.const(-_FLOAT_MAX[kind.bits], dtype)
    return ops.const(-(1 << (kind.bits - 1)) if kind.code == "int" else 0, dtype)


def if_then_else(cond: Any, t: Any, f: Any) -> Expr:
    """t where cond holds, else f; only the one needed is evaluated."""
    a, b = ops.match_types(ops.convert(t), ops.convert(f))
    return Call(a.dtype, "tir.if_then_else", (ops.convert(cond), a, b))
