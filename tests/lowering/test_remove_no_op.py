"""What does nothing goes, what has an effect stays."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.ir.blocks import DeclBuffer
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.stmt import BufferStore, Evaluate, IfThenElse, LetStmt, Stmt
from te_sched.lowering.remove_no_op import remove_no_op
from te_sched.script import tir as T
from tests.lowering.build import (
    EFFECT,
    NOTHING,
    allocate,
    attribute,
    block,
    function,
    loop,
    read,
    store,
    temporary,
    text,
    var,
)

A = decl_buffer((64,), name="A")
i, n, x = var("i"), var("n"), var("x")
WORK = store(A, 1.0, 0)
B = temporary("B", 4, scope="global")


def left(body: Stmt) -> str:
    return text(remove_no_op(function(body, A, n)))


@pytest.mark.parametrize(
    "body",
    [
        Evaluate(read(A, n)),
        loop(i, n, NOTHING),
        loop(i, 0, WORK),
        IfThenElse(n < 4, NOTHING),
        IfThenElse(n < 4, NOTHING, NOTHING),
        attribute(n, "pragma_debug_skip_region", 1, WORK),
        attribute(n, "pragma_foo", n, NOTHING),
        LetStmt(x, n * 2, NOTHING),
        allocate(B, NOTHING),
        store(A, read(A, n + 1), n + 1),
        block(NOTHING, loop(i, 4, NOTHING)),
    ],
)
def test_goes(body: Stmt) -> None:
    assert left(body) == "T.evaluate(0)"
    assert left(block(body, WORK)) == "A[0] = T.float32(1)"


@pytest.mark.parametrize(
    "body",
    [
        EFFECT,
        loop(i, call_extern("int32", "f"), NOTHING),
        IfThenElse(call_extern("int32", "f") < 1, NOTHING),
        attribute(n, "pragma_foo", call_extern("int32", "f"), NOTHING),
        LetStmt(x, call_extern("int32", "f"), NOTHING),
    ],
)
def test_effects_stay(body: Stmt) -> None:
    assert left(body).removeprefix("T.evaluate(").startswith('T.call_extern("int32", "f")')


def test_store_through_a_view_of_another_shape_stays() -> None:
    view = decl_buffer((32,), data=A.data)
    assert left(store(view, read(A, n), n)) != "T.evaluate(0)"


def test_only_else_becomes_the_negation() -> None:
    assert left(IfThenElse(n < 4, NOTHING, WORK)).startswith("if not n < 4:")


def test_empty_else_goes() -> None:
    assert "else" not in left(IfThenElse(n < 4, WORK, NOTHING))


def test_unused_value_goes_and_its_body_stays() -> None:
    assert left(LetStmt(x, n * 2, WORK)) == "A[0] = T.float32(1)"


def test_nothing_to_remove_is_the_same_function() -> None:
    func = function(loop(i, 4, block(WORK, EFFECT)), A)
    assert remove_no_op(func) is func


def test_copies_to_the_same_place_go() -> None:
    assert left(LetStmt(x, n * 4 + i, store(A, read(A, x), n * 4 + i))) == "T.evaluate(0)"
    guarded = IfThenElse(n != 0, WORK, store(A, read(A, 0), n))
    assert "else" not in left(guarded)
    assert "A[n]" in left(store(A, read(A, i), n))


def test_loops_that_never_run_go() -> None:
    assert left(loop(i, 16, loop(x, i - 20, WORK))) == "T.evaluate(0)"
    assert left(loop(i, 32, loop(x, i - 20, WORK))) != "T.evaluate(0)"


def test_declaration_of_nothing_goes() -> None:
    assert left(allocate(B, DeclBuffer(B, NOTHING))) == "T.evaluate(0)"


def test_pointers_of_buffers_stay() -> None:
    @T.prim_func
    def rows(A: T.Buffer((4, 8), "float32")):
        for i in range(4):
            row: T.handle("float32") = T.address_of(A[i, 0])
            first = T.decl_buffer((8,), "float32", data=row)
            with T.decl_buffer((8,), "float32", data=row) as second:
                second[0] = T.float32(1)
            first[1] = T.float32(2)

    a = np.zeros((4, 8), "float32")
    te_sched.build(rows)(a)
    assert a[:, :2].tolist() == [[1, 2]] * 4


def test_values_of_values_that_nothing_uses_are_removed() -> None:
    """Also between those that are used, by a value or by the layout of a buffer."""
    first, second, third, last = (Var(name, "int32") for name in "abcd")
    buffer = decl_buffer((8,), "int32", "B", elem_offset=third)
    writing: Stmt = BufferStore(buffer, IntImm(1), (IntImm(0),))
    values = {first: Var("n", "int32"), second: first + 1, third: first + 2, last: second + third}
    body = writing
    for variable in reversed(values):
        body = LetStmt(variable, values[variable], body)
    body = remove_no_op(function(body)).body
    kept = []
    while isinstance(body, LetStmt):
        kept.append(body.var)
        body = body.body
    assert kept == [first, third]
    assert body is writing
