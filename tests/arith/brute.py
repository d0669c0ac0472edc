"""Evaluation of expressions and rules on integers, the reference for arith."""

from __future__ import annotations

from typing import Any

from te_sched.arith.const_bounds import ConstBounds
from te_sched.ir import expr as E

_BINARY = {
    E.Add: lambda a, b: a + b,
    E.Sub: lambda a, b: a - b,
    E.Mul: lambda a, b: a * b,
    E.FloorDiv: lambda a, b: a // b,
    E.FloorMod: lambda a, b: a % b,
    E.Div: lambda a, b: truncdiv(a, b),
    E.Mod: lambda a, b: truncmod(a, b),
    E.Min: min,
    E.Max: max,
    E.LT: lambda a, b: a < b,
    E.LE: lambda a, b: a <= b,
    E.GT: lambda a, b: a > b,
    E.GE: lambda a, b: a >= b,
    E.EQ: lambda a, b: a == b,
    E.NE: lambda a, b: a != b,
    E.And: lambda a, b: a and b,
    E.Or: lambda a, b: a or b,
}


def truncdiv(a: int, b: int) -> int:
    """a / b rounded towards zero"""
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b > 0) else -quotient


def truncmod(a: int, b: int) -> int:
    """The remainder of truncdiv"""
    return a - b * truncdiv(a, b)


def value(e: Any, env: dict[E.Var, int]) -> int:
    """The value of an expression for given values of its variables."""
    kind = type(e)
    if kind is E.Var:
        return env[e]
    if kind is E.IntImm:
        return e.value
    if kind is E.Not:
        return not value(e.a, env)
    if kind is E.Cast:
        return value(e.value, env)
    if kind is E.Select:
        return value(e.true_value if value(e.condition, env) else e.false_value, env)
    if kind is E.Call and e.op == "tir.likely":
        return value(e.args[0], env)
    if kind is E.Call and e.op == "tir.if_then_else":
        return value(e.args[1] if value(e.args[0], env) else e.args[2], env)
    return _BINARY[kind](value(e.a, env), value(e.b, env))


def show(e: Any) -> str:
    """The text of an expression in Python, with all parentheses."""
    names = {
        **{E.Add: "+", E.Sub: "-", E.Mul: "*", E.FloorDiv: "//", E.FloorMod: "%"},
        **{E.LT: "<", E.LE: "<=", E.GT: ">", E.GE: ">=", E.EQ: "==", E.NE: "!="},
        **{E.And: "and", E.Or: "or", E.Div: "/", E.Mod: "rem"},
    }
    kind = type(e)
    if kind in names:
        return f"({show(e.a)} {names[kind]} {show(e.b)})"
    if kind in (E.Min, E.Max):
        return f"{kind.__name__.lower()}({show(e.a)}, {show(e.b)})"
    if kind is E.Var:
        return e.name
    if kind in (E.IntImm, E.FloatImm):
        return str(e.value)
    if kind is E.Call:
        return f"{e.op[4:]}({', '.join(map(show, e.args))})"
    if kind is E.Select:
        return f"select({show(e.condition)}, {show(e.true_value)}, {show(e.false_value)})"
    if kind is E.Cast:
        return f"{e.dtype}({show(e.value)})"
    if kind is E.Ramp:
        return f"ramp({show(e.base)}, {show(e.stride)}, {e.lanes})"
    if kind is E.Broadcast:
        return f"broadcast({show(e.value)}, {e.lanes})"
    return f"{kind.__name__.lower()} {show(e.a)}"


def is_within(e: E.Expr, number: int, bounds: ConstBounds) -> bool:
    """Whether a number is within the constant bounds of an expression."""
    low, high = bounds.of(e)
    return low <= number <= high
