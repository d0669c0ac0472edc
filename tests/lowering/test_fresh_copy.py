"""Looking at statements, and copying them with definitions of their own."""

from __future__ import annotations

from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.structural import structural_equal
from te_sched.lowering.statements import NOTHING, fresh_copy, sequence

N, J = Var("n"), Var("j")
ZERO, FOUR = IntImm(0), IntImm(4)
A = decl_buffer((N,), "float32", "A")


def store(index: E.Expr = J) -> S.BufferStore:
    return S.BufferStore(A, E.BufferLoad(A, (index,)), (index,))


def loop(body: S.Stmt) -> S.For:
    return S.For(J, ZERO, N, "serial", body)


def allocated(body: S.Stmt) -> S.Allocate:
    return S.Allocate(A.data, "float32", (N,), ops.TRUE, body)


def test_fresh_copy_defines_new_variables():
    copy = fresh_copy(loop(store()), {})
    assert copy.loop_var is not J
    assert copy.body.indices == (copy.loop_var,)
    assert structural_equal(copy, loop(store()))


def test_fresh_copy_has_one_buffer_for_all_uses_of_a_new_pointer():
    copy = fresh_copy(allocated(S.SeqStmt((loop(store()), loop(store())))), {N: FOUR})
    first, second = copy.body.seq
    assert first.body.buffer is second.body.buffer is second.body.value.buffer
    assert first.body.buffer.data is copy.buffer_var
    assert first.body.buffer.shape == (FOUR,)


def test_fresh_copy_has_a_buffer_for_each_allocation_of_a_pointer():
    copy = fresh_copy(S.SeqStmt((allocated(store(ZERO)), allocated(store(ZERO)))), {})
    for part in copy.seq:
        assert part.body.buffer.data is part.buffer_var
    assert copy.seq[0].buffer_var is not copy.seq[1].buffer_var


def test_fresh_copy_takes_a_buffer_that_is_named_before_its_allocation():
    copy = fresh_copy(S.AttrStmt(A, "double_buffer_scope", ZERO, allocated(store(ZERO))), {})
    assert copy.body.body.buffer.data is copy.body.buffer_var


def test_fresh_copy_takes_what_describes_a_reducer():
    x, y = Var("x"), Var("y")
    reducer = E.CommReducer((x,), (y,), (ops.add(x, y),), (ZERO,))
    copy = fresh_copy(S.AttrStmt(reducer, "reduce_scope", ZERO, loop(store())), {})
    assert structural_equal(copy.node, reducer)
    assert copy.body.loop_var is not J


def test_sequence_is_flat():
    assert sequence([None]) is NOTHING
    assert sequence([NOTHING, S.SeqStmt((NOTHING, NOTHING))]).seq == (NOTHING,) * 3
