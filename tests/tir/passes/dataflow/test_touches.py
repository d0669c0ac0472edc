"""What statements may read and write."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.linear_sets import EVERYTHING, NOTHING, Budget
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern, call_intrin, changes_memory
from te_sched.ir.expr import Var
from te_sched.ir.stmt import Evaluate, IfThenElse, LetStmt
from te_sched.tir.passes.dataflow.elements import Elements
from te_sched.tir.passes.dataflow.touches import Touches, is_analysable, is_ordered
from tests.arith.points import has
from tests.lowering.build import EFFECT, block, function, loop, read, store

A = decl_buffer((16,), "int32", name="A")
B = decl_buffer((16,), "int32", name="B")
i, n, x = Var("i"), Var("n"), Var("x")


def touched(statement: Any, writes: bool, of: Any = A) -> list[int] | str:
    """The elements that a statement touches for n = 4, or "all"."""
    elements = Elements(Budget(10**6))
    found = Touches(elements, writes).of(statement).of(of, elements)
    (axis,) = elements.axes(of)
    if found == EVERYTHING:
        return "all"
    return [] if found == NOTHING else [a for a in range(16) if has(found, {axis: a, n: 4})]


def test_loop_touches_all_of_its_iterations() -> None:
    body = loop(i, 8, store(A, read(B, i), i + 2))
    assert touched(body, writes=True) == list(range(2, 10))
    assert touched(body, writes=False) == []
    assert touched(body, writes=False, of=B) == list(range(8))


def test_conditions_restrict() -> None:
    both = loop(i, 16, IfThenElse(i < n, store(A, 1, i), store(A, 2, i)))
    assert touched(both, writes=True) == list(range(16))
    guarded = loop(i, 16, IfThenElse(i < n, store(A, 1, i)))
    assert touched(guarded, writes=True) == [0, 1, 2, 3]


def test_lets_are_followed() -> None:
    body = loop(i, 4, LetStmt(x, i * 2, store(A, 1, x)))
    found = touched(body, writes=True)
    assert set(found) >= {0, 2, 4, 6}
    assert max(found) <= 6  # type: ignore[type-var]


def test_unknown_indices_touch_all() -> None:
    assert touched(store(A, 1, read(B, 0)), writes=True) == "all"


def test_calls_touch_all() -> None:
    assert touched(EFFECT, writes=True) == "all"
    assert touched(EFFECT, writes=False) == "all"
    assert touched(Evaluate(call_intrin("void", "tir.ret", 0)), writes=False) == "all"


def test_memory_is_changed_by_calls_alone() -> None:
    assert changes_memory(call_extern("int32", "f"))
    assert not changes_memory(call_intrin("int32", "tir.assume", read(A, 0) < 1))
    assert not changes_memory(read(A, i) + 1)


def test_pointers_of_lets_are_not_analyzed() -> None:
    other = Var("other", "handle", A.data.pointer)
    body = LetStmt(other, A.data, store(A, 1, 0))
    assert not is_analysable(function(body, A))
    assert is_analysable(function(block(store(A, 1, 0), store(A, 2, 1)), A))


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_order_of_iterations(kind: str) -> None:
    assert is_ordered(loop(i, 4, store(A, 1, i)))
    assert not is_ordered(loop(i, 4, store(A, 1, i), kind=kind))
