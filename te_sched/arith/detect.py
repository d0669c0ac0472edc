"""Detecting that an expression is linear in some variables, with symbolic coefficients.

The coefficients are expressions as they were written, simplified in the end, because TVM's users
see them: neither sums of parts of iterators (`iter_expr`) nor forms (`forms`), which are both
other sums than those that were written. Must not know what callers do with the coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Add, Expr, Mul, Sub, Var
from te_sched.ir.visitor import variables_of

_Pair = tuple[Expr | None, Expr | None]  # coefficient and base; None is zero


def detect_linear_equation(e: Expr, variables: Sequence[Var]) -> tuple[Expr, ...] | None:
    """Coefficients of the variables, then the rest: e == sum(coefficient * variable) + rest.

    None when e is not linear in them. The parts are simplified.
    """
    analyzer = Analyzer()
    coefficients: list[Expr] = []
    rest: Expr | None = e
    for var in variables:
        found = _split(rest, var) if rest is not None else (None, None)
        if found is None:
            return None
        coefficient, rest = found
        coefficients.append(_value(coefficient, var.dtype))
    if not variables_of(*coefficients).isdisjoint(variables):
        return None
    parts = (*coefficients, _value(rest, e.dtype))
    return tuple([analyzer.simplify(part) for part in parts])


def _value(e: Expr | None, dtype: str) -> Expr:
    return build.imm(0, dtype) if e is None else e


def _plus(a: Expr | None, b: Expr | None) -> Expr | None:
    if a is None or b is None:
        return b if a is None else a
    total: Expr = build.add(a, b)
    return total


def _minus(a: Expr | None, b: Expr | None) -> Expr | None:
    if b is None:
        return a
    total: Expr = build.sub(build.imm(0, b.dtype) if a is None else a, b)
    return total


def _split(e: Any, var: Var) -> _Pair | None:
    """(coefficient, base) of one variable, or None when e is not linear in it."""
    if e is var:
        return build.imm(1, var.dtype), None
    kind = type(e)
    if kind in (Add, Sub, Mul):
        a, b = _split(e.a, var), _split(e.b, var)
        if a is None or b is None:
            return None
        if kind is Mul:
            return _product(a, b)
        combine = _plus if kind is Add else _minus
        return combine(a[0], b[0]), combine(a[1], b[1])
    return None if var in variables_of(e) else (None, e)


def _product(a: _Pair, b: _Pair) -> _Pair | None:
    if a[0] is not None and b[0] is not None:
        return None
    if a[0] is None:
        a, b = b, a
    factor = b[1]
    if factor is None:
        return None, None
    coefficient, base = a
    return (
        None if coefficient is None else build.mul(coefficient, factor),
        None if base is None else build.mul(base, factor),
    )
