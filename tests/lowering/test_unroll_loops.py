"""Which loops are copied out, and which pragmas say so."""

from __future__ import annotations

import pytest

from te_sched.config import Lowering
from te_sched.errors import LoweringError
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm
from te_sched.ir.stmt import BufferStore, For, IfThenElse, PrimFunc, SeqStmt, Stmt
from te_sched.ir.visitor import walk
from te_sched.lowering.unroll_loops import unroll_loops
from tests.lowering.build import attribute, expected, function, loop, store, text, var

A = decl_buffer((64,), dtype="int32", name="A")
i, j, n = var("i"), var("j"), var("n")


def unrolled(body: Stmt) -> PrimFunc:
    return unroll_loops(function(body, A, n))


def pragmas(max_step: int, is_explicit: bool, body: Stmt) -> Stmt:
    explicit = attribute(IntImm(0), "pragma_unroll_explicit", int(is_explicit), body)
    return attribute(IntImm(0), "pragma_auto_unroll_max_step", max_step, explicit)


def test_unrolled_loop_is_copied() -> None:
    assert text(unrolled(loop(i, 3, store(A, n, i), kind="unrolled"))) == expected("""
        A[0] = n
        A[1] = n
        A[2] = n
    """)


def test_copies_define_their_own_variables() -> None:
    nest = loop(i, 2, loop(j, 4, store(A, j, i)), kind="unrolled")
    inner = [node.loop_var for node in walk(unrolled(nest).body) if isinstance(node, For)]
    assert len(set(inner)) == 2


@pytest.mark.parametrize(("max_step", "loops"), [(16, 0), (15, 1), (3, 2)])
def test_innermost_loops_are_copied_up_to_the_steps_allowed(max_step: int, loops: int) -> None:
    nest = loop(i, 4, loop(j, 4, store(A, 1, i * 4 + j)))
    func = unrolled(pragmas(max_step, True, nest))
    assert sum(isinstance(node, For) for node in walk(func.body)) == loops


def test_implicit_unrolling_marks_loops() -> None:
    assert text(unrolled(pragmas(16, False, loop(i, 4, store(A, 1, i))))) == expected("""
        for i in T.unroll(4):
            A[i] = 1
    """)


def test_parallel_loops_are_not_copied() -> None:
    func = unrolled(pragmas(16, True, loop(i, 4, store(A, 1, i), kind="parallel")))
    assert text(func).startswith("for i in T.parallel(4):")


def test_extent_must_be_constant() -> None:
    with pytest.raises(LoweringError, match="cannot unroll loop i: its extent n"):
        unrolled(loop(i, n, store(A, 1, i), kind="unrolled"))


def test_copies_without_end_are_refused() -> None:
    nest = loop(i, 1 << 20, loop(j, 1 << 10, store(A, j, i), kind="unrolled"), kind="unrolled")
    with pytest.raises(LoweringError, match="statements, more than 65536"):
        unrolled(nest)


def test_loops_of_branches_are_counted_once() -> None:
    body: Stmt = store(A, 1, i)
    for depth in range(6):
        k, m = var(f"k{depth}"), var(f"m{depth}")
        other = loop(m, 8, store(A, 2, m), kind="unrolled")
        body = loop(k, 2, IfThenElse(n < depth, body, other), kind="unrolled")
    stores = [node for node in walk(unrolled(body).body) if isinstance(node, BufferStore)]
    assert len(stores) == 2**6 + 8 * (2**7 - 2)


def test_program_with_nothing_to_unroll_comes_back() -> None:
    func = function(loop(i, 4, store(A, 1, i)), A, n)
    assert unroll_loops(func) is func


L = decl_buffer((8,), dtype="int32", name="L", scope="local")


def test_loops_over_local_memory_are_unrolled_on_request() -> None:
    body = SeqStmt((loop(i, 2, store(L, i, i)), loop(j, 2, store(A, L[0], j))))
    settings = Lowering(unroll_local_access=True)
    parts = unroll_loops(function(body, A, L), settings).body.seq
    assert [str(part).splitlines()[-1] for part in parts[:2]] == ["L[0] = 0", "L[1] = 1"]
    assert isinstance(parts[2], For)


def test_loops_over_local_memory_stay_without_request() -> None:
    body = loop(i, 2, store(L, i, i))
    assert unroll_loops(function(body, L)).body is body


def test_loops_of_one_step_become_their_body() -> None:
    body = loop(i, 1, loop(j, 9, store(A, i, j)))
    settings = Lowering(auto_unroll_max_extent=1, unroll_explicit=False)
    assert text(unroll_loops(function(body, A), settings)) == expected("""
        for j in range(9):
            A[j] = 0
    """)
