"""Choices between two values: select, which may compute both, and if_then_else, which computes one.

Must not know what the values mean.
"""

from __future__ import annotations

from te_sched.ir.expr import Call, Expr, IntImm, Select
from te_sched.ir.visitor import replace


def choice_of(e: object) -> tuple[Expr, Expr, Expr] | None:
    """The condition and the two values of a choice; None for other expressions."""
    if type(e) is Select:
        return e.condition, e.true_value, e.false_value
    if type(e) is Call and e.op == "tir.if_then_else":
        condition, yes, no = e.args
        return condition, yes, no
    return None


def with_choice(e: Expr, condition: Expr, yes: Expr, no: Expr) -> Expr:
    """The same choice between other values; the same node if the values are the same."""
    if isinstance(e, Select):
        return replace(e, condition=condition, true_value=yes, false_value=no)
    assert isinstance(e, Call)
    return replace(e, dtype=yes.dtype, args=(condition, yes, no))


def chosen_in(e: Expr) -> Expr:
    """The value that a constant condition chooses; other expressions unchanged."""
    parts = choice_of(e)
    if parts is None or type(parts[0]) is not IntImm:
        return e
    return parts[1] if parts[0].value else parts[2]
