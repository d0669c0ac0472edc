"""Loops are cut at their guards; every iteration still runs once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from te_sched.config import Lowering
from te_sched.ir.expr import Call, Expr, IntImm, Var
from te_sched.ir.ops import FALSE, TRUE, logical_and
from te_sched.ir.stmt import For, IfThenElse, Stmt
from te_sched.lowering.cutter import Cleaner, Cutter, Decider
from te_sched.lowering.statements import is_nothing, nodes_of
from tests.lowering.build import NOTHING, attribute, block, loop, store, temporary, thread

A = temporary("A", 64)
i, j = Var("i"), Var("j")
CONSTANT = Lowering(partition_const_loop=True)


def likely(condition: Any) -> Call:
    return Call("bool", "tir.likely", (condition,))


def guarded(condition: Any, index: Any = i) -> Stmt:
    return IfThenElse(likely(condition), store(A, 1.0, index))


def guards(node: Stmt) -> list[Stmt]:
    """The guards that are not decided."""
    found = nodes_of(node, frozenset((IfThenElse,)))
    return [one for one in found if type(one.condition) is not IntImm]


def loops(node: Stmt) -> list[tuple[str, bool]]:
    """The number of iterations of each loop, and whether a guard is left in it."""
    return [(str(one.extent), bool(guards(one.body))) for one in nodes_of(node, frozenset((For,)))]


def cut(node: Stmt, **choices: Any) -> list[tuple[str, bool]]:
    return loops(Cutter(replace(CONSTANT, **choices)).visit(node))


def test_a_loop_is_cut_where_its_guard_changes() -> None:
    node = loop(i, 13, loop(j, 8, guarded(i * 8 + j < 100, i * 8 + j)))
    # twelve whole rows; of the last one, which is no loop, two halves
    assert sorted(cut(node)) == [("12", False), ("4", False), ("4", False), ("8", False)]


def test_guards_at_both_ends() -> None:
    both = logical_and(likely(i >= 3), likely(i < 17))
    found = cut(loop(i, 20, IfThenElse(both, store(A, 1.0, i))))
    assert sorted(found) == [("14", False), ("3", False), ("3", False)]


def test_guards_that_always_hold_go_without_a_cut() -> None:
    assert cut(loop(i, 20, guarded(i < 20))) == [("20", False)]


def test_constant_loops_are_cut_where_that_is_chosen() -> None:
    node = loop(i, 20, guarded(i < 17))
    assert loops(Cutter(Lowering()).visit(node)) == [("20", True)]
    hinted = attribute(i, "pragma_loop_partition_hint", 1, node)
    assert ("17", False) in loops(Cutter(Lowering()).visit(hinted))


def test_symbolic_loops_are_always_cut() -> None:
    size = Var("size", is_size=True)
    node = loop(i, size, loop(j, 8, guarded(i * 8 + j < size * 8 - 4)))
    found = loops(Cutter(Lowering()).visit(node))
    assert ("T.max(size - 1, 0)", False) in found
    assert ("T.min(1, size)", True) in found  # the last one, if there is one


def test_blocks_choose_between_two_bodies() -> None:
    bx, tx = Var("bx"), Var("tx")
    inner = thread("threadIdx.x", 8, tx, guarded(bx * 8 + tx < 50, bx * 8 + tx))
    made = Cutter(CONSTANT).visit(thread("blockIdx.x", 7, bx, inner))
    (choice, *_) = nodes_of(made, frozenset((IfThenElse,)))
    assert str(choice.condition) == "bx < 6"
    assert not guards(choice.then_case)
    assert guards(choice.else_case)


@pytest.mark.parametrize(("truth", "is_left"), [(True, False), (False, True)])
def test_what_is_decided_goes(truth: bool, is_left: bool) -> None:
    condition: Expr = i < 4
    body = block(guarded(condition), store(A, 2.0, j))
    kept = Decider({condition: truth}).visit(body)
    assert isinstance(kept.seq[0].condition, type(TRUE if truth else FALSE))
    cleaned = Cleaner({condition: truth}, is_last=False).visit(body)
    assert is_left == (not hasattr(cleaned, "seq"))


def test_cleaning_drops_what_is_never_done() -> None:
    condition: Expr = i < 4
    cleaner = Cleaner({condition: False}, is_last=True)
    assert is_nothing(cleaner.visit(guarded(condition)))
    other = IfThenElse(likely(j < 4), NOTHING)
    assert str(cleaner.visit(other).condition) == "j < 4"  # in the end without marks
