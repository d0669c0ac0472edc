"""Building expressions as a user expects: types matched, lanes broadcast, constants folded.

Gives `Expr` its operators. Must not simplify beyond folding (that is `arith`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from te_sched.errors import DeclarationError
from te_sched.ir import dtypes
from te_sched.ir.expr import (
    EQ, GE, GT, LE, LT, NE, Add, And, Broadcast, Cast, Div, Expr, FloatImm, FloorDiv, FloorMod, IntImm, IterVar, Max, Min,
    Mod, Mul, Not, Operand, Or, StringImm, Sub,
)  # fmt: skip


def const(value: Any, dtype: str | None = None) -> Expr:
    """A constant of a dtype; bool, int and float have the defaults bool, int32 and float32."""
    if dtype is None:
        dtype = (
            "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
        )
    if dtypes.is_float(dtype):
        scalar: Expr = FloatImm(float(value), dtypes.element(dtype))
    else:
        scalar = IntImm(int(value), dtypes.element(dtype))
    count = dtypes.lanes(dtype)
    return scalar if count == 1 else Broadcast(scalar, count)


def convert(value: Any) -> Expr:
    """Any value that a user may write in an expression, as an expression."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, (bool, int, float)):
        return const(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, IterVar):
        return value.var
    if hasattr(value, "as_expr"):  # an element of a tensor
        return value.as_expr()  # type: ignore[no-any-return]
    if hasattr(value, "item"):  # a numpy scalar
        return const(value.item(), str(value.dtype))
    raise DeclarationError(
        f"a {type(value).__name__} in an expression", "it is not a number or an expression"
    )


def _is_zero(value: Expr) -> bool:
    return isinstance(value, (IntImm, FloatImm)) and value.value == 0


def _is_one(value: Expr) -> bool:
    return isinstance(value, (IntImm, FloatImm)) and value.value == 1


