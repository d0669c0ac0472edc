"""Mathematical functions and other calls of intrinsics.

The intrinsics are listed in `ir.intrinsic_table`, calls of external functions are in `ir.calls`.
Must not know passes or code generators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from te_sched.errors import DeclarationError
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Broadcast, Call, Cast, Expr, ExprLike, FloatImm, IntImm, Select
from te_sched.ir.intrinsic_table import INTRINSICS
from te_sched.wording import wording


def _float_function(name: str) -> Callable[[ExprLike], Expr]:
    """A function of a float; calls with constants are not folded."""

    def function(x: ExprLike) -> Expr:
        value = ops.const(x, "float32") if type(x) is int else ops.convert(x)
        if not dtypes.is_float(value.dtype):
            raise DeclarationError(
                f"{name} needs a float, got {value.dtype}",
                "",
                'cast the argument first, for example with .astype("float32")',
            )
        return Call(value.dtype, f"tir.{name}", (value,))

    return ops.named(function, name)


exp = _float_function("exp")
exp2 = _float_function("exp2")
exp10 = _float_function("exp10")
log = _float_function("log")
log2 = _float_function("log2")
log10 = _float_function("log10")
log1p = _float_function("log1p")
sqrt = _float_function("sqrt")
rsqrt = _float_function("rsqrt")
sigmoid = _float_function("sigmoid")
erf = _float_function("erf")
sin = _float_function("sin")
cos = _float_function("cos")
tan = _float_function("tan")
asin = _float_function("asin")
acos = _float_function("acos")
atan = _float_function("atan")
sinh = _float_function("sinh")
cosh = _float_function("cosh")
tanh = _float_function("tanh")
asinh = _float_function("asinh")
acosh = _float_function("acosh")
atanh = _float_function("atanh")


def _rounding(name: str) -> Callable[[ExprLike], Expr]:
    """A rounding function: integers are unchanged, float constants are folded, -0.5 to -0.0."""
    round_now = INTRINSICS[name].meaning
    assert round_now is not None

    def function(x: ExprLike) -> Expr:
        value = ops.convert(x)
        if not dtypes.is_float(value.dtype):
            return value
        if type(value) is FloatImm and math.isfinite(value.value):
            return FloatImm(math.copysign(float(round_now(value.value)), value.value), value.dtype)
        return Call(value.dtype, f"tir.{name}", (value,))

    return ops.named(function, name)


floor = _rounding("floor")
ceil = _rounding("ceil")
trunc = _rounding("trunc")
round = _rounding("round")
nearbyint = _rounding("nearbyint")


def _float_function_of_two(name: str) -> ops.BinaryFunction:
    def function(x: ExprLike, y: ExprLike) -> Expr:
        a, b = ops.operands(x, y)
        if not dtypes.is_float(a.dtype):
            raise DeclarationError(
                f"{name} needs floats, got {a.dtype} and {b.dtype}",
                "",
                'cast the arguments first, for example with .astype("float32")',
            )
        return Call(a.dtype, f"tir.{name}", (a, b))

    return ops.named(function, name)


power = pow = _float_function_of_two("pow")
fmod = _float_function_of_two("fmod")
atan2 = _float_function_of_two("atan2")
hypot = _float_function_of_two("hypot")
nextafter = _float_function_of_two("nextafter")
copysign = _float_function_of_two("copysign")


def ldexp(x: ExprLike, exponent: ExprLike) -> Expr:
    """x * 2**exponent, of a float and an integer.

    >>> te.ldexp(te.var("x", "float32"), 3)
    T.ldexp(x, 3)
    """
    value, shift = ops.convert(x), ops.convert(exponent)
    if not dtypes.is_float(value.dtype):
        raise DeclarationError(
            f"the first argument of ldexp has dtype {value.dtype}, expected a float",
            "",
            'cast it, for example with .astype("float32")',
        )
    return Call(value.dtype, "tir.ldexp", (value, shift))


def abs(x: ExprLike) -> Expr:
    """The absolute value of x.

    >>> te.abs(-2), te.abs(te.var("x", "float32"))
    (2, T.fabs(x))
    """
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


def popcount(x: ExprLike) -> Expr:
    """The number of 1 bits of x.

    >>> te.popcount(te.var("n"))
    T.popcount(n)
    """
    value = _of_integer("popcount", x)
    return Call(value.dtype, "tir.popcount", (value,))


def clz(x: ExprLike) -> Expr:
    """The number of leading zero bits of x, as an int32.

    >>> te.clz(te.var("n"))
    T.clz(n)
    """
    return Call("int32", "tir.clz", (_of_integer("clz", x),))


def _of_integer(name: str, x: ExprLike) -> Expr:
    value = ops.convert(x)
    if not dtypes.is_integral(value.dtype) and not dtypes.is_bool(value.dtype):
        raise DeclarationError(
            f"{name} needs an integer, got {value.dtype}",
            "",
            f"cast it to an integer type, or use {wording().module}.reinterpret",
        )
    return value


def isnan(x: ExprLike) -> Expr:
    """Whether x is NaN.

    >>> te.isnan(te.var("x", "float32"))
    T.isnan(x)
    """
    value = ops.convert(x)
    if not dtypes.is_float(value.dtype):
        return ops.const(0, _bool_like(value))
    if type(value) is FloatImm:
        return ops.const(math.isnan(value.value), "bool")
    if dtypes.bits(value.dtype) == 16:
        value = ops.cast(dtypes.with_lanes("float32", dtypes.lanes(value.dtype)), value)
    return Call(_bool_like(value), "tir.isnan", (value,))


def isinf(x: ExprLike) -> Expr:
    """Whether x is infinite.

    >>> te.isinf(te.const(float("inf")))
    T.bool(True)
    """
    value = ops.convert(x)
    if not dtypes.is_float(value.dtype):
        return ops.const(0, _bool_like(value))
    if type(value) is FloatImm:
        return ops.const(math.isinf(value.value), "bool")
    limit = ops.const(math.inf, value.dtype)
    return ops.logical_and(ops.equal(abs(value), limit), ops.logical_not(isnan(value)))


def isfinite(x: ExprLike) -> Expr:
    """Whether x is neither infinite nor NaN.

    >>> te.isfinite(te.const(1.5))
    T.bool(True)
    """
    infinite, invalid = isinf(x), isnan(x)
    if type(infinite) is Broadcast:
        return ops.const(1, infinite.dtype)
    return ops.logical_and(ops.logical_not(infinite), ops.logical_not(invalid))


def _bool_like(value: Expr) -> str:
    return dtypes.with_lanes("bool", dtypes.lanes(value.dtype))


def max_value(dtype: str) -> Expr:
    """The largest finite value of a data type.

    >>> te.max_value("int8"), te.max_value("uint16")
    (T.int8(127), T.uint16(65535))
    """
    return _limit(dtype, 1)


def min_value(dtype: str) -> Expr:
    """The smallest finite value of a data type.

    >>> te.min_value("int8"), te.min_value("float16")
    (T.int8(-128), T.float16(-65504))
    """
    return _limit(dtype, 0)


def _limit(dtype: str, side: int) -> Expr:
    dtype = dtypes.spelled(dtype)
    kind = dtypes.parse(dtype)
    if kind.lanes != 1 or kind.code in ("handle", "void"):
        raise DeclarationError(
            f"dtype {dtype} has no limits",
            "only scalar numbers have them",
            f"use one of {dtypes.LEGAL}",
        )
    if dtypes.is_float(dtype):
        return FloatImm(dtypes.LARGEST[dtype] if side else -dtypes.LARGEST[dtype], dtype)
    return ops.const(ops.int_limits(dtype)[side], dtype)


def infinity(dtype: str) -> Expr:
    """The infinity of a floating-point type.

    >>> te.infinity("float32")
    T.float32("inf")
    """
    dtype = dtypes.spelled(dtype)
    if dtypes.parse(dtype).code != "float" or dtypes.lanes(dtype) != 1:
        raise DeclarationError(
            f"dtype {dtype} has no infinity",
            "only floats have one",
            f"use {wording().module}.max_value(dtype) for integers",
        )
    return FloatImm(math.inf, dtype)


def if_then_else(cond: ExprLike, t: ExprLike, f: ExprLike) -> Expr:
    """t if cond holds, otherwise f; only that value is evaluated, so cond can guard a load.

    >>> A = te.placeholder((4,), name="A")
    >>> te.compute((6,), lambda i: te.if_then_else(i < 4, A[i], 0.0), name="B").op.body
    [T.if_then_else(i < 4, A[i], T.float32(0))]
    """
    condition = _condition(cond, "if_then_else")
    a, b = ops.operands(t, f)
    if type(condition) is IntImm:
        chosen: Expr = a if condition.value else b
        return chosen
    return Call(a.dtype, "tir.if_then_else", (condition, a, b))


def select(condition: ExprLike, true_value: ExprLike, false_value: ExprLike) -> Expr:
    """true_value if condition holds, otherwise false_value; both may be evaluated.

    >>> n = te.var("n")
    >>> te.select(n > 0, n, 0)
    T.Select(n > 0, n, 0)
    """
    a, b = ops.operands(true_value, false_value)
    return Select(_condition(condition, "Select"), a, b)


def _condition(value: ExprLike, name: str) -> Expr:
    condition = ops.convert(value)
    if not dtypes.is_bool(dtypes.element(condition.dtype)):
        raise DeclarationError(
            f"the condition of {name} has dtype {condition.dtype}, expected bool",
            "",
            "compare it, for example x != 0",
        )
    return condition


def all(*conditions: ExprLike | Sequence[ExprLike]) -> Expr:
    """Whether all conditions hold; evaluation stops at the first that does not.

    >>> n = te.var("n")
    >>> te.all(n > 0, n < 8)
    n > 0 and n < 8
    """
    return _chain(ops.logical_and, conditions, "all")


def any(*conditions: ExprLike | Sequence[ExprLike]) -> Expr:
    """Whether any condition holds; evaluation stops at the first that does.

    >>> n = te.var("n")
    >>> te.any(n < 0, n > 8)
    n < 0 or n > 8
    """
    return _chain(ops.logical_or, conditions, "any")


def _chain(combine: ops.BinaryFunction, conditions: tuple[Any, ...], name: str) -> Expr:
    if len(conditions) == 1 and isinstance(conditions[0], list | tuple):
        conditions = tuple(conditions[0])
    if not conditions:
        raise DeclarationError(
            f"te.{name} needs at least one condition",
            "",
            f"write te.{name}(a, b, ...)",
        )
    total = _condition(conditions[0], f"te.{name}")
    for condition in conditions[1:]:
        total = combine(total, _condition(condition, f"te.{name}"))
    return total


def not_(condition: ExprLike) -> Expr:
    """Whether the condition does not hold.

    >>> te.not_(te.var("n") > 0)
    not n > 0
    """
    return ops.logical_not(_condition(condition, "te.not_"))


def likely(cond: ExprLike) -> Expr:
    """The condition, marked as almost always true.

    >>> te.likely(te.var("n") > 0)
    T.likely(n > 0)
    """
    value = ops.convert(cond)
    return value if type(value) is IntImm else Call(value.dtype, "tir.likely", (value,))


def reinterpret(dtype: str, x: ExprLike) -> Expr:
    """The bits of x as a value of another type of the same width.

    >>> te.reinterpret("int32", te.var("x", "float32"))
    T.reinterpret("int32", x)
    """
    value, dtype = ops.convert(x), dtypes.spelled(dtype)
    if value.dtype == dtype:
        return value
    if dtypes.bits(dtype) * dtypes.lanes(dtype) != dtypes.bits(value.dtype) * dtypes.lanes(
        value.dtype
    ):
        raise DeclarationError(
            f"cannot reinterpret {value.dtype} as {dtype}",
            "they have different widths",
            "use a type of the same width, or a cast (.astype)",
        )
    return Call(dtype, "tir.reinterpret", (value,))


def q_multiply_shift(x: ExprLike, y: ExprLike, q: ExprLike, s: ExprLike) -> Expr:
    """round(x * y * 2**-s) of fixed-point int32 numbers with q fractional bits.

    >>> from te_sched import te
    >>> q_multiply_shift(te.var("x"), te.var("y"), 31, 1)
    T.q_multiply_shift(x, y, 31, 1)
    """
    arguments = tuple([ops.convert(value) for value in (x, y, q, s)])
    return Call("int32", "tir.q_multiply_shift", arguments)


def fixed_point_product(x: Expr, y: Expr, fraction: Expr, shift: Expr) -> Expr:
    """The value of q_multiply_shift: x * y * 2^(shift - fraction) in 64 bits, rounded half up."""
    wide = dtypes.with_lanes("int64", dtypes.lanes(x.dtype))
    x64, y64, q64, s64 = (ops.cast(wide, value) for value in (x, y, fraction, shift))
    zero, unit = ops.const(0, wide), ops.const(1, wide)
    total = ops.add(q64, ops.maximum(ops.sub(zero, s64), zero))
    scaled = Call(wide, "tir.shift_left", (x64, ops.maximum(s64, zero)))
    half = Call(wide, "tir.shift_left", (unit, ops.sub(total, unit)))
    product = ops.add(ops.mul(scaled, y64), half)
    return Cast(x.dtype, Call(wide, "tir.shift_right", (product, total)))


def ret(value: ExprLike) -> Expr:
    """A call that returns a value from the function.

    >>> ret(0)
    T.ret(0)
    """
    result = ops.convert(value)
    return Call(result.dtype, "tir.ret", (result,))
