"""Derivatives of scalar expressions: a table of rules.

Must not know tensors, beyond their being read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from te_sched.errors import DeclarationError, repr_of
from te_sched.ir import dtypes, intrinsics, ops
from te_sched.ir.expr import (
    Add,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    Let,
    Max,
    Min,
    Mul,
    ProducerLoad,
    Select,
    Sub,
    Var,
)
from te_sched.ir.term_keys import term_key
from te_sched.ir.visitor import Visitor, substitute, walk

_Rule = Callable[..., Any]


def _sign(c: _Rule, x: Expr) -> Expr:
    return Select(x >= c(0), c(1), c(-1))


# The partial derivatives of a call, one for each float argument: functions of its value `f`, its
# arguments, and `c`, which makes a constant of their dtype.
_PARTIALS: dict[str, tuple[_Rule, ...]] = {
    "exp": (lambda c, f, x: f,),
    "exp2": (lambda c, f, x: f * c(math.log(2)),),
    "exp10": (lambda c, f, x: f * c(math.log(10)),),
    "expm1": (lambda c, f, x: f + c(1),),
    "log": (lambda c, f, x: c(1) / x,),
    "log2": (lambda c, f, x: c(1 / math.log(2)) / x,),
    "log10": (lambda c, f, x: c(1 / math.log(10)) / x,),
    "log1p": (lambda c, f, x: c(1) / (x + c(1)),),
    "sqrt": (lambda c, f, x: c(0.5) / f,),
    "rsqrt": (lambda c, f, x: f * c(-0.5) / x,),
    "cbrt": (lambda c, f, x: c(1) / (f * f * c(3)),),
    "erf": (lambda c, f, x: intrinsics.exp(c(0) - x * x) * c(2 / math.sqrt(math.pi)),),
    "sigmoid": (lambda c, f, x: f * (c(1) - f),),
    "tanh": (lambda c, f, x: c(1) - f * f,),
    "sin": (lambda c, f, x: intrinsics.cos(x),),
    "cos": (lambda c, f, x: c(0) - intrinsics.sin(x),),
    "tan": (lambda c, f, x: f * f + c(1),),
    "asin": (lambda c, f, x: intrinsics.rsqrt(c(1) - x * x),),
    "acos": (lambda c, f, x: c(0) - intrinsics.rsqrt(c(1) - x * x),),
    "atan": (lambda c, f, x: c(1) / (x * x + c(1)),),
    "sinh": (lambda c, f, x: intrinsics.cosh(x),),
    "cosh": (lambda c, f, x: intrinsics.sinh(x),),
    "asinh": (lambda c, f, x: intrinsics.rsqrt(x * x + c(1)),),
    "acosh": (lambda c, f, x: intrinsics.rsqrt(x * x - c(1)),),
    "atanh": (lambda c, f, x: c(1) / (c(1) - x * x),),
    "fabs": (lambda c, f, x: _sign(c, x),),
    "pow": (
        lambda c, f, x, y: y * intrinsics.pow(x, y - c(1)),
        lambda c, f, x, y: f * intrinsics.log(x),
    ),
    "fmod": (lambda c, f, x, y: c(1), lambda c, f, x, y: c(0) - intrinsics.trunc(x / y)),
    "atan2": (
        lambda c, f, y, x: x / (x * x + y * y),
        lambda c, f, y, x: c(0) - y / (x * x + y * y),
    ),
    "hypot": (lambda c, f, x, y: x / f, lambda c, f, x, y: y / f),
    "copysign": (lambda c, f, x, y: _sign(c, x) * intrinsics.copysign(c(1), y),),
    "ldexp": (lambda c, f, x, e: intrinsics.ldexp(c(1), e),),
    "fma": (lambda c, f, x, y, z: y, lambda c, f, x, y, z: x, lambda c, f, x, y, z: c(1)),
    **dict.fromkeys(("floor", "ceil", "trunc", "round", "nearbyint", "rint"), ()),
}


def derivative(e: Expr, target: Var | ProducerLoad) -> Expr | None:
    """The derivative of an expression with respect to a variable or an element; None where it is 0.

    Expressions that are not floats have no derivative. Where an expression chooses between two
    values, so does its derivative: the functions max, min and abs have a derivative everywhere.

    >>> from te_sched import te
    >>> x, y = te.var("x", "float32"), te.var("y", "float32")
    >>> derivative(te.exp(x) * y, x)
    T.exp(x) * y
    >>> derivative(te.max(x, y), x)
    T.Select(x >= y, T.float32(1), T.float32(0))

    Raises
    ------
    DeclarationError where a function of the target has no rule.
    """
    return _Derivative(target).of(e)


class _Derivative(Visitor):
    """Derivatives with respect to one target; None stands for 0."""

    def __init__(self, target: Expr) -> None:
        self.key = term_key(target)

    def of(self, e: Any) -> Expr | None:
        """The derivative of an expression."""
        if not is_differentiable(e.dtype):
            return None
        result: Expr | None = self.methods[type(e)](self, e)
        return result

    def visit_Expr(self, e: Expr) -> Expr | None:
        """An expression without a rule, which must not depend on the target."""
        if self.depends(e):
            raise _without_rule(e)
        return None

    def depends(self, e: Expr) -> bool:
        """Whether the target occurs in an expression."""
        return any(
            type(part) in (Var, ProducerLoad) and term_key(part) == self.key for part in walk(e)
        )

    def visit_leaf(self, e: Expr) -> Expr | None:
        return ops.const(1, e.dtype) if term_key(e) == self.key else None

    visit_Var = visit_ProducerLoad = visit_leaf

    def visit_Add(self, e: Add) -> Expr | None:
        return plus(self.of(e.a), self.of(e.b))

    def visit_Sub(self, e: Sub) -> Expr | None:
        return minus(self.of(e.a), self.of(e.b))

    def visit_Mul(self, e: Mul) -> Expr | None:
        return plus(times(self.of(e.a), e.b), times(self.of(e.b), e.a))

    def visit_Div(self, e: Div) -> Expr | None:
        above = minus(self.of(e.a), times(self.of(e.b), e))
        return None if above is None else scaled(above, e.b, ops.div)

    def visit_Max(self, e: Max) -> Expr | None:
        return chosen(Select, e.a >= e.b, self.of(e.a), self.of(e.b))

    def visit_Min(self, e: Min) -> Expr | None:
        return chosen(Select, e.a <= e.b, self.of(e.a), self.of(e.b))

    def visit_Select(self, e: Select) -> Expr | None:
        return chosen(Select, e.condition, self.of(e.true_value), self.of(e.false_value))

    def visit_Cast(self, e: Cast) -> Expr | None:
        inner = self.of(e.value)
        return None if inner is None else ops.cast(e.dtype, inner)

    def visit_Let(self, e: Let) -> Expr | None:
        return self.of(substitute(e.body, {e.var: e.value}))

    def visit_Call(self, e: Call) -> Expr | None:
        name = e.op.removeprefix("tir.")
        if name == "if_then_else":
            condition, a, b = e.args
            return chosen(intrinsics.if_then_else, condition, self.of(a), self.of(b))
        rules = _PARTIALS.get(name)
        if rules is None:
            return self.visit_Expr(e)
        total = None
        for rule, argument in zip(rules, e.args, strict=False):
            inner = self.of(argument)
            if inner is not None:
                partial = rule(lambda value: ops.const(value, e.dtype), e, *e.args)
                total = plus(total, times(inner, partial))
        return total


def is_differentiable(dtype: str) -> bool:
    """Whether values of a dtype stand for real numbers."""
    return dtypes.is_float(dtype)


def plus(a: Expr | None, b: Expr | None) -> Expr | None:
    """a + b, where None is 0."""
    if a is None or b is None:
        return b if a is None else a
    return ops.add(a, b)


def minus(a: Expr | None, b: Expr | None) -> Expr | None:
    """a - b, where None is 0."""
    if a is None or b is None:
        return a if b is None else times(b, ops.const(-1, b.dtype))
    return ops.sub(a, b)


def times(a: Expr | None, factor: Expr) -> Expr | None:
    """a * factor, where None is 0."""
    return None if a is None else scaled(a, factor)


def scaled(a: Expr, factor: Expr, operation: _Rule = ops.mul) -> Expr:
    """a * factor, or another operation; where a guard of `a` does not hold, 0 without it."""
    part = guard_of(a)
    if part is None:
        return operation(a, factor)  # type: ignore[no-any-return]
    condition, value = part
    product = scaled(value, factor, operation)
    zero = ops.const(0, product.dtype)
    if type(a) is Select:
        return Select(condition, product, zero)
    return intrinsics.if_then_else(condition, product, zero)


def guard_of(e: Expr) -> tuple[Expr, Expr] | None:
    """The condition and the value of an expression that is 0 where the condition does not hold."""
    if type(e) is Select:
        parts: tuple[Expr, ...] = (e.condition, e.true_value, e.false_value)
    elif type(e) is Call and e.op == "tir.if_then_else":
        parts = e.args
    else:
        return None
    is_zero = type(parts[2]) is FloatImm and parts[2].value == 0
    return parts[:2] if is_zero else None  # type: ignore[return-value]


def chosen(make: _Rule, condition: Expr, a: Expr | None, b: Expr | None) -> Expr | None:
    """a where the condition holds, else b, by a function such as Select; None is 0."""
    if a is None:
        condition, a, b = ops.logical_not(condition), b, None
    if a is None:
        return None
    choice: Expr = make(condition, a, ops.const(0, a.dtype) if b is None else b)
    return choice


def _without_rule(e: Expr) -> DeclarationError:
    what = e.op.removeprefix("tir.") if isinstance(e, Call) else type(e).__name__
    return DeclarationError(
        f"cannot differentiate {what}",
        f"te.gradient has no rule for it, in {repr_of(e)}",
        "write it with arithmetic, te.select and the functions of te that have a derivative",
    )
