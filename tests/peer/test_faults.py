"""Faults of lowered programs are found, and no others."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.stmt import BufferStore, For, PrimFunc, SeqStmt, Stmt
from tests.peer.differential.faults import OUTSIDE, UNDEFINED, faults

N, K = Var("n"), Var("i")
A = decl_buffer((N,), "float32", name="A")
HANDLE = Var("A", "handle")


def function(*body: Stmt) -> PrimFunc:
    return PrimFunc((HANDLE,), body[0] if len(body) == 1 else SeqStmt(body), buffer_map={HANDLE: A})


def store(index: object) -> Stmt:
    return BufferStore(A, IntImm(0, "int32").astype("float32"), (index,))


def loop(extent: object) -> Stmt:
    return For(K, IntImm(0), extent, "serial", store(K))


def test_program_within_bounds_has_no_fault() -> None:
    assert faults(function(loop(N)), {"n": 5}) == set()


def test_store_behind_the_end_is_found() -> None:
    assert faults(function(loop(N + 1)), {"n": 5}) == {OUTSIDE}


def test_variable_of_a_finished_loop_is_not_defined() -> None:
    assert faults(function(loop(N), store(K)), {"n": 5}) == {UNDEFINED}


def test_store_outside_of_a_dimension_is_found() -> None:
    table = decl_buffer((N, 4), "float32", name="A", data=A.data, axis_separators=[1])
    one = IntImm(0, "int32").astype("float32")
    bodies = [
        For(K, IntImm(0), IntImm(extent), "serial", BufferStore(table, one, (K, IntImm(0))))
        for extent in (5, 6)
    ]
    assert [faults(function(body), {"n": 5}) for body in bodies] == [set(), {OUTSIDE}]
