"""Solving comparisons for one variable."""

from __future__ import annotations

import itertools

import pytest

from te_sched.arith.deduce import deduce_bound, opposite
from te_sched.arith.int_set import NOTHING, IntervalSet
from te_sched.ir import expr as E
from te_sched.ir.expr import IntImm, Var
from tests.arith.brute import show, value

i, j, n = Var("i"), Var("j"), Var("n")
RELAXED = {j: IntervalSet(IntImm(0), IntImm(31))}


def ends(found: IntervalSet) -> tuple[str | None, str | None]:
    low, high = (None if end is None else show(end) for end in found)
    return low, high


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (i * 32 + j < 100, (None, "2")),
        (i * 8 + 3 >= j, ("4", None)),
        (n > i + j, (None, "(n - 32)")),
        (50 - i * 4 <= j, ("13", None)),
        (i // 4 < 3, (None, "11")),
        (E.EQ(i + 2, n), ("(n - 2)", "(n - 2)")),
    ],
    ids=str,
)
def test_bounds(condition: E.Expr, expected: tuple[str | None, str | None]) -> None:
    assert ends(deduce_bound(i, condition, RELAXED)) == expected


@pytest.mark.parametrize("condition", [i * i < 9, i % 3 < 2, E.NE(i, n), i * n < 4, n < 4], ids=str)
def test_nothing_is_known(condition: E.Expr) -> None:
    assert deduce_bound(i, condition, RELAXED) is NOTHING


@pytest.mark.parametrize("condition", [i * 3 + j < 50, i // 3 - j > 2, 7 - i * 2 <= j], ids=str)
def test_bound_is_sound(condition: E.Expr) -> None:
    low, high = deduce_bound(i, condition, RELAXED)
    for number, other in itertools.product(range(-40, 140), range(32)):
        above = low is None or number >= value(low, {})
        below = high is None or number <= value(high, {})
        assert not (above and below) or value(condition, {i: number, j: other})


def test_opposite() -> None:
    assert show(opposite(i < n)) == "(i >= n)"
    assert show(opposite(E.EQ(i, n))) == "(i != n)"
    assert opposite(E.And(i < n, j < n)) is None
