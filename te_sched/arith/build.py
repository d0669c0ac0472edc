"""Construction of integer and bool expressions whose operands have the same type.

Folds constants as `ir.ops` does, without matching types, which is faster. Must not simplify beyond
folding constants and neutral elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from te_sched.ir import dtypes, ops
from te_sched.ir.expr import (
    EQ,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    Call,
    Cast,
    Div,
    Expr,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Select,
    Sub,
)
from te_sched.ir.ops import FALSE, TRUE

Binary = Callable[[Any, Any], Any]
INDEX_TYPES = frozenset(("int32", "int64"))
_WRAP = {
    "int32": (1 << 31, 1 << 32),
    "int64": (1 << 63, 1 << 64),
    "int16": (1 << 15, 1 << 16),
    "int8": (1 << 7, 1 << 8),
}


class Overflow(ArithmeticError):
    """Raised where a simpler form needs a constant that its type cannot represent."""


def fitting(value: int, dtype: str) -> Expr:
    """An integer constant of a simpler form; raises Overflow if an index type cannot represent it.

    Indices do not overflow, so x - 2147483647 < 5 is not x < 5 + 2147483647.
    """
    if dtype not in INDEX_TYPES:
        return imm(value, dtype)
    half = _WRAP[dtype][0]
    if -half <= value < half:
        return IntImm(value, dtype)
    raise Overflow


def imm(value: int, dtype: str) -> Expr:
    """An integer constant, wrapped to its type; a vector type gives the broadcast constant."""
    wrap = _WRAP.get(dtype)
    if wrap is None:
        return _other_imm(value, dtype)
    half, whole = wrap
    if not -half <= value < half:
        value = (value + half) % whole - half
    return IntImm(value, dtype)


def _other_imm(value: int, dtype: str) -> Expr:
    kind = dtypes.parse(dtype)
    if kind.lanes > 1:
        return Broadcast(imm(value, dtypes.element(dtype)), kind.lanes)
    return FloatImm(float(value), dtype) if dtypes.is_float(dtype) else ops.wrapped(value, dtype)


def truth(value: bool, dtype: str = "bool") -> Expr:
    """The constant True or False of a bool type."""
    scalar = TRUE if value else FALSE
    return scalar if dtype == "bool" else Broadcast(scalar, dtypes.lanes(dtype))


def add(a: Any, b: Any) -> Any:
    """a + b"""
    if type(a) is IntImm:
        if type(b) is IntImm:
            return imm(a.value + b.value, a.dtype)
        if a.value == 0:
            return b
    elif type(b) is IntImm and b.value == 0:
        return a
    return Add(a, b)


def sub(a: Any, b: Any) -> Any:
    """a - b"""
    if type(b) is IntImm:
        if type(a) is IntImm:
            return imm(a.value - b.value, a.dtype)
        if b.value == 0:
            return a
    return Sub(a, b)


def mul(a: Any, b: Any) -> Any:
    """a * b"""
    if type(b) is IntImm:
        if type(a) is IntImm:
            return imm(a.value * b.value, a.dtype)
        if b.value == 1:
            return a
        if b.value == 0:
            return b
    elif type(a) is IntImm:
        if a.value == 1:
            return b
        if a.value == 0:
            return a
    return Mul(a, b)


def truncate_remainder(a: int, b: int) -> int:
    """The remainder of a / b rounded towards zero, of Python integers."""
    return a - b * ops.truncate_division(a, b)


DIVISIONS: dict[type, Callable[[int, int], int]] = {
    FloorDiv: operator.floordiv,
    FloorMod: operator.mod,
    Div: ops.truncate_division,
    Mod: truncate_remainder,
}


def _division(kind: type[Any], is_quotient: bool) -> Binary:
    """A quotient or a remainder."""
    function = DIVISIONS[kind]

    def divide(a: Any, b: Any) -> Any:
        if type(b) is IntImm and b.value != 0:
            if type(a) is IntImm:
                return imm(function(a.value, b.value), a.dtype)
            if b.value == 1:
                return a if is_quotient else imm(0, a.dtype)
        if type(a) is IntImm and a.value == 0:
            return a
        return kind(a, b)

    return divide


floordiv, floormod = _division(FloorDiv, True), _division(FloorMod, False)
truncdiv, truncmod = _division(Div, True), _division(Mod, False)


def _extremum(kind: type[Any], is_first: Callable[[int, int], bool]) -> Binary:
    def choose(a: Any, b: Any) -> Any:
        if type(a) is IntImm and type(b) is IntImm:
            return a if is_first(a.value, b.value) else b
        return a if a is b else kind(a, b)

    return choose


minimum, maximum = _extremum(Min, operator.le), _extremum(Max, operator.ge)


def _comparison(kind: type[Any], holds: Callable[[int, int], bool]) -> Binary:
    def compare(a: Any, b: Any) -> Any:
        if type(a) is IntImm and type(b) is IntImm:
            return truth(holds(a.value, b.value))
        return kind(a, b)

    return compare


less, less_equal = _comparison(LT, operator.lt), _comparison(LE, operator.le)
equal, not_equal = _comparison(EQ, operator.eq), _comparison(NE, operator.ne)


def _connective(kind: type[Any], decisive: bool) -> Binary:
    """The conjunction or disjunction of two conditions; a `decisive` constant is the result."""

    def connect(a: Any, b: Any) -> Any:
        for operand, other in ((a, b), (b, a)):
            if type(operand) is IntImm:
                return operand if bool(operand.value) == decisive else other
        return kind(a, b)

    return connect


both, either = _connective(And, False), _connective(Or, True)


def negate(a: Any) -> Any:
    """not a"""
    return truth(not a.value) if type(a) is IntImm else Not(a)


def select(condition: Any, a: Any, b: Any) -> Any:
    """a where condition holds, else b"""
    if type(condition) is IntImm:
        return a if condition.value else b
    return Select(condition, a, b)


def if_then_else(condition: Any, a: Any, b: Any) -> Any:
    """a where condition holds, else b; only one of them is evaluated"""
    if type(condition) is IntImm:
        return a if condition.value else b
    return Call(a.dtype, "tir.if_then_else", (condition, a, b))


def cast(dtype: str, value: Any) -> Any:
    """value converted to dtype"""
    if value.dtype == dtype:
        return value
    if type(value) is IntImm and dtypes.is_integral(dtype):
        return imm(value.value, dtype)
    return Cast(dtype, value)


def factors_of(e: Any) -> list[Any]:
    """The factors of a product, from left to right."""
    return [*factors_of(e.a), *factors_of(e.b)] if type(e) is Mul else [e]


BINARY: dict[type, Binary] = {
    Add: add,
    Sub: sub,
    Mul: mul,
    FloorDiv: floordiv,
    FloorMod: floormod,
    Div: truncdiv,
    Mod: truncmod,
    Min: minimum,
    Max: maximum,
    LT: less,
    LE: less_equal,
    EQ: equal,
    NE: not_equal,
    And: both,
    Or: either,
}
