"""Arithmetic, comparisons, logic and bits of two values, element by element, with broadcasting.

A number (`R.Prim`) fits every shape; two numbers give a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched import te
from te_sched.ir import dtypes, ops
from te_sched.ir.expr import Call, Expr, IntImm, Let, Var
from te_sched.ir.graph import GraphCall
from te_sched.ir.struct_info import PrimStructInfo, StructInfo
from te_sched.relax.block_builder import BlockBuilder
from te_sched.relax.operators.arguments import Value
from te_sched.relax.operators.inference import broadcast, common_dtype, operand_of, with_sizes
from te_sched.relax.operators.layouts import OF_BROADCAST
from te_sched.relax.operators.legalization import (
    TEFunc,
    broadcast_rule,
    for_floats,
    topi,
    topi_function,
)
from te_sched.relax.operators.registry import (
    FOLLOWS,
    Infer,
    Rewrite,
    declare,
    make_call,
    named,
)


def _infer(call: GraphCall, builder: BlockBuilder, dtype: str) -> StructInfo:
    infos = [with_sizes(operand_of(call, at)) for at in (0, 1)]
    if all(isinstance(info, PrimStructInfo) for info in infos):
        return PrimStructInfo(dtype)
    return broadcast(call, builder, infos, dtype)


def _infer_arithmetic(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return _infer(call, builder, common_dtype(call, [operand_of(call, at) for at in (0, 1)]))


def _infer_comparison(call: GraphCall, builder: BlockBuilder) -> StructInfo:
    return _infer(call, builder, "bool")


def _binary(
    name: str,
    summary: str,
    infer: Infer = _infer_arithmetic,
    te_func: TEFunc | None = None,
    exact: Callable[[Expr, Expr], Expr] | None = None,
    is_elementwise: bool = False,
) -> Callable[[Value, Value], GraphCall]:
    """The function that makes calls of an operator of two values, which it declares.

    `te_func` is topi's function of that name, by default; `exact` computes an element of floats in
    builds; `is_elementwise` as in `Operator`.
    """
    full = f"relax.{name}"
    legalize = broadcast_rule(te_func or topi_function(name), name)
    declare(
        full,
        infer,
        mixed_precision=FOLLOWS,
        legalize=legalize,
        exact=exact and for_floats(_rule_of_elements(exact, name), legalize),
        layout=OF_BROADCAST,
        is_elementwise=is_elementwise,
    )

    def call_operator(x1: Value, x2: Value) -> GraphCall:
        return make_call(full, [x1, x2])

    return named(call_operator, name, summary)


def _rule_of_elements(function: Callable[[Expr, Expr], Expr], name: str) -> Rewrite:
    return broadcast_rule(lambda a, b: topi.broadcast.combine(a, b, function, name), name)


# Arithmetic

add = _binary("add", "x1 + x2", is_elementwise=True)
divide = _binary("divide", "x1 / x2", is_elementwise=True)
maximum = _binary("maximum", "The larger one of x1 and x2")
minimum = _binary("minimum", "The smaller one of x1 and x2")
mod = _binary("mod", "The remainder of x1 / x2 rounded towards zero")
multiply = _binary("multiply", "x1 * x2", is_elementwise=True)
subtract = _binary("subtract", "x1 - x2", is_elementwise=True)
left_shift = _binary("left_shift", "x1 << x2")
right_shift = _binary("right_shift", "x1 >> x2")
bitwise_and = _binary("bitwise_and", "x1 & x2")
bitwise_or = _binary("bitwise_or", "x1 | x2")
bitwise_xor = _binary("bitwise_xor", "x1 ^ x2")
logical_and = _binary("logical_and", "x1 and x2")
logical_or = _binary("logical_or", "x1 or x2")
logical_xor = _binary("logical_xor", "Whether one of x1 and x2 holds, not both")

# Comparisons

equal = _binary("equal", "x1 == x2", _infer_comparison)
greater = _binary("greater", "x1 > x2", _infer_comparison)
greater_equal = _binary("greater_equal", "x1 >= x2", _infer_comparison)
less = _binary("less", "x1 < x2", _infer_comparison)
less_equal = _binary("less_equal", "x1 <= x2", _infer_comparison)
not_equal = _binary("not_equal", "x1 != x2", _infer_comparison)

# Powers


def _power(base: Any, exponent: Any) -> Any:
    dtype = getattr(base, "dtype", None) or exponent.dtype
    if not dtypes.is_integral(dtype):
        return topi.power(base, exponent)
    return topi.broadcast.combine(base, exponent, _whole_power, "power")


def _whole_power(base: Expr, exponent: Expr) -> Expr:
    """A power of integers, by its squares, modulo the range of the dtype.

    With a negative exponent it is 0, but of 1 and -1.
    """
    dtype = base.dtype
    unsigned = dtype if dtype.startswith("uint") else f"u{dtype}"  # whose products wrap around
    power = ops.cast(dtype, _product_of_squares(ops.cast(unsigned, base), exponent))
    if exponent.dtype.startswith("uint") or getattr(exponent, "value", -1) >= 0:
        return power
    one, negated = ops.const(1, dtype), ops.const(-1, dtype)
    sign = te.select(ops.equal(ops.bitwise_and(exponent, 1), 0), one, negated)
    of_sign = te.select(ops.equal(base, negated), sign, ops.const(0, dtype))
    inverse = te.select(ops.equal(base, one), one, of_sign)
    return te.select(ops.less(exponent, 0), inverse, power)


def _product_of_squares(base: Expr, exponent: Expr) -> Expr:
    """The product of base, its square, the square of that, ... of which the exponent has a bit."""
    bits = dtypes.bits(exponent.dtype) - (not exponent.dtype.startswith("uint"))
    if isinstance(exponent, IntImm):
        bits = exponent.value.bit_length()
    variables = _Variables()
    one = ops.const(1, base.dtype)
    square, power = base, one
    for position in range(bits):
        square = variables.bind("square", square * square) if position else base
        if isinstance(exponent, IntImm):
            power = (
                variables.bind("power", power * square) if exponent.value >> position & 1 else power
            )
        else:
            bit = ops.bitwise_and(exponent, ops.const(1 << position, exponent.dtype))
            power = variables.bind("power", power * te.select(ops.equal(bit, 0), one, square))
    return variables.around(power)


class _Variables:
    """Names of expressions that others read more than once."""

    def __init__(self) -> None:
        self.values: list[tuple[Var, Expr]] = []

    def bind(self, name: str, value: Expr) -> Expr:
        """A variable with this value, which may read the earlier ones."""
        self.values.append((Var(name, value.dtype), value))
        return self.values[-1][0]

    def around(self, body: Expr) -> Expr:
        """An expression with all variables."""
        for variable, value in reversed(self.values):
            body = Let(variable, value, body)
        return body


power = _binary("power", "x1 ** x2", te_func=_power)

# Division that rounds down


def _floor_mod(a: Any, b: Any) -> Any:
    """The remainder of floats, with the sign of b."""
    division = _Division(a, b)
    b, rest = division.divisor, division.rest
    signed = te.select(division.is_below, ops.add(rest, b), rest)
    return ops.cast(a.dtype, division.variables.around(signed))


def _floor_divide(a: Any, b: Any) -> Any:
    """The quotient of floats of which `_floor_mod` is the remainder: 1.0 // 0.1 is 9."""
    dtype, division = a.dtype, _Division(a, b)
    a, b, inverse = division.value, division.divisor, division.inverse
    variables = division.variables
    zero, half, one = [te.const(value, "float64") for value in (0.0, 0.5, 1.0)]
    whole = ops.sub(a, division.rest)
    # The inverse of a denormal number is infinite; those of float32 are not denormal here.
    quotient = ops.div(whole, b) if dtype == "float64" else ops.mul(whole, inverse)
    less = ops.cast("float64", division.is_below)
    floored = variables.bind("floored", te.floor(ops.add(ops.sub(quotient, less), half)))
    sign = ops.mul(te.copysign(one, a), te.copysign(one, b))
    floored = te.select(ops.equal(floored, zero), te.copysign(zero, sign), floored)
    floored = te.select(ops.equal(b, zero), ops.mul(a, inverse), floored)
    return ops.cast(dtype, variables.around(floored))


