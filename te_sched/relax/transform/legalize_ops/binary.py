"""Rules of operators of two values."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir import dtypes, ops
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    TEFunc,
    library_rule,
    scalar_or_expr,
)


def binary(te_func: TEFunc, name: str | None = None) -> LegalizeFunc:
    """The rule of an operator of two values; a constant without dimensions becomes a number."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        first, second = call.args
        if isinstance(call.struct_info, PrimStructInfo):
            return call  # numbers are not arrays
        number = scalar_or_expr(second)
        hint = {} if name is None else {"primfunc_name_hint": name}
        if number is second:  # one of them stays a tensor
            return builder.call_te(te_func, scalar_or_expr(first), second, **hint)
        return builder.call_te(te_func, first, number, **hint)

    return legalize


def _power(base: Any, exponent: Any) -> Any:
    """Powers; of integers, rounded from those of floats, but for small constant exponents."""
    dtype = getattr(base, "dtype", None) or exponent.dtype
    if not dtypes.is_integral(dtype):
        return topi.power(base, exponent)
    times = getattr(exponent, "value", None)
    if isinstance(times, int) and 0 < times <= _MULTIPLIED:
        found = base
        for _ in range(times - 1):
            found = topi.multiply(found, base)
        return topi.identity(found) if times == 1 else found
    as_floats = [
        topi.cast(one, "float64") if hasattr(one, "shape") else ops.cast("float64", one)
        for one in (base, exponent)
    ]
    return topi.cast(topi.round(topi.power(*as_floats)), dtype)


_MULTIPLIED = 8

for _name in (
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "divide",
    "equal",
    "floor_divide",
    "floor_mod",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "not_equal",
    "right_shift",
    "subtract",
):
    library_rule(f"relax.{_name}", binary(getattr(topi, _name)))
library_rule("relax.power", binary(_power, "power"))
