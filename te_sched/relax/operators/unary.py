"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable

from te_sched import te
from te_sched.ir.expr import FloatImm, IntImm
from te_sched.ir.graph import GraphCall, GraphExpr
from te_sched.ir.struct_info import PrimStructInfo, StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import argument_error, check_floats, like, number, tensor_of
from te_sched.relax.operators.layouts import OF_ELEMENTS
from te_sched.relax.operators.legalization import TEFunc, te_rule, topi, topi_function
from te_sched.relax.operators.registry import (
    FOLLOWS,
    Infer,
    Rewrite,
    declare,
    make_call,
    named,
)


def _infer_same(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return like(tensor_of(call, 0))


def _infer_float(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    check_floats(call, 0)
    return like(tensor_of(call, 0))


def _infer_check(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return like(tensor_of(call, 0), "bool")


def _unary(
    name: str,
    summary: str,
    infer: Infer,
    te_func: TEFunc | None = None,
    approximate: str | None = None,
    kernel: str | None = None,
) -> Callable[[Value], GraphCall]:
    """The function that makes calls of an operator of one tensor, which it declares.

    `te_func` is topi's function of that name, by default; `approximate` the name of a faster one.
    """
    full = f"relax.{name}"
    declare(
        full,
        infer,
        mixed_precision=FOLLOWS,
        legalize=te_rule(te_func or topi_function(name), kernel or f"tir_{name}"),
        approximate=None if approximate is None else _approximate(approximate),
        layout=OF_ELEMENTS,
    )

    def call_operator(x: Value) -> GraphCall:
        return make_call(full, [x])

    return named(call_operator, name, summary)


def _approximate(name: str) -> Rewrite:
    return te_rule(topi_function(name), name)


def _square(x: te.Tensor) -> te.Tensor:
    product: te.Tensor = topi.multiply(x, x)
    return product


abs = _unary("abs", "The absolute value", _infer_same)
acos = _unary("acos", "The inverse cosine", _infer_float)
acosh = _unary("acosh", "The inverse hyperbolic cosine", _infer_float)
asin = _unary("asin", "The inverse sine", _infer_float)
asinh = _unary("asinh", "The inverse hyperbolic sine", _infer_float)
atan = _unary("atan", "The inverse tangent", _infer_float)
atanh = _unary("atanh", "The inverse hyperbolic tangent", _infer_float)
bitwise_not = _unary("bitwise_not", "~x", _infer_same)
ceil = _unary("ceil", "The number rounded up", _infer_same)
cos = _unary("cos", "The cosine", _infer_float)
cosh = _unary("cosh", "The hyperbolic cosine", _infer_float)
erf = _unary("erf", "The error function", _infer_float, approximate="fast_erf", kernel="erf")
exp = _unary("exp", "e ** x", _infer_float, approximate="fast_exp")
floor = _unary("floor", "The number rounded down", _infer_same)
isfinite = _unary("isfinite", "Whether it is neither infinite nor NaN", _infer_check)
isinf = _unary("isinf", "Whether it is infinite", _infer_check)
isnan = _unary("isnan", "Whether it is NaN", _infer_check)
log = _unary("log", "The natural logarithm", _infer_float)
logical_not = _unary("logical_not", "not x", _infer_same)
negative = _unary("negative", "-x", _infer_same)
round = _unary("round", "The nearest integer, the even one of two", _infer_same)
rsqrt = _unary("rsqrt", "1 / sqrt(x)", _infer_float)
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x))", _infer_float)
sign = _unary("sign", "1, 0 or -1 for a positive number, 0, or a negative one", _infer_same)
sin = _unary("sin", "The sine", _infer_float)
sinh = _unary("sinh", "The hyperbolic sine", _infer_float)
sqrt = _unary("sqrt", "The square root", _infer_float)
square = _unary("square", "x * x", _infer_same, _square)
tan = _unary("tan", "The tangent", _infer_float)
tanh = _unary("tanh", "The hyperbolic tangent", _infer_float, approximate="fast_tanh")


def clip(x: Value, min: Value, max: Value) -> GraphCall:
    """The nearest number of those from `min` to `max`.

    >>> from te_sched import relax
    >>> clip(relax.const([1.0]), 0, 6).args[1:]
    (R.prim_value(0), R.prim_value(6))
    """
    return make_call("relax.clip", [x, number(min), number(max)])


def _infer_clip(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    for index in (1, 2):
        if not isinstance(call.args[index].struct_info, PrimStructInfo):
            raise argument_error(call, index, "a number")
    return like(tensor_of(call, 0))


def _legalize_clip(builder: BlockBuilder, call: GraphCall) -> GraphExpr:
    bounds = [getattr(arg, "value", arg) for arg in call.args[1:]]
    constants = [bound.value if isinstance(bound, IntImm | FloatImm) else bound for bound in bounds]
    return builder.call_te(topi.clip, call.args[0], *constants, primfunc_name_hint="tir_clip")


declare("relax.clip", _infer_clip, legalize=_legalize_clip, layout=OF_ELEMENTS)