_STEPS = 6  # of at least 50 bits each: quotients of float32 have at most 277


class _Division:
    """The remainder of two floats, smaller than the divisor, in float64, with the sign of `value`.

    Quotients in float64 of numbers of at most 24 bits are so near that what they leave has few
    bits: fused multiply-adds give it exactly, many elements at once, where fmod is a call.
    """

    def __init__(self, a: Expr, b: Expr) -> None:
        self.variables = _Variables()
        bind = self.variables.bind
        self.value = bind("value", ops.cast("float64", a))
        self.divisor = bind("divisor", ops.cast("float64", b))
        one, zero = te.const(1.0, "float64"), te.const(0.0, "float64")
        self.inverse = bind("inverse", ops.div(one, self.divisor))
        self.rest = bind("rest", self._rest(a.dtype))
        sign = te.copysign(one, self.divisor)
        self.is_below = bind("is_below", ops.less(ops.mul(self.rest, sign), zero))

    def _rest(self, dtype: str) -> Expr:
        rest, divisor = self.value, self.divisor
        if dtype == "float64":
            return ops.truncmod(rest, divisor)
        for _ in range(_STEPS):
            quotient = te.trunc(ops.mul(rest, self.inverse))
            minus = ops.mul(quotient, te.const(-1.0, "float64"))
            rest = self.variables.bind("rest", Call("float64", "tir.fma", (minus, divisor, rest)))
        too_large = ops.greater_equal(te.abs(rest), te.abs(divisor))  # the last was rounded down
        rest = te.select(too_large, ops.sub(te.abs(rest), te.abs(divisor)), rest)
        unchanged = ops.add(self.value, ops.mul(self.value, te.const(0.0, "float64")))
        return te.select(te.isinf(divisor), unchanged, rest)


floor_divide = _binary("floor_divide", "x1 / x2, rounded down", exact=_floor_divide)
floor_mod = _binary("floor_mod", "The remainder of x1 / x2 rounded down", exact=_floor_mod)
