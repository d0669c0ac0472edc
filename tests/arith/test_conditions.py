"""What follows from conditions."""

from __future__ import annotations

from te_sched.arith.conditions import conjuncts, gap_of, plain, single_values
from te_sched.arith.forms import Forms
from te_sched.ir.expr import EQ, And, Call, IntImm, Or, Var

x, y = Var("x"), Var("y")


def likely(condition: object) -> Call:
    return Call("bool", "tir.likely", (condition,))


def test_mark_is_taken_off() -> None:
    condition = x < 3
    assert plain(likely(condition)) is condition
    assert plain(condition) is condition


def test_conjunctions_are_taken_apart() -> None:
    a, b, c = x < 3, y < 4, Or(x < 1, y < 1)
    assert list(conjuncts(likely(And(And(a, likely(b)), c)))) == [a, b, c]


def test_variables_of_one_value() -> None:
    conditions = [And(EQ(x, IntImm(3)), y < 1), EQ(x + y, IntImm(2))]
    assert single_values(conditions) == {x: 3, y: 0}
    assert single_values([y < 2]) == {}


def test_gap_is_not_negative_where_a_comparison_holds() -> None:
    forms = Forms({}, {})
    assert gap_of(x < y, forms) == {(y,): 1, (x,): -1, (): -1}
    assert gap_of(x <= y, forms) == {(y,): 1, (x,): -1}
    assert gap_of(x > 5, forms) == {(x,): 1, (): -6}
    assert gap_of(x >= 5, forms) == {(x,): 1, (): -5}
    assert gap_of(EQ(x, y), forms) is None
