"""Arithmetic, comparisons, logic and bits of two values, element by element, with broadcasting.

A number (`R.Prim`) fits every shape; two numbers give a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo, StructInfo
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.common import FOLLOWS, broadcast, common_dtype, operand_of, with_sizes
from te_sched.relax.operators import make_call, register_operator


def _infer(call: GraphCall, builder: Any, dtype: str) -> StructInfo:
    infos = [with_sizes(operand_of(call, at)) for at in (0, 1)]
    if all(isinstance(one, PrimStructInfo) for one in infos):
        return PrimStructInfo(dtype)
    return broadcast(call, builder, infos, dtype)


def _infer_arithmetic(call: GraphCall, builder: Any) -> StructInfo:
    return _infer(call, builder, common_dtype(call, [operand_of(call, at) for at in (0, 1)]))


def _infer_comparison(call: GraphCall, builder: Any) -> StructInfo:
    return _infer(call, builder, "bool")


def _binary(name: str, infer: Any, words: str) -> Callable[[Any, Any], GraphCall]:
    """The function that makes calls of an operator of two values."""
    full = f"relax.{name}"
    register_operator(full, TMixedPrecisionPolicy=FOLLOWS)(infer)

    def build(x1: Value, x2: Value) -> GraphCall:
        return make_call(full, [x1, x2])

    build.__name__ = build.__qualname__ = name
    build.__doc__ = words
    return build


add = _binary("add", _infer_arithmetic, "x1 + x2")
divide = _binary("divide", _infer_arithmetic, "x1 / x2")
floor_divide = _binary("floor_divide", _infer_arithmetic, "x1 / x2, rounded down")
floor_mod = _binary("floor_mod", _infer_arithmetic, "The remainder of x1 / x2 rounded down")
maximum = _binary("maximum", _infer_arithmetic, "The larger one of x1 and x2")
minimum = _binary("minimum", _infer_arithmetic, "The smaller one of x1 and x2")
mod = _binary("mod", _infer_arithmetic, "The remainder of x1 / x2 rounded towards zero")
multiply = _binary("multiply", _infer_arithmetic, "x1 * x2")
power = _binary("power", _infer_arithmetic, "x1 ** x2")
subtract = _binary("subtract", _infer_arithmetic, "x1 - x2")

left_shift = _binary("left_shift", _infer_arithmetic, "x1 << x2")
right_shift = _binary("right_shift", _infer_arithmetic, "x1 >> x2")
bitwise_and = _binary("bitwise_and", _infer_arithmetic, "x1 & x2")
bitwise_or = _binary("bitwise_or", _infer_arithmetic, "x1 | x2")
bitwise_xor = _binary("bitwise_xor", _infer_arithmetic, "x1 ^ x2")
logical_and = _binary("logical_and", _infer_arithmetic, "x1 and x2")
logical_or = _binary("logical_or", _infer_arithmetic, "x1 or x2")
logical_xor = _binary("logical_xor", _infer_arithmetic, "Whether one of x1 and x2 holds, not both")

equal = _binary("equal", _infer_comparison, "x1 == x2")
greater = _binary("greater", _infer_comparison, "x1 > x2")
greater_equal = _binary("greater_equal", _infer_comparison, "x1 >= x2")
less = _binary("less", _infer_comparison, "x1 < x2")
less_equal = _binary("less_equal", _infer_comparison, "x1 <= x2")
not_equal = _binary("not_equal", _infer_comparison, "x1 != x2")
