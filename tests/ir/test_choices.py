"""Choices between two values, of either kind."""

from __future__ import annotations

import pytest

from te_sched.ir.choices import choice_of, chosen_in, with_choice
from te_sched.ir.expr import Call, Expr, IntImm, Select, Var
from te_sched.ir.ops import FALSE, TRUE
from tests.arith.brute import show

x, y = Var("x"), Var("y")


def chosen(kind: str, condition: Expr) -> Expr:
    if kind == "select":
        return Select(condition, x, y)
    return Call("int32", "tir.if_then_else", (condition, x, y))


@pytest.mark.parametrize("kind", ["select", "if_then_else"])
def test_choice_is_taken_apart_and_put_together(kind: str) -> None:
    condition = x < y
    e = chosen(kind, condition)
    assert choice_of(e) == (condition, x, y)
    assert with_choice(e, condition, x, y) is e
    other = with_choice(e, condition, y, IntImm(1))
    assert type(other) is type(e)
    assert show(other) == show(e).replace("x, y)", "y, 1)")


@pytest.mark.parametrize("kind", ["select", "if_then_else"])
def test_constant_condition_chooses(kind: str) -> None:
    assert chosen_in(chosen(kind, TRUE)) is x
    assert chosen_in(chosen(kind, FALSE)) is y
    assert chosen_in(x) is x


def test_other_expressions_are_no_choice() -> None:
    assert choice_of(x + y) is None
    assert choice_of(Call("float32", "tir.exp", (x.astype("float32"),))) is None
