"""Interval sets with symbolic ends."""

from __future__ import annotations

import pytest

from te_sched.arith import int_set
from te_sched.arith.int_set import IntervalSet, eval_set
from te_sched.ir import expr as E
from tests.arith.brute import show

x, y, z = (E.Var(name) for name in "xyz")
n = E.Var("n", is_size=True)


def interval(low: int, high: int) -> IntervalSet:
    return IntervalSet(E.IntImm(low), E.IntImm(high))


def text(found: IntervalSet) -> str:
    return "..".join("inf" if end is None else show(end) for end in found)


CASES = [
    (x + y, {x: interval(0, 7)}, "y..(7 + y)"),
    (x - y, {x: interval(0, 7), y: IntervalSet(z, z + 3)}, "(0 - (z + 3))..(7 - z)"),
    (x * n, {x: interval(0, 7)}, "0..(7 * n)"),
    (x * -3, {x: interval(0, 7)}, "-21..0"),
    (x * y, {x: interval(0, 7), y: interval(0, 3)}, "inf..inf"),
    (x // 4, {x: interval(0, 7)}, "0..1"),
    (x % 4, {x: interval(0, 7)}, "0..3"),
    (x % 4, {x: interval(0, 2)}, "0..2"),
    (x % n, {x: interval(0, 7)}, "0..(n - 1)"),
    (
        x % y,
        {x: interval(0, 7)},
        "(0 - (select((y >= 0), y, (0 - y)) - 1))..(select((y >= 0), y, (0 - y)) - 1)",
    ),
    (E.Min(x, y), {x: interval(0, 7)}, "min(0, y)..min(7, y)"),
    (E.Select(x < 3, x, y), {x: interval(0, 7)}, "min(y, 0)..max(y, 7)"),
    (x + 0, {x: IntervalSet(y, y + 3), y: interval(0, 4)}, "0..7"),
    (y * 1 + z, {x: interval(0, 7)}, "(y + z)..(y + z)"),
]


@pytest.mark.parametrize(("e", "domains", "expected"), CASES, ids=[c[2] for c in CASES])
def test_eval_set(e: E.Expr, domains: dict[E.Var, IntervalSet], expected: str) -> None:
    assert text(eval_set(e, domains)) == expected


def test_eval_set_of_a_fixed_expression_is_a_point() -> None:
    e = y * 4 + z
    found = eval_set(e, {x: interval(0, 7)})
    assert int_set.is_single_point(found)
    assert found.min is e


def test_union_and_intersect() -> None:
    assert text(int_set.union([interval(0, 3), interval(2, 9)])) == "0..9"
    assert text(int_set.union([IntervalSet(x, x + 1), IntervalSet(x + 1, x + 2)])) == "x..(x + 2)"
    assert text(int_set.intersect([interval(0, 3), interval(2, 9)])) == "2..3"
    assert int_set.is_nothing(int_set.intersect([interval(0, 3), interval(5, 9)]))
    assert int_set.is_nothing(int_set.union([]))


def test_cover_range_and_matches_range() -> None:
    bound = E.Range(E.IntImm(0), E.IntImm(8))
    covered = int_set.cover_range(IntervalSet(x, x + 3), bound)
    assert show(covered.min) == "x"
    assert show(covered.extent) == "4"
    assert int_set.cover_range(int_set.EVERYTHING, bound) is bound
    assert int_set.matches_range(int_set.from_range(bound), bound)
    assert not int_set.matches_range(interval(0, 6), bound)


def test_ends_that_many_variables_name_are_found_once() -> None:
    xs = [E.Var(f"x{i}", "int32") for i in range(60)]
    ends = [E.Add(x, x) for x in xs[1:]]
    domains = {x: IntervalSet(end, end) for x, end in zip(xs, ends, strict=False)}
    found = eval_set(xs[0], domains)  # would visit 2 ** 59 ends if it visited each anew
    assert not int_set.is_everything(found)
