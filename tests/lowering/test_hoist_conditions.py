"""Which conditions leave which loops."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.config import Lowering
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Call
from te_sched.ir.stmt import Allocate, AttrStmt, For, IfThenElse, LetStmt, PrimFunc, Stmt
from te_sched.ir.visitor import statements
from te_sched.lowering.hoist_conditions import hoist_conditions
from tests.lowering.build import (
    allocate,
    block,
    expected,
    function,
    loop,
    read,
    store,
    temporary,
    text,
    thread,
    var,
)

A = decl_buffer((64,), name="A")
i, j, k, n, x = var("i"), var("j"), var("k"), var("n"), var("x")
WORK = store(A, 1.0, 0)


def make(body: Stmt) -> PrimFunc:
    return function(body, A, n)


def test_condition_leaves_the_loops_that_it_does_not_depend_on() -> None:
    body = loop(i, 4, loop(j, 4, loop(k, 4, IfThenElse(i < 2, WORK))))
    assert text(hoist_conditions(make(body))) == expected("""
        for i in range(4):
            if i < 2:
                for j, k in T.grid(4, 4):
                    A[0] = T.float32(1)
    """)


def test_conditions_keep_their_order_and_those_that_depend_stay() -> None:
    guards = IfThenElse(i < 2, IfThenElse(j < 3, IfThenElse(i > 0, WORK)))
    assert text(hoist_conditions(make(loop(i, 4, loop(j, 4, guards))))) == expected("""
        for i in range(4):
            if i < 2:
                if i > 0:
                    for j in range(4):
                        if j < 3:
                            A[0] = T.float32(1)
    """)


def test_sequence_is_a_wall() -> None:
    func = make(loop(i, 4, block(IfThenElse(n < 2, WORK), WORK)))
    assert hoist_conditions(func) is func


def test_thread_is_a_wall() -> None:
    func = make(loop(i, 4, thread("threadIdx.x", 4, x, IfThenElse(n < 2, WORK))))
    assert hoist_conditions(func) is func


def test_conditions_on_threads_lets_and_memory_stay() -> None:
    on_thread = thread("threadIdx.x", 4, x, loop(i, 4, IfThenElse(x < 2, WORK)))
    on_let = LetStmt(x, n * 2, loop(i, 4, IfThenElse(x < 2, WORK)))
    on_memory = loop(i, 4, IfThenElse(read(A, 0) < 2.0, WORK))
    for body in (on_thread, on_let, on_memory):
        func = make(body)
        assert hoist_conditions(func) is func


def test_allocation_is_no_wall() -> None:
    B = temporary("B", 4, scope="global")
    body = loop(i, 4, allocate(B, loop(j, 4, IfThenElse(n < 2, store(B, 0.0, j)))))
    assert text(hoist_conditions(make(body))).startswith("if n < 2:")


def test_both_branches_get_the_loop() -> None:
    branch = IfThenElse(n < 2, WORK, store(A, 2.0, i))
    found = text(hoist_conditions(make(loop(i, 4, branch))))
    assert found.startswith("if n < 2:\n    for i in range(4):")
    assert "\nelse:\n    for i in range(4):" in found


def test_each_branch_defines_variables_of_its_own() -> None:
    B = temporary("B", 4, scope="global")
    branch = IfThenElse(n < 2, store(B, 0.0, i), store(B, 1.0, i))
    found = hoist_conditions(make(loop(i, 4, allocate(B, branch)))).body
    assert isinstance(found, IfThenElse)
    of_then, of_else = (
        {node.buffer_var for node in statements(side) if isinstance(node, Allocate)}
        | {node.loop_var for node in statements(side) if isinstance(node, For)}
        for side in (found.then_case, found.else_case)
    )
    assert len(of_then) == len(of_else) == 2
    assert of_then.isdisjoint(of_else)


def test_condition_in_one_branch_says_nothing_about_the_other() -> None:
    branch = IfThenElse(i < 2, IfThenElse(n < 2, WORK), store(A, 2.0, i))
    func = make(loop(i, 4, branch))
    assert hoist_conditions(func) is func


def test_likely_conditions_leave_too() -> None:
    guard = IfThenElse(Call("bool", "tir.likely", (n < 2,)), WORK)
    assert text(hoist_conditions(make(loop(i, 4, guard)))).startswith("if T.likely(n < 2):")


def test_a_branch_is_chosen_in_each_copy_of_a_loop() -> None:
    B = decl_buffer((8,), "int32", name="B")
    choice = IfThenElse(n < 3, store(B, 1, i), store(B, 2, i))
    func = hoist_conditions(function(loop(i, 8, choice), B, n))
    found = func.body
    assert isinstance(found, IfThenElse)
    assert [type(part.body).__name__ for part in (found.then_case, found.else_case)] == [
        "BufferStore"
    ] * 2
    module = te_sched.build(func)
    for value, wanted in ((2, 1), (3, 2)):
        out = te_sched.nd.array(np.zeros(8, "int32"))
        module(out, value)
        assert out.numpy().tolist() == [wanted] * 8


@pytest.mark.parametrize("is_outside", [True, False])
def test_conditions_on_threads_move_if_wanted(is_outside: bool) -> None:
    x = var("threadIdx.x")
    work: Stmt = IfThenElse(x < 3, WORK)
    tag = x.name
    inner = work if is_outside else thread(tag, 8, x, work)
    nest = thread(tag, 8, x, loop(i, 8, inner)) if is_outside else loop(i, 8, inner)
    func = make(nest)
    assert hoist_conditions(func) is func
    new = hoist_conditions(func, Lowering(hoist_thread_conditions=True))
    assert (new is func) == (not is_outside)
    assert isinstance(new.body.body, IfThenElse) == is_outside


def test_conditions_on_loops_with_pragmas_stay() -> None:
    inner = loop(j, 8, IfThenElse(i < 3, WORK))
    nest = make(AttrStmt(i, "pragma_unroll_explicit", ops.convert(1), loop(i, 8, inner)))
    assert hoist_conditions(nest) is nest
    moves = Lowering(hoist_thread_conditions=True)
    assert hoist_conditions(nest, moves) is not nest


def test_conditions_stay_inside_of_pragmas() -> None:
    inner = loop(j, 8, IfThenElse(n < 3, WORK))
    nest = loop(i, 8, AttrStmt(j, "pragma_unroll_explicit", ops.convert(1), inner))
    assert [type(one).__name__ for one in statements(hoist_conditions(make(nest)).body)][:4] == [
        "For",
        "AttrStmt",
        "IfThenElse",
        "For",
    ]
