"""Intervals of any ends."""

from __future__ import annotations

from te_sched.arith.int_set import IntervalSet, single_point
from te_sched.arith.interval import Interval
from te_sched.ir.expr import Var


def test_ends_are_of_any_kind_and_may_be_open() -> None:
    x = Var("x")
    low, high = Interval(x, None)
    assert low is x
    assert high is None
    assert Interval(0, 3) == (0, 3)


def test_equal_intervals_are_equal_keys() -> None:
    assert len({Interval(0, 1), Interval(0, 1), Interval(0, 2)}) == 2


def test_sets_of_expressions_are_intervals() -> None:
    x = Var("x")
    found = single_point(x)
    assert isinstance(found, IntervalSet)
    assert isinstance(found, Interval)
    assert found.min is found.max is x