def match_types(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """The operands cast to one dtype and broadcast to one number of lanes."""
    if a.dtype == b.dtype:
        return a, b
    lanes_a, lanes_b = dtypes.lanes(a.dtype), dtypes.lanes(b.dtype)
    if lanes_a != lanes_b:
        if lanes_a == 1:
            return match_types(Broadcast(a, lanes_b), b)
        if lanes_b == 1:
            return match_types(a, Broadcast(b, lanes_a))
        raise DeclarationError(
            f"an operation on {a.dtype} and {b.dtype}", "their numbers of lanes differ"
        )
    if a.dtype == b.dtype:
        return a, b
    kind_a, kind_b = dtypes.parse(a.dtype), dtypes.parse(b.dtype)
    if "handle" in (kind_a.code, kind_b.code):
        raise DeclarationError(f"arithmetic on {a.dtype} and {b.dtype}", "handles are not numbers")
    float_a, float_b = dtypes.is_float(a.dtype), dtypes.is_float(b.dtype)
    if float_a and not float_b:
        return a, cast(a.dtype, b)
    if float_b and not float_a:
        return cast(b.dtype, a), b
    if kind_a.code == kind_b.code:
        return (a, cast(a.dtype, b)) if kind_a.bits > kind_b.bits else (cast(b.dtype, a), b)
    if float_a:  # float16 with bfloat16 and the like
        return (a, cast(a.dtype, b)) if kind_a.bits >= kind_b.bits else (cast(b.dtype, a), b)
    common = dtypes.with_lanes(f"int{max(kind_a.bits, kind_b.bits)}", kind_a.lanes)
    return cast(common, a), cast(common, b)


def cast(dtype: str, value: Expr) -> Expr:
    """Convert to a dtype; constants are converted now, lanes are broadcast."""
    if value.dtype == dtype:
        return value
    if dtypes.lanes(dtype) > 1 and dtypes.lanes(value.dtype) == 1:
        return Broadcast(cast(dtypes.element(dtype), value), dtypes.lanes(dtype))
    if isinstance(value, (IntImm, FloatImm)) and (
        dtypes.is_float(dtype) or dtypes.parse(dtype).code in ("int", "uint", "bool")
    ):
        return const(value.value, dtype)
    if isinstance(value, Broadcast):
        return Broadcast(cast(dtypes.element(dtype), value.value), value.lanes)
    return Cast(dtype, value)


def _wrap(value: int, dtype: str) -> Expr:
    kind = dtypes.parse(dtype)
    value &= (1 << kind.bits) - 1
    if kind.code == "int" and value >> (kind.bits - 1):
        value -= 1 << kind.bits
    return IntImm(value, dtype)


def _folded(a: Expr, b: Expr, function: Callable[[Any, Any], Any]) -> Expr | None:
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return _wrap(function(a.value, b.value), a.dtype)
    if isinstance(a, FloatImm) and isinstance(b, FloatImm):
        return const(function(a.value, b.value), a.dtype)
    return None


def add(a: Any, b: Any) -> Expr:
    """a + b"""
    a, b = match_types(convert(a), convert(b))
    if (folded := _folded(a, b, operator.add)) is not None:
        return folded
    return b if _is_zero(a) else a if _is_zero(b) else Add(a, b)


def sub(a: Any, b: Any) -> Expr:
    """a - b"""
    a, b = match_types(convert(a), convert(b))
    if (folded := _folded(a, b, operator.sub)) is not None:
        return folded
    return a if _is_zero(b) else Sub(a, b)


def mul(a: Any, b: Any) -> Expr:
    """a * b"""
    a, b = match_types(convert(a), convert(b))
    if (folded := _folded(a, b, operator.mul)) is not None:
        return folded
    if _is_one(a) or _is_zero(b):
        return b
    return a if _is_one(b) or _is_zero(a) else Mul(a, b)


def floordiv(a: Any, b: Any) -> Expr:
    """a / b rounded towards minus infinity"""
    a, b = match_types(convert(a), convert(b))
    if _is_zero(b):
        raise DeclarationError("a division by zero", "the divisor is the constant 0")
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return _wrap(a.value // b.value, a.dtype)
    return a if _is_zero(a) or _is_one(b) else FloorDiv(a, b)


def floormod(a: Any, b: Any) -> Expr:
    """The remainder of floordiv"""
    a, b = match_types(convert(a), convert(b))
    if _is_zero(b):
        raise DeclarationError("a division by zero", "the divisor is the constant 0")
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return _wrap(a.value % b.value, a.dtype)
    if isinstance(b, IntImm) and b.value == 1:
        return IntImm(0, a.dtype)
    return a if _is_zero(a) else FloorMod(a, b)


def minimum(a: Any, b: Any) -> Expr:
    """The smaller of a and b"""
    a, b = match_types(convert(a), convert(b))
    if (folded := _folded(a, b, min)) is not None:
        return folded
    return a if a is b else Min(a, b)


def maximum(a: Any, b: Any) -> Expr:
    """The larger of a and b"""
    a, b = match_types(convert(a), convert(b))
    if (folded := _folded(a, b, max)) is not None:
        return folded
    return a if a is b else Max(a, b)


def _comparison(
    kind: type[Any], function: Callable[[Any, Any], bool]
) -> Callable[[Any, Any], Expr]:
    def compare(a: Any, b: Any) -> Expr:
        a, b = match_types(convert(a), convert(b))
        if isinstance(a, (IntImm, FloatImm)) and isinstance(b, (IntImm, FloatImm)):
            return IntImm(int(function(a.value, b.value)), "bool")
        return kind(a, b)  # type: ignore[no-any-return]

    return compare


equal = _comparison(EQ, operator.eq)
not_equal = _comparison(NE, operator.ne)
less = _comparison(LT, operator.lt)
less_equal = _comparison(LE, operator.le)
greater = _comparison(GT, operator.gt)
greater_equal = _comparison(GE, operator.ge)


def logical_and(a: Any, b: Any) -> Expr:
    """a and b"""
    a, b = convert(a), convert(b)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, IntImm):
            return other if one.value else one
    return And(a, b)


def logical_or(a: Any, b: Any) -> Expr:
    """a or b"""
    a, b = convert(a), convert(b)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, IntImm):
            return one if one.value else other
    return Or(a, b)


