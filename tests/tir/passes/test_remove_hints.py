"""Assumptions and stores of undefined values go."""

from __future__ import annotations

import pytest

from te_sched.errors import LoweringError
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Call
from te_sched.ir.stmt import Evaluate, LetStmt, Stmt
from te_sched.tir.passes.remove_hints import remove_assumptions, remove_undefined_stores
from tests.lowering.build import block, function, loop, read, store, text, var

A = decl_buffer((8,), "int32", name="A")
UNDEFINED = Call("int32", "tir.undef", ())
i, x = var("i"), var("x")


def test_loops_of_assumptions_go() -> None:
    known = Evaluate(Call("bool", "tir.assume", (read(A, i) < 8,)))
    func = function(block(loop(i, 8, known), store(A, 1, 0)), A)
    assert text(remove_assumptions(func)) == text(function(store(A, 1, 0), A))


@pytest.mark.parametrize(
    "body", [store(A, UNDEFINED + 1, 0), LetStmt(x, UNDEFINED, store(A, x * 2, 0))]
)
def test_stores_of_undefined_values_go(body: Stmt) -> None:
    func = function(block(body, store(A, 1, 1)), A)
    assert text(remove_undefined_stores(func)) == text(function(store(A, 1, 1), A))


def test_other_stores_and_lets_stay() -> None:
    func = function(LetStmt(x, read(A, 1), store(A, x, 0)), A)
    assert remove_undefined_stores(func).body is func.body


@pytest.mark.parametrize(
    "body",
    [
        store(A, 1, UNDEFINED),
        store(A, read(A, UNDEFINED), 0),
        LetStmt(x, UNDEFINED, Evaluate(read(A, x))),
    ],
)
def test_rejects_undefined_indices(body: Stmt) -> None:
    with pytest.raises(LoweringError, match="an index of buffer A is undefined"):
        remove_undefined_stores(function(body, A))
