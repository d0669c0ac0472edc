"""What follows from a relation: ranges, values, sets, guards and marks of axes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.int_set import IntervalSet, from_range, single_point
from te_sched.config import AS_TVM
from te_sched.errors import LoweringError
from te_sched.ir.expr import Expr, IntImm, IterVar, Range, Var
from te_sched.schedule.relations import (
    Fuse,
    Ranges,
    Rebase,
    Relation,
    Singleton,
    Split,
    ceil_div,
    range_of,
    set_range,
    spread_down,
    spread_up,
)
from tests.arith.brute import show


def axis(name: str) -> IterVar:
    return IterVar(None, Var(name), "DataPar")


PARENT, OUTER, INNER = axis("p"), axis("o"), axis("i")
SPLIT = Split(PARENT, OUTER, INNER, IntImm(4), None)
FUSE = Fuse(OUTER, INNER, PARENT)


def ranges(**extents: int) -> Ranges:
    axes = {"p": PARENT, "o": OUTER, "i": INNER}
    return {axes[name]: range_of(0, extent) for name, extent in extents.items()}


def extents_below(relation: Relation, known: Ranges, fixed: Any = frozenset()) -> list[str]:
    known = dict(known)
    relation.ranges_down(known, Analyzer(), fixed)
    return [show(known[one].extent) for one in relation.outputs]


@pytest.mark.parametrize(
    ("relation", "known", "expected"),
    [
        (SPLIT, {"p": 13}, ["4", "4"]),
        (SPLIT, {"p": 3}, ["1", "3"]),  # no more than the parent has
        (Split(PARENT, OUTER, INNER, None, IntImm(4)), {"p": 13}, ["4", "4"]),
        (Split(PARENT, OUTER, INNER, None, IntImm(5)), {"p": 13}, ["5", "3"]),
        (FUSE, {"o": 3, "i": 5}, ["15"]),
        (Rebase(PARENT, OUTER), {"p": 7}, ["7"]),
        (Singleton(OUTER), {}, ["1"]),
    ],
)
def test_ranges(relation: Relation, known: dict[str, int], expected: list[str]) -> None:
    assert extents_below(relation, ranges(**known)) == expected


def test_length_of_a_thread_is_kept() -> None:
    assert extents_below(SPLIT, ranges(p=3), frozenset([INNER])) == ["1", "4"]
    assert extents_below(SPLIT, ranges(p=3), None) == ["1", "4"]


def test_values_of_a_split_axis() -> None:
    values: dict[IterVar, Expr] = {OUTER: OUTER.var, INNER: INNER.var}
    SPLIT.indices_up(values, {**ranges(o=4, i=4), PARENT: range_of(2, 13)})
    assert show(values[PARENT]) == "((i + (o * 4)) + 2)"
    down: dict[IterVar, Expr] = {PARENT: PARENT.var}
    SPLIT.indices_down(down, ranges(p=13, o=4, i=4))
    assert (show(down[OUTER]), show(down[INNER])) == ("(p // 4)", "(p % 4)")


def test_values_of_fused_axes() -> None:
    values: dict[IterVar, Expr] = {PARENT: PARENT.var}
    FUSE.indices_up(values, {OUTER: range_of(0, 3), INNER: range_of(1, 5)})
    assert (show(values[OUTER]), show(values[INNER])) == ("(p // 5)", "((p % 5) + 1)")
    down: dict[IterVar, Expr] = {OUTER: OUTER.var, INNER: INNER.var}
    FUSE.indices_down(down, ranges(o=3, i=5))
    assert show(down[PARENT]) == "((o * 5) + i)"


def test_values_of_a_rebased_axis() -> None:
    values: dict[IterVar, Expr] = {OUTER: OUTER.var}
    Rebase(PARENT, OUTER).indices_up(values, {PARENT: range_of(3, 7)})
    assert show(values[PARENT]) == "(o + 3)"


def test_sets_of_a_split_axis() -> None:
    known = ranges(p=16, o=4, i=4)
    sets = {OUTER: from_range(known[OUTER]), INNER: from_range(known[INNER])}
    SPLIT.sets_up(sets, known, AS_TVM)
    assert sets[PARENT] == from_range(known[PARENT])
    sets = {OUTER: single_point(OUTER.var), INNER: from_range(known[INNER])}
    SPLIT.sets_up(sets, known, AS_TVM)
    low, high = sets[PARENT]
    found = Analyzer()
    assert show(found.simplify(low)) == "(o * 4)"
    assert show(found.simplify(high)) == "((o * 4) + 3)"


def test_sets_of_fused_axes() -> None:
    known = ranges(p=32, o=4, i=8)
    sets = {PARENT: IntervalSet(IntImm(8), IntImm(11))}
    FUSE.sets_up(sets, known, AS_TVM)
    ends = [Analyzer().simplify(end).value for one in (OUTER, INNER) for end in sets[one]]
    assert ends == [1, 1, 0, 3]


def test_guards_are_for_what_goes_beyond() -> None:
    for parent, needed in ((16, False), (13, True)):
        guarded = {OUTER: False, INNER: False}
        SPLIT.guards_up(guarded, ranges(p=parent, o=4, i=4), Analyzer())
        assert guarded[PARENT] is needed
    promised = Split(PARENT, OUTER, INNER, IntImm(4), None, disable_predication=True)
    guarded = {OUTER: False, INNER: False}
    promised.guards_up(guarded, ranges(p=13, o=4, i=4), Analyzer())
    assert not guarded[PARENT]


def test_marks_spread_along_relations() -> None:
    a, b = axis("a"), axis("b")
    relations = (SPLIT, Split(INNER, a, b, IntImm(2), None))
    assert spread_down(relations, {PARENT: 2}) == dict.fromkeys((PARENT, OUTER, INNER, a, b), 2)
    assert spread_up(relations, {a: 1, OUTER: 2}) == {a: 1, OUTER: 2, INNER: 1, PARENT: 3}


def test_second_range_must_have_the_same_extent() -> None:
    known: Ranges = {}
    for _ in range(2):
        set_range(known, OUTER, range_of(0, 4), Analyzer())
    with pytest.raises(LoweringError, match="axis o has conflicting extents 4 and 5"):
        set_range(known, OUTER, range_of(0, 5), Analyzer())


def test_ceil_div() -> None:
    n = Var("n")
    assert show(ceil_div(IntImm(13), IntImm(4), Analyzer())) == "4"
    assert show(ceil_div(n, IntImm(4), Analyzer())) == "((n + 3) // 4)"


def test_range_of_numbers() -> None:
    found: Range = range_of(2, 3)
    assert (show(found.min), show(found.extent)) == ("2", "3")
