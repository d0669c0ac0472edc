"""Facts that follow from conditions.

Must not know statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from te_sched.arith.forms import Form, Forms, constant, plus
from te_sched.ir.expr import EQ, GE, GT, LE, LT, And, Call, Expr, IntImm, Var


def plain(condition: Expr) -> Expr:
    """A condition without `likely`."""
    if isinstance(condition, Call) and condition.op == "tir.likely":
        return condition.args[0]
    return condition


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The conjuncts of a condition."""
    condition = plain(condition)
    if type(condition) is And:
        yield from conjuncts(condition.a)
        yield from conjuncts(condition.b)
    else:
        yield condition


def single_values(conditions: Iterable[Expr]) -> dict[Var, int]:
    """Variables with a single value under conditions, such as a == 3, or a < 1 of a thread."""
    values: dict[Var, int] = {}
    for condition in conditions:
        for part in conjuncts(condition):
            if isinstance(part, EQ | LT) and type(part.a) is Var and isinstance(part.b, IntImm):
                if isinstance(part, EQ):
                    values[part.a] = part.b.value
                elif part.b.value == 1:
                    values[part.a] = 0
    return values


def gap_of(condition: Any, forms: Forms) -> Form | None:
    """An expression that is not negative where a comparison holds."""
    kind = type(condition)
    if kind not in (LT, LE, GT, GE):
        return None
    a, b = forms.of(condition.a), forms.of(condition.b)
    gap = plus(b, a, -1) if kind is LT or kind is LE else plus(a, b, -1)
    return plus(gap, constant(-1)) if kind is LT or kind is GT else gap
