"""Evaluation of expressions with numpy.

Indices and conditions are evaluated exactly, in the arithmetic of their types. An expression of
floats is evaluated only as one of real numbers, since a program rounds each of its steps. Must not
know statements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from te_sched.ir import dtypes
from te_sched.ir import expr as E
from te_sched.ir.choices import choice_of
from te_sched.ir.expr import Expr, Var
from te_sched.ir.intrinsic_table import BITWISE, FOLDED, INTRINSICS

Values = dict[Var, Any]


class Unevaluable(Exception):
    """An expression reads memory, or has variables without a value."""


def _truncated(a: Any, b: Any) -> Any:
    return np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b)


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    E.Add: np.add,
    E.Sub: np.subtract,
    E.Mul: np.multiply,
    E.FloorDiv: np.floor_divide,
    E.FloorMod: np.mod,
    E.Div: _truncated,
    E.Mod: lambda a, b: a - _truncated(a, b) * b,
    E.Min: np.minimum,
    E.Max: np.maximum,
    E.EQ: np.equal,
    E.NE: np.not_equal,
    E.LT: np.less,
    E.LE: np.less_equal,
    E.GT: np.greater,
    E.GE: np.greater_equal,
    E.And: np.logical_and,
    E.Or: np.logical_or,
}
_DIVISIONS = frozenset((E.FloorDiv, E.FloorMod, E.Div, E.Mod))


def evaluate(e: Any, values: Values, lets: Mapping[Var, Expr], of_reals: bool = False) -> Any:
    """The values of an integer expression or a condition, as numbers or arrays of numbers.

    With `of_reals` the value of an expression of floats, too, computed in double precision.

    Raises
    ------
    Unevaluable if it reads memory or has unknown variables.
    """
    kind = type(e)
    if kind is E.IntImm:
        return np.int64(e.value)
    if kind is Var:
        if e not in values:
            if e not in lets:
                raise Unevaluable
            values[e] = evaluate(lets[e], values, lets, of_reals)
        return values[e]
    operator = _OPERATORS.get(kind)
    if operator is not None:
        a, b = evaluate(e.a, values, lets, of_reals), evaluate(e.b, values, lets, of_reals)
        if kind in _DIVISIONS and not np.all(b):
            raise Unevaluable
        if kind is E.Div and of_reals and dtypes.is_float(e.dtype):
            operator = np.true_divide
        return operator(a, b) if dtypes.counts(e.dtype) else _in_type(e, operator(a, b), of_reals)
    if kind is E.Not:
        return np.logical_not(evaluate(e.a, values, lets, of_reals))
    if kind is E.FloatImm and of_reals:
        return np.float64(e.value)
    if kind is E.Cast and (of_reals or not dtypes.is_float(e.value.dtype)):
        return _in_type(e, evaluate(e.value, values, lets, of_reals), of_reals)
    choice = choice_of(e)
    if choice is not None:
        return np.where(*[evaluate(part, values, lets, of_reals) for part in choice])
    if kind is E.Call:
        return _called(e, values, lets, of_reals)
    if kind is E.Let:
        bound = {**values, e.var: evaluate(e.value, values, lets, of_reals)}
        return evaluate(e.body, bound, lets, of_reals)
    raise Unevaluable


def _called(e: E.Call, values: Values, lets: Mapping[Var, Expr], of_reals: bool) -> Any:
    if e.op == "tir.likely":
        return evaluate(e.args[0], values, lets, of_reals)
    meaning = FOLDED[e.op] if e.op in BITWISE else None
    if of_reals and meaning is None and e.op.removeprefix("tir.") in INTRINSICS:
        meaning = INTRINSICS[e.op.removeprefix("tir.")].meaning
    if meaning is None:
        raise Unevaluable
    value = meaning(*[evaluate(part, values, lets, of_reals) for part in e.args])
    return value if dtypes.counts(e.dtype) else _in_type(e, value, of_reals)


def _in_type(e: Expr, value: Any, of_reals: bool) -> Any:
    """The values of an expression, wrapped around in its type, as 64-bit integers."""
    kind = dtypes.parse(e.dtype)
    if kind.code == "bool":
        return np.not_equal(value, 0)
    if of_reals and dtypes.is_float(e.dtype):
        return np.asarray(value, "float64")
    if kind.code not in ("int", "uint") or (kind.code == "uint" and kind.bits == 64):
        raise Unevaluable
    return np.asarray(value, "int64").astype(e.dtype).astype("int64")
