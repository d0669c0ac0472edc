"""Detection of expressions that are linear in some variables, with symbolic coefficients.

The coefficients are built from subexpressions and simplified as in TVM, whose users see them; sums
of iterator parts (`iter_expr`) and forms (`forms`) would reorder them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from te_sched.arith import build
from te_sched.arith.analyzer import Analyzer
from te_sched.deep_recursion import walks_deeply
from te_sched.errors import DeclarationError
from te_sched.ir.expr import Add, Expr, Mul, Sub, Var
from te_sched.ir.visitor import variables_of


@walks_deeply("detect a linear equation", DeclarationError)
def detect_linear_equation(e: Expr, variables: Sequence[Var]) -> tuple[Expr, ...] | None:
    """Simplified coefficients of the variables and the rest, or None if e is not linear in them.

    e == sum(coefficient * variable) + rest.

    >>> from te_sched import te
    >>> i, j, n = te.var("i"), te.var("j"), te.var("n")
    >>> detect_linear_equation(i * n + j * 2 + 1, [i, j])
    (n, 2, 1)
    """
    coefficients: list[Expr] = []
    rest = e
    for var in variables:
        parts = _split(rest, var, build.imm(0, var.dtype))
        if parts is None:
            return None
        coefficient, rest = parts
        coefficients.append(coefficient)
    if not variables_of(*coefficients).isdisjoint(variables):
        return None
    return tuple(map(Analyzer().simplify, (*coefficients, rest)))


def _split(e: Any, var: Var, zero: Expr) -> tuple[Expr, Expr] | None:
    """(coefficient, base) of one variable, or None when e is not linear in it.

    The coefficient is the object `zero` where the variable does not occur.
    """
    if e is var:
        return build.imm(1, var.dtype), zero
    if type(e) not in (Add, Sub, Mul):
        return None if var in variables_of(e) else (zero, e)
    a, b = _split(e.a, var, zero), _split(e.b, var, zero)
    if a is None or b is None:
        return None
    combine, is_absent = build.BINARY[type(e)], a[0] is zero is b[0]
    if type(e) is not Mul:
        return (zero if is_absent else combine(a[0], b[0])), combine(a[1], b[1])
    if a[0] is zero:
        a, b = b, a
    if b[0] is not zero:
        return None
    return (zero if is_absent else combine(a[0], b[1])), combine(a[1], b[1])
