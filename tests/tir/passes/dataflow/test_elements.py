"""Sets of elements and of values of variables."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.linear_sets import EVERYTHING, NOTHING, Budget
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import And, Broadcast, Buffer, Max, Min, Not, Or, Ramp, Var
from te_sched.tir.passes.dataflow.elements import Elements
from tests.arith.points import has
from tests.lowering.build import read

i, j, n = Var("i"), Var("j"), Var("n")
flag = Var("flag", "bool")
A = decl_buffer((64,), "int32", name="A")
BOX = [(a, b) for a in range(-5, 9) for b in range(-5, 9)]


def elements() -> Elements:
    return Elements(Budget(10**6))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (i < j, lambda a, b: a < b),
        (i + 1 >= j * 2, lambda a, b: a + 1 >= b * 2),
        (i.equal(j), lambda a, b: a == b),
        (i != j, lambda a, b: a != b),
        (And(i < 3, Or(j < 2, i.equal(0))), lambda a, b: a < 3 and (b < 2 or a == 0)),
        (Not(And(i < 3, j < 2)), lambda a, b: not (a < 3 and b < 2)),
        (i // 4 < j, lambda a, b: a // 4 < b),
        (i < Min(j, j * 2), lambda a, b: a < min(b, 2 * b)),
        (Max(i, j) <= 3, lambda a, b: max(a, b) <= 3),
    ],
)
def test_conditions_are_exact(condition: Any, expected: Any) -> None:
    for over in (True, False):
        found = elements().where(condition, over)
        opposite = elements().where(condition, over, holds=False)
        for a, b in BOX:
            assert has(found, {i: a, j: b}) == expected(a, b)
            assert has(opposite, {i: a, j: b}) != expected(a, b)


@pytest.mark.parametrize("condition", [read(A, i) < 3, (i % 3).equal(j)])
def test_unknown_conditions_are_approximated(condition: Any) -> None:
    known = elements()
    assert all(has(known.where(condition, over=True), {i: a, j: b}) for a, b in BOX if a % 3 == b)
    assert known.where(condition, over=False) == NOTHING


def test_opaque_conditions_are_variables() -> None:
    known = elements()
    both = known.where(And(flag, Not(flag)), over=True)
    assert both == NOTHING
    assert known.where(flag, over=False) != NOTHING


def test_lets_are_their_values() -> None:
    known, short = elements(), Var("short", "bool")
    known.define(short, i < 3)
    found = known.where(short, over=False)
    assert [a for a in range(6) if has(found, {i: a})] == [0, 1, 2]


def test_element_of_an_index() -> None:
    known = elements()
    (axis,) = known.axes(A)
    found, lanes = known.at(A, (i * 4 + j,), over=False)
    assert lanes is None
    assert has(found, {axis: 13, i: 3, j: 1})
    assert not has(found, {axis: 12, i: 3, j: 1})


def test_lanes_of_a_vector() -> None:
    known = elements()
    (axis,) = known.axes(A)
    found, lanes = known.at(A, (Ramp(i, j * 0 + 2, 4),), over=False)
    assert lanes is not None
    assert has(found, {axis: 6, i: 0, lanes.var: 3, j: 0})
    assert not has(found, {axis: 8, i: 0, lanes.var: 4, j: 0})


@pytest.mark.parametrize("index", [read(A, i), Broadcast(read(A, i), 4)])
def test_indices_that_are_read_are_unknown(index: Any) -> None:
    assert elements().at(A, (index,), over=False)[0] == NOTHING


def test_indices_of_another_rank_are_unknown() -> None:
    flat: Buffer = decl_buffer((8, 8), "int32", name="flat")
    assert elements().at(flat, (i,), over=False) == (NOTHING, None)
    assert elements().at(flat, (i,), over=True) == (EVERYTHING, None)


def test_in_earlier_and_later_iterations() -> None:
    known = elements()
    (axis,) = known.axes(A)
    place, _ = known.at(A, (i,), over=True)
    earlier = known.in_others(place, i, -1)
    later = known.in_others(place, i, 1)
    assert [a for a in range(6) if has(earlier, {axis: a, i: 3})] == [0, 1, 2]
    assert [a for a in range(6) if has(later, {axis: a, i: 3})] == [4, 5]
