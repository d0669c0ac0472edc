"""Rules of operators of two values."""

from __future__ import annotations

from typing import Any

from te_sched import topi
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.transform.legalize_ops.common import (
    LegalizeFunc,
    TEFunc,
    library_rule,
    scalar_or_expr,
)


def _binary(te_func: TEFunc) -> LegalizeFunc:
    """The rule of an operator of two values; a constant without dimensions becomes a number."""

    def legalize(builder: BlockBuilder, call: GraphCall) -> Any:
        first, second = call.args
        if isinstance(call.struct_info, PrimStructInfo):
            return call  # numbers are not arrays
        number = scalar_or_expr(second)
        if number is second:  # one of them stays a tensor
            return builder.call_te(te_func, scalar_or_expr(first), second)
        return builder.call_te(te_func, first, number)

    return legalize


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
    "power",
    "right_shift",
    "subtract",
):
    library_rule(f"relax.{_name}", _binary(getattr(topi, _name)))
