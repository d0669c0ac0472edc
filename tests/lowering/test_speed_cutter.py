"""What is worth a cut: how often statements run, and how many a cut adds."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.config import Lowering
from te_sched.ir.expr import Call, Var
from te_sched.ir.stmt import For, IfThenElse, Stmt
from te_sched.lowering.speed_cutter import SpeedCutter
from te_sched.lowering.statements import nodes_of
from tests.lowering.build import block, loop, store, temporary

A = temporary("A", 64)
i, j, k, n = Var("i"), Var("j"), Var("k"), Var("n")


def guarded(condition: Any) -> Stmt:
    return IfThenElse(Call("bool", "tir.likely", (condition,)), store(A, 1.0, j))


def cutter(body: Stmt) -> SpeedCutter:
    return SpeedCutter(Lowering(), body)


STORE = store(A, 1.0, 0)


@pytest.mark.parametrize(
    ("body", "size"),
    [
        (STORE, (1, 1, 0)),
        (block(STORE, STORE), (2, 2, 0)),
        (loop(i, 10, STORE), (1, 10, 0)),
        (loop(i, 10, STORE, kind="unrolled"), (10, 10, 0)),
        (loop(i, 10, guarded(i < 9)), (1, 10, 10)),
        (loop(i, 4, STORE, kind="vectorized"), (1, 4, 0)),
        (loop(i, 32, STORE, kind="vectorized"), (4, 32, 0)),
        (loop(i, n, STORE), (1, 1024, 0)),
    ],
)
def test_sizes(body: Stmt, size: tuple[int, int, int]) -> None:
    assert cutter(body).size(body) == size


def test_loops_repeat_what_is_in_them() -> None:
    one = cutter(STORE)
    with one.repeated(10), one.repeated(3):
        assert one.turns == 30
    assert one.turns == 1


def test_room_is_taken_and_not_given_twice() -> None:
    many = loop(i, 1 << 20, loop(j, 8, guarded(i * 8 + j < 1 << 22)))
    one = cutter(many)
    assert isinstance(many, For)
    assert one.room == 64
    assert one.pays(many, [many, many])
    assert one.room == 63
    assert not one.pays(many, [many] * 66)
    assert one.pays(many, [many])


def test_little_work_is_not_cut() -> None:
    little = loop(i, 10, loop(j, 8, guarded(i * 8 + j < 77)))
    assert cutter(little).visit(little) is little
    much = loop(i, 1 << 18, loop(j, 8, guarded(i * 8 + j < (1 << 21) - 3)))
    found = list(nodes_of(cutter(much).visit(much), frozenset((IfThenElse,))))
    assert not found or len(found) < 2


def test_a_parallel_loop_stays_one() -> None:
    much = loop(i, 1 << 18, loop(j, 8, guarded(i * 8 + j < (1 << 21) - 3)), kind="parallel")
    made = cutter(much).visit(much)
    assert [one.kind for one in nodes_of(made, frozenset((For,)))].count("parallel") == 1
    assert isinstance(made, For)
    assert isinstance(made.body, IfThenElse)
    assert str(made.body.condition) == "i < 262143"


def test_versions_of_an_unrolled_loop_are_chosen_once() -> None:
    inner = loop(j, 8, guarded(k % 13 * 8 + j < 100))
    body = loop(k, 1 << 14, loop(i, 32, inner, kind="unrolled"))
    cut = cutter(body).visit(body)
    (choice,) = (one for one in nodes_of(cut, frozenset((IfThenElse,))) if one.else_case)
    assert isinstance(choice.then_case, For)
    assert isinstance(choice.else_case, For)
    assert (choice.then_case.kind, choice.else_case.kind) == ("unrolled", "serial")
    assert choice.then_case.loop_var is not choice.else_case.loop_var


def test_versions_that_an_unrolled_loop_decides_stay_in_it() -> None:
    inner = loop(j, 8, guarded(k % 13 * 64 + i * 8 + j < 800))
    body = loop(k, 1 << 14, loop(i, 8, inner, kind="unrolled"))
    cut = cutter(body).visit(body)
    kinds = [one.kind for one in nodes_of(cut, frozenset((For,))) if one.loop_var.name == "i"]
    assert kinds
    assert set(kinds) == {"unrolled"}