def logical_not(a: Any) -> Expr:
    """not a"""
    a = convert(a)
    return IntImm(1 - a.value, "bool") if isinstance(a, IntImm) else Not(a)


TRUE = IntImm(1, "bool")
FALSE = IntImm(0, "bool")


def is_const(value: Any, constant: int) -> bool:
    """Whether an expression is this integer constant."""
    return isinstance(value, IntImm) and value.value == constant


# Set while the function given to te.compute runs: there `a == b` of two axes is a condition, never a truth value.
declaring: ContextVar[bool] = ContextVar("declaring", default=False)


class AxisComparison(Operand):
    """`a == b` of two axes: a condition in an expression, identity as a truth value (`axis in axes`)."""

    __slots__ = ("a", "b", "is_equality")

    def __init__(self, a: IterVar, b: IterVar, is_equality: bool) -> None:
        self.a, self.b, self.is_equality = a, b, is_equality

    def as_expr(self) -> Expr:
        """The condition."""
        return (equal if self.is_equality else not_equal)(self.a.var, self.b.var)

    def __bool__(self) -> bool:
        if declaring.get():
            return bool(self.as_expr())  # raises
        return (self.a is self.b) is self.is_equality


def _axes_equal(a: IterVar, b: Any) -> Any:
    return AxisComparison(a, b, True) if isinstance(b, IterVar) else b is not None and equal(a, b)


def _axes_not_equal(a: IterVar, b: Any) -> Any:
    return AxisComparison(a, b, False) if isinstance(b, IterVar) else b is None or not_equal(a, b)


def _install_operators() -> None:
    def reflected(function: Callable[[Any, Any], Expr]) -> Callable[[Any, Any], Expr]:
        return lambda self, other: function(other, self)

    def division(a: Any, b: Any) -> Expr:
        a, b = match_types(convert(a), convert(b))
        if not dtypes.is_float(a.dtype):
            raise DeclarationError(
                f"{a.dtype} / {b.dtype}",
                "it is not clear how integers should round",
                "use // (floordiv) or te.truncdiv, or cast to float first",
            )
        folded = _folded(a, b, operator.truediv)
        return folded if folded is not None else Div(a, b)

    both = {
        "add": add,
        "sub": sub,
        "mul": mul,
        "floordiv": floordiv,
        "mod": floormod,
        "truediv": division,
    }
    for name, function in both.items():
        setattr(Operand, f"__{name}__", function)
        setattr(Operand, f"__r{name}__", reflected(function))
    comparisons = {
        "lt": less,
        "le": less_equal,
        "gt": greater,
        "ge": greater_equal,
        "eq": equal,
        "ne": not_equal,
    }
    for name, function in comparisons.items():
        setattr(Operand, f"__{name}__", function)
    Operand.__neg__ = lambda self: mul(self, const(-1, convert(self).dtype))  # type: ignore[method-assign]
    Operand.equal = equal  # type: ignore[method-assign,assignment]
    Operand.astype = lambda self, dtype: cast(dtype, convert(self))  # type: ignore[method-assign]

    def no_truth(self: Expr) -> bool:
        raise DeclarationError(
            "the truth value of an expression",
            "it is known only when the program runs, so `if`, `and`, `or` and `not` cannot see it",
            "use te.if_then_else, te.all, te.any or te.not_",
        )

    for name, function in {"eq": _axes_equal, "ne": _axes_not_equal}.items():
        setattr(IterVar, f"__{name}__", function)
    Operand.__bool__ = no_truth  # type: ignore[method-assign]


_install_operators()
