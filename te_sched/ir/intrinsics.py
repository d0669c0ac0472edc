"""Mathematical functions and other values that are calls of intrinsics.

Owns their names, types and folding. Calls of functions from elsewhere are in `ir.calls`. Must not
know what a pass or a code generator does with them.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from te_sched.errors import DeclarationError, with_article
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Broadcast, Call, Expr, FloatImm, IntImm, Select

_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.4028234663852886e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def _float_function(name: str, meaning: str) -> Callable[[Any], Expr]:
    """A function of a float that stays a call, also of a constant."""

    def function(x: Any) -> Expr:
        value = ops.convert(x)
        if not dtypes.is_float(value.dtype):
            raise DeclarationError(
                f"{name} of {with_article(value.dtype)}",
                "it is a function of floating-point numbers",
                'cast the argument first, for example with .astype("float32")',
            )
        return Call(value.dtype, f"tir.{name}", (value,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


exp = _float_function("exp", "e to the power of x.")
exp2 = _float_function("exp2", "2 to the power of x.")
exp10 = _float_function("exp10", "10 to the power of x.")
log = _float_function("log", "The natural logarithm.")
log2 = _float_function("log2", "The logarithm to the base 2.")
log10 = _float_function("log10", "The logarithm to the base 10.")
log1p = _float_function("log1p", "The natural logarithm of 1 + x.")
sqrt = _float_function("sqrt", "The square root.")
rsqrt = _float_function("rsqrt", "One divided by the square root.")
sigmoid = _float_function("sigmoid", "1 / (1 + exp(-x)).")
erf = _float_function("erf", "The error function.")
sin = _float_function("sin", "The sine.")
cos = _float_function("cos", "The cosine.")
tan = _float_function("tan", "The tangent.")
asin = _float_function("asin", "The inverse sine.")
acos = _float_function("acos", "The inverse cosine.")
atan = _float_function("atan", "The inverse tangent.")
sinh = _float_function("sinh", "The hyperbolic sine.")
cosh = _float_function("cosh", "The hyperbolic cosine.")
tanh = _float_function("tanh", "The hyperbolic tangent.")
asinh = _float_function("asinh", "The inverse hyperbolic sine.")
acosh = _float_function("acosh", "The inverse hyperbolic cosine.")
atanh = _float_function("atanh", "The inverse hyperbolic tangent.")


def _rounding(name: str, fold: Callable[[float], float], meaning: str) -> Callable[[Any], Expr]:
    """A rounding function: integers stay, float constants are rounded now."""

    def function(x: Any) -> Expr:
        value = ops.convert(x)
        if not dtypes.is_float(value.dtype):
            return value
        if type(value) is FloatImm and math.isfinite(value.value):
            return FloatImm(float(fold(value.value)), value.dtype)
        return Call(value.dtype, f"tir.{name}", (value,))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


floor = _rounding("floor", math.floor, "The largest whole number that is not above x.")
ceil = _rounding("ceil", math.ceil, "The smallest whole number that is not below x.")
trunc = _rounding("trunc", math.trunc, "x without its fraction.")
round = _rounding("round", builtins.round, "The nearest whole number, halves to the even one.")
nearbyint = _rounding(
    "nearbyint", builtins.round, "The nearest whole number, halves to the even one."
)


def _float_function_of_two(name: str, meaning: str) -> Callable[[Any, Any], Expr]:
    def function(x: Any, y: Any) -> Expr:
        a, b = ops.operands(x, y)
        if not dtypes.is_float(a.dtype):
            raise DeclarationError(
                f"{name} of {a.dtype} and {b.dtype}",
                "it is a function of floating-point numbers",
                'cast the arguments first, for example with .astype("float32")',
            )
        return Call(a.dtype, f"tir.{name}", (a, b))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


power = pow = _float_function_of_two("pow", "x to the power of y.")
fmod = _float_function_of_two("fmod", "The remainder of x / y, with the sign of x.")
atan2 = _float_function_of_two("atan2", "The angle of the point (y, x); the first argument is y.")
hypot = _float_function_of_two("hypot", "The square root of x*x + y*y.")
nextafter = _float_function_of_two("nextafter", "The next number after x on the way to y.")
copysign = _float_function_of_two("copysign", "The size of x with the sign of y.")


def ldexp(x: Any, exponent: Any) -> Expr:
    """x * 2**exponent, of a float and an integer."""
    value, shift = ops.convert(x), ops.convert(exponent)
    if not dtypes.is_float(value.dtype):
        raise DeclarationError(
            f"ldexp of {with_article(value.dtype)}",
            "its first argument is a float",
            'cast it, for example with .astype("float32")',
        )
    return Call(value.dtype, "tir.ldexp", (value, shift))


def abs(x: Any) -> Expr:
    """x without its sign."""
    value = ops.convert(x)
    if dtypes.is_float(value.dtype):
        if type(value) is FloatImm:
            return FloatImm(math.fabs(value.value), value.dtype)
        return Call(value.dtype, "tir.fabs", (value,))
    if not dtypes.is_int(value.dtype):
        return value
    zero = ops.const(0, value.dtype)
    if type(value) is IntImm:
        return ops.sub(zero, value) if value.value < 0 else value
    return Select(ops.greater_equal(value, zero), value, ops.sub(zero, value))


fabs = abs


def popcount(x: Any) -> Expr:
    """The number of bits that are set."""
    value = _of_integer("popcount", x)
    return Call(value.dtype, "tir.popcount", (value,))


def clz(x: Any) -> Expr:
    """The number of zeros before the first bit that is set, as an int32."""
    return Call("int32", "tir.clz", (_of_integer("clz", x),))


def _of_integer(name: str, x: Any) -> Expr:
    value = ops.convert(x)
    if not dtypes.is_integral(value.dtype) and not dtypes.is_bool(value.dtype):
        raise DeclarationError(
            f"{name} of {with_article(value.dtype)}",
            "it counts the bits of an integer",
            "cast it to an integer type, or use te.reinterpret",
        )
    return value


def isnan(x: Any) -> Expr:
    """Whether x is not a number."""
    value = ops.convert(x)
    if not dtypes.is_float(value.dtype):
        return ops.const(0, _bool_like(value))
    if type(value) is FloatImm:
        return ops.const(math.isnan(value.value), "bool")
    if dtypes.bits(value.dtype) == 16:
        value = ops.cast(dtypes.with_lanes("float32", dtypes.lanes(value.dtype)), value)
    return Call(_bool_like(value), "tir.isnan", (value,))


def isinf(x: Any) -> Expr:
    """Whether x is infinite."""
    value = ops.convert(x)
    if not dtypes.is_float(value.dtype):
        return ops.const(0, _bool_like(value))
    if type(value) is FloatImm:
        return ops.const(math.isinf(value.value), "bool")
    limit = ops.const(math.inf, value.dtype)
    return ops.logical_and(ops.equal(abs(value), limit), ops.logical_not(isnan(value)))


def isfinite(x: Any) -> Expr:
    """Whether x is a number and not infinite."""
    infinite, invalid = isinf(x), isnan(x)
    if type(infinite) is Broadcast:
        return ops.const(1, infinite.dtype)
    return ops.logical_and(ops.logical_not(infinite), ops.logical_not(invalid))


def _bool_like(value: Expr) -> str:
    return dtypes.with_lanes("bool", dtypes.lanes(value.dtype))


def max_value(dtype: str) -> Expr:
    """The largest finite value of a data type."""
    return _limit(dtype, 1)


def min_value(dtype: str) -> Expr:
    """The smallest finite value of a data type."""
    return _limit(dtype, 0)


def _limit(dtype: str, side: int) -> Expr:
    dtype = dtypes.spelled(dtype)
    kind = dtypes.parse(dtype)
    if kind.lanes != 1 or kind.code in ("handle", "void"):
        raise DeclarationError(
            f"the limits of the type {dtype}",
            "only scalar numbers have limits",
            f"use one of {dtypes.LEGAL}",
        )
    if kind.code in ("float", "bfloat"):
        return FloatImm(_LARGEST[dtype] if side else -_LARGEST[dtype], dtype)
    return ops.const(ops.int_limits(dtype)[side], dtype)


def infinity(dtype: str) -> Expr:
    """The infinity of a floating-point type."""
    dtype = dtypes.spelled(dtype)
    if dtypes.parse(dtype).code != "float" or dtypes.lanes(dtype) != 1:
        raise DeclarationError(
            f"the infinity of the type {dtype}",
            "only floats have one",
            "use te.max_value(dtype) for integers",
        )
    return FloatImm(math.inf, dtype)


def if_then_else(cond: Any, t: Any, f: Any) -> Expr:
    """t where cond holds, else f; only the one needed is evaluated (so it can guard a load)."""
    condition = _condition(cond, "if_then_else")
    a, b = ops.operands(t, f)
    if type(condition) is IntImm:
        chosen: Expr = a if condition.value else b
        return chosen
    return Call(a.dtype, "tir.if_then_else", (condition, a, b))


def select(condition: Any, true_value: Any, false_value: Any) -> Expr:
    """true_value where condition holds, else false_value; both may be evaluated."""
    a, b = ops.operands(true_value, false_value)
    return Select(_condition(condition, "Select"), a, b)


def _condition(value: Any, name: str) -> Expr:
    condition = ops.convert(value)
    if not dtypes.is_bool(dtypes.element(condition.dtype)):
        raise DeclarationError(
            f"{name} with a condition of type {condition.dtype}",
            "a condition is a bool",
            "compare with something, for example x != 0",
        )
    return condition


def all(*conditions: Any) -> Expr:
    """Whether all conditions hold; one after the other is evaluated until one does not."""
    return _chain(ops.logical_and, conditions, "all")


def any(*conditions: Any) -> Expr:
    """Whether a condition holds; one after the other is evaluated until one does."""
    return _chain(ops.logical_or, conditions, "any")


def _chain(combine: Callable[[Any, Any], Expr], conditions: tuple[Any, ...], name: str) -> Expr:
    if len(conditions) == 1 and isinstance(conditions[0], list | tuple):
        conditions = tuple(conditions[0])
    if not conditions:
        raise DeclarationError(
            f"te.{name} of nothing",
            "it needs at least one condition",
            f"write te.{name}(a, b, ...)",
        )
    total = _condition(conditions[0], f"te.{name}")
    for condition in conditions[1:]:
        total = combine(total, _condition(condition, f"te.{name}"))
    return total


def not_(condition: Any) -> Expr:
    """Whether the condition does not hold."""
    return ops.logical_not(_condition(condition, "te.not_"))


def likely(condition: Any) -> Expr:
    """The condition, marked as one that nearly always holds."""
    value = ops.convert(condition)
    return value if type(value) is IntImm else Call(value.dtype, "tir.likely", (value,))


def reinterpret(dtype: str, x: Any) -> Expr:
    """The same bits read as another type of the same width."""
    value, dtype = ops.convert(x), dtypes.spelled(dtype)
    if value.dtype == dtype:
        return value
    if dtypes.bits(dtype) * dtypes.lanes(dtype) != dtypes.bits(value.dtype) * dtypes.lanes(
        value.dtype
    ):
        raise DeclarationError(
            f"reinterpret of {value.dtype} as {dtype}",
            "they have different widths",
            "use a type of the same width, or a cast (.astype)",
        )
    return Call(dtype, "tir.reinterpret", (value,))


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Expr:
    """round(x * y * 2**-s) of fixed-point int32 numbers with q fractional bits."""
    arguments = tuple([ops.convert(value) for value in (x, y, q, s)])
    return Call("int32", "tir.q_multiply_shift", arguments)


def ret(value: Any) -> Expr:
    """Return a value from the function."""
    result = ops.convert(value)
    return Call(result.dtype, "tir.ret", (result,))


__all__ = [
    "abs",
    "acos",
    "acosh",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "fabs",
    "floor",
    "fmod",
    "hypot",
    "if_then_else",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max_value",
    "min_value",
    "nearbyint",
    "nextafter",
    "not_",
    "popcount",
    "pow",
    "power",
    "q_multiply_shift",
    "reinterpret",
    "ret",
    "round",
    "rsqrt",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip
