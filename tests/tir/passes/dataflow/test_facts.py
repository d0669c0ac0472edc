"""Facts about elements: what is left of them, and what they say."""

from __future__ import annotations

from typing import Any

from te_sched.arith.linear_sets import EVERYTHING, NOTHING, Budget
from te_sched.config import AS_TVM
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Var
from te_sched.tir.passes.dataflow.elements import Elements
from te_sched.tir.passes.dataflow.facts import Fact, Knowledge, Point, is_value
from tests.arith.points import has
from tests.lowering.build import read, store

A = decl_buffer((16,), "int32", name="A")
B = decl_buffer((16,), "int32", name="B")
i, j = Var("i"), Var("j")


def knowledge() -> Knowledge:
    return Knowledge(Elements(Budget(10**6)), AS_TVM)


def fact(know: Knowledge, index: Any, value: Any, buffer: Any = A) -> Fact:
    """The fact that a store gives."""
    elements, _ = know.elements.at(buffer, (index,), over=False)
    return Fact(buffer, elements, value if not isinstance(value, int) else IntImm(value))


def places(know: Knowledge, found: Fact, **at: int) -> list[int]:
    (axis,) = know.elements.axes(found.buffer)
    names = {var: at.get(var.name, 0) for var in (i, j)}
    return [a for a in range(16) if has(found.elements, {axis: a, **names})]


def test_loop_variable_leaves() -> None:
    know = knowledge()
    steps = know.elements.steps(i, IntImm(0), IntImm(5), over=False)
    (left,) = know.leaving([fact(know, i + 1, i * 2)], i, steps)
    assert places(know, left) == [1, 2, 3, 4, 5]
    assert str(left.value) == "A_0 * 2 - 2"


def test_values_that_are_not_determined_are_forgotten() -> None:
    know = knowledge()
    steps = know.elements.steps(i, IntImm(0), IntImm(5), over=False)
    assert know.leaving([fact(know, IntImm(3), i)], i, steps) == []
    (same,) = know.leaving([fact(know, IntImm(3), 7)], i, steps)
    assert places(know, same) == [3]


def test_written_elements_are_removed() -> None:
    know = knowledge()
    every = Fact(A, EVERYTHING, IntImm(0))
    place, _ = know.elements.at(A, (i,), over=True)
    (left,) = know.written([every], A.data, A, place)
    assert places(know, left, i=3) == [a for a in range(16) if a != 3]
    assert know.written([every], A.data, None, EVERYTHING) == []
    assert know.written([every], B.data, B, EVERYTHING) == [every]


def test_branches_meet() -> None:
    know = knowledge()
    zero, one = fact(know, i, 0), fact(know, i, 1)
    where = know.elements.where(i < 8, over=False), know.elements.where(i >= 8, over=False)
    found = know.joined([zero], [one], where)
    assert {str(each.value): places(know, each, i=3) for each in found} == {"0": [3], "1": []}
    both = know.joined([zero], [fact(know, i, 0)], (NOTHING, NOTHING))
    assert places(know, both[0], i=3) == [3]


def test_load_has_the_value_of_its_element() -> None:
    know = knowledge()
    known = Fact(A, EVERYTHING, know.elements.axes(A)[0] + 1)
    assert str(know.known(read(A, j * 2) + 1, Point((known,)))) == "j * 2 + 1 + 1"


def test_loads_of_unknown_elements_stay() -> None:
    know = knowledge()
    point = Point((fact(know, i, 0),))
    assert str(know.known(read(A, j), point)) == "A[j]"
    within = know.elements.where(i.equal(j), over=True)
    assert str(know.known(read(A, j), Point(point.facts, within))) == "0"


def test_cases_of_a_partly_known_element() -> None:
    know = knowledge()
    low = know.elements.where(know.elements.axes(A)[0] < 4, over=False)
    cases = know.cases(read(A, i) * read(B, i), Point((Fact(A, low, IntImm(0)),)))
    values = sorted(str(case.value) for case in cases)
    assert values == ["0", "A[i] * B[i]"]


def test_store_of_the_known_value() -> None:
    know = knowledge()
    known = Point((Fact(A, EVERYTHING, know.elements.axes(A)[0]),))
    assert know.keeps(store(A, i, i), known)
    assert not know.keeps(store(A, i, i + 1), known)


def test_decisions() -> None:
    know = knowledge()
    within = know.elements.where(i < 4, over=True)
    assert know.decided(i < 6, Point((), within)) is True
    assert know.decided(i > 4, Point((), within)) is False
    assert know.decided(i < 2, Point((), within)) is None


def test_elements_of_memory_are_no_values() -> None:
    assert not is_value(read(A, i))
