"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo, StructInfo
from te_sched.relax.op.arguments import Value
from te_sched.relax.op.common import (
    FOLLOWS,
    argument_error,
    check_floats,
    like,
    number,
    tensor_of,
)
from te_sched.relax.operators import make_call, register_operator


def _infer_same(call: GraphCall) -> StructInfo:
    return like(tensor_of(call, 0))


def _infer_float(call: GraphCall, builder: Any) -> StructInfo:
    check_floats(call, 0)
    return _infer_same(call)


def _infer_check(call: GraphCall) -> StructInfo:
    return like(tensor_of(call, 0), "bool")


def _unary(name: str, infer: Any, words: str) -> Callable[[Any], GraphCall]:
    """The function that makes calls of an operator of one tensor."""
    full = f"relax.{name}"
    register_operator(full, TMixedPrecisionPolicy=FOLLOWS)(infer)

    def build(x: Value) -> GraphCall:
        return make_call(full, [x])

    build.__name__ = build.__qualname__ = name
    build.__doc__ = words
    return build


abs = _unary("abs", _infer_same, "The absolute value")
acos = _unary("acos", _infer_float, "The inverse cosine")
acosh = _unary("acosh", _infer_float, "The inverse hyperbolic cosine")
asin = _unary("asin", _infer_float, "The inverse sine")
asinh = _unary("asinh", _infer_float, "The inverse hyperbolic sine")
atan = _unary("atan", _infer_float, "The inverse tangent")
atanh = _unary("atanh", _infer_float, "The inverse hyperbolic tangent")
bitwise_not = _unary("bitwise_not", _infer_same, "~x")
ceil = _unary("ceil", _infer_same, "The number rounded up")
cos = _unary("cos", _infer_float, "The cosine")
cosh = _unary("cosh", _infer_float, "The hyperbolic cosine")
erf = _unary("erf", _infer_float, "The error function")
exp = _unary("exp", _infer_float, "e ** x")
floor = _unary("floor", _infer_same, "The number rounded down")
isfinite = _unary("isfinite", _infer_check, "Whether it is neither infinite nor NaN")
isinf = _unary("isinf", _infer_check, "Whether it is infinite")
isnan = _unary("isnan", _infer_check, "Whether it is NaN")
log = _unary("log", _infer_float, "The natural logarithm")
logical_not = _unary("logical_not", _infer_same, "not x")
negative = _unary("negative", _infer_same, "-x")
round = _unary("round", _infer_same, "The nearest integer, the even one of two")
rsqrt = _unary("rsqrt", _infer_float, "1 / sqrt(x)")
sigmoid = _unary("sigmoid", _infer_float, "1 / (1 + exp(-x))")
sign = _unary("sign", _infer_same, "1, 0 or -1 for a positive number, 0, or a negative one")
sin = _unary("sin", _infer_float, "The sine")
sinh = _unary("sinh", _infer_float, "The hyperbolic sine")
sqrt = _unary("sqrt", _infer_float, "The square root")
square = _unary("square", _infer_same, "x * x")
tan = _unary("tan", _infer_float, "The tangent")
tanh = _unary("tanh", _infer_float, "The hyperbolic tangent")


def clip(x: Value, min: Value, max: Value) -> GraphCall:
    """The nearest number of those from `min` to `max`.

    >>> from te_sched import relax
    >>> clip(relax.const([1.0]), 0, 6).args[1:]
    (R.prim_value(0), R.prim_value(6))
    """
    return make_call("relax.clip", [x, number(min), number(max)])


@register_operator("relax.clip")
def _infer_clip(call: GraphCall) -> StructInfo:
    for place in (1, 2):
        if not isinstance(call.args[place].struct_info, PrimStructInfo):
            raise argument_error(call, place, "a number")
    return like(tensor_of(call, 0))
