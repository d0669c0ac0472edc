"""The innermost scope that holds all uses of a variable or buffer."""

from __future__ import annotations

from typing import Any

from te_sched.ir import stmt as S
from te_sched.ir.expr import Var
from te_sched.ir.printer.uses import TextScope, Uses
from tests.lowering.build import block, loop, read, store, temporary

A, B, C = (temporary(name, 8) for name in "ABC")
x, y, n = Var("x"), Var("y"), Var("n")
INNER = loop(y, 4, store(A, read(B, n), y))
OUTER = loop(x, 8, INNER, store(C, 1.0, x))


def scope_of(root: S.Stmt, used: Any) -> Any:
    return Uses(root).lowest[used].node


def test_one_use_is_in_the_loop_round_it() -> None:
    assert scope_of(OUTER, B) is scope_of(OUTER, A.data) is scope_of(OUTER, n) is INNER
    assert scope_of(OUTER, C) is OUTER


def test_two_uses_meet_in_the_loop_round_both() -> None:
    again = loop(x, 8, INNER, store(B, 1.0, x))
    assert scope_of(again, B) is again
    assert scope_of(block(OUTER, store(C, 1.0, 0)), C) is None


def test_an_expression_in_two_places_counts_where_it_occurs_first() -> None:
    shared = read(B, n)
    first = loop(x, 4, store(A, shared, x))
    both = block(first, loop(y, 4, store(A, shared, y)))
    assert scope_of(both, B) is scope_of(both, n) is first
    again = block(first, loop(y, 4, store(A, read(B, n), y)))
    assert scope_of(again, B) is None
    computed = read(B, n + 1)
    renewed = block(loop(x, 4, store(A, computed, x)), loop(y, 4, store(A, computed, y)))
    assert scope_of(renewed, B) is None


def test_branches_are_scopes_of_their_own() -> None:
    one, other = store(A, 1.0, 0), store(B, 1.0, 0)
    choice = S.IfThenElse(n < 1, one, other)
    assert (scope_of(choice, A), scope_of(choice, B), scope_of(choice, n)) == (one, other, None)


def test_expressions_alone_have_the_outermost_scope() -> None:
    uses = Uses(read(A, n) + 1.0)
    assert {scope.node for scope in uses.lowest.values()} == {None}
    assert set(uses.lowest) == {A, A.data, n}


def test_scopes_hold_those_within() -> None:
    root = TextScope(None, None)
    inner, other = TextScope(INNER, root), TextScope(OUTER, root)
    assert root.holds(inner)
    assert inner.holds(TextScope(None, inner))
    assert not inner.holds(other)
    assert not inner.holds(root)
