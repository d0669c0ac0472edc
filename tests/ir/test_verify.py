"""The verifier: what is ill-formed at which level."""

from __future__ import annotations

import pytest

from te_sched.errors import BuildError, InternalError
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.verify import check_definitions, free_variables, verify
from te_sched.lowering.assemble import bind_buffer

ROW, COL, F = Var("i"), Var("j"), Var("f", "float32")
VECTOR = E.Broadcast(F, 4)
TRUE = IntImm(1, "bool")
A = decl_buffer((4, 4), "float32", "A")
FLAT = decl_buffer((16,), "float32", "A", data=A.data)
HANDLE = Var("A", "handle")


def function(body: S.Stmt, *params: Var) -> S.PrimFunc:
    return S.PrimFunc((HANDLE, F, *params), body, {HANDLE: A})


def loop(body: S.Stmt, kind: str = "serial", var: Var = ROW) -> S.For:
    return S.For(var, IntImm(0), IntImm(4), kind, body)


def store(*indices: E.Expr, value: E.Expr = F, buffer: E.Buffer = FLAT) -> S.BufferStore:
    return S.BufferStore(buffer, value, indices)


def attribute(key: str, body: S.Stmt) -> S.AttrStmt:
    axis = E.IterVar(None, COL, "ThreadIndex", "threadIdx.x")
    return S.AttrStmt(axis, key, IntImm(4), body)


WELL_FORMED = {
    "a loop": ("final", loop(store(ROW))),
    "two dimensions": ("buffers", loop(store(ROW, ROW, buffer=A))),
    "a realized buffer": (
        "buffers",
        S.BufferRealize(A, (E.Range(IntImm(0), IntImm(4)),) * 2, TRUE, store(ROW, ROW, buffer=A)),
    ),
    "a launched thread": ("final", attribute("thread_extent", store(COL))),
    "a thread launched twice": (
        "final",
        S.SeqStmt((attribute("thread_extent", store(COL)), attribute("thread_extent", store(COL)))),
    ),
    "a free thread": ("final", S.IfThenElse(E.EQ(COL, IntImm(0)), store(IntImm(0)))),
    "one loop variable in two loops": ("final", S.SeqStmt((loop(store(ROW)), loop(store(ROW))))),
    "a vector": ("final", store(E.Ramp(IntImm(0), IntImm(1), 4), value=E.Broadcast(F, 4))),
}
WARP = Var("t", "handle", E.PointerType("float32", "warp"))
ILL_FORMED = {
    "a launch in the host": (
        "host",
        attribute("thread_extent", store(COL)),
        "attribute thread_extent does not occur at this level",
    ),
    "a launch in a kernel": (
        "kernel",
        S.Evaluate(E.Call("int32", "tir.launch_kernel", ())),
        "tir.launch_kernel does not occur at this level",
    ),
    "a free variable in a kernel": ("kernel", store(ROW), "variable i is used outside"),
    "a reduction over threads": (
        "kernel_reduced",
        attribute("reduce_scope", store(COL)),
        "attribute reduce_scope does not occur at this level",
    ),
    "memory of a warp": (
        "kernel_final",
        S.Allocate(WARP, "float32", (IntImm(4),), TRUE, store(IntImm(0))),
        "memory of scope warp does not occur at this level",
    ),
    "operands": ("flat", store(E.Add(IntImm(1), IntImm(1, "int64"))), "int32 and int64"),
    "float index": ("flat", store(F), "index 0 is float32, not an integer"),
    "dimensions": ("buffers", store(ROW, buffer=A), "1 indices, but A has 2 dimensions"),
    "not flat": ("flat", store(ROW, ROW, buffer=A), "accessed by 2 indices after flattening"),
    "stored type": ("flat", store(ROW, value=IntImm(1)), "it stores int32 in float32"),
    "condition": ("flat", S.IfThenElse(ROW, store(ROW)), "its condition is int32, not bool"),
    "and": ("flat", S.IfThenElse(E.And(TRUE, ROW), store(ROW)), "an operand is int32, not bool"),
    "select": ("flat", store(ROW, value=E.Select(TRUE, F, ROW)), "types float32 and int32"),
    "ramp": ("flat", store(E.Ramp(ROW, IntImm(1, "int64"), 4), value=VECTOR), "its stride int64"),
    "broadcast": ("flat", S.Evaluate(E.Broadcast(E.Broadcast(F, 4), 2)), "not one element"),
    "loop inside itself": ("flat", loop(loop(store(ROW))), "inside of its own definition"),
    "out of scope": (
        "flat",
        S.SeqStmt((loop(store(ROW)), store(ROW))),
        "outside of its definition",
    ),
    "no memory": (
        "flat",
        store(ROW, buffer=decl_buffer((4,), "float32", "B")),
        "variable B is used outside",
    ),
    "nested sequence": (
        "flat",
        S.SeqStmt((store(ROW), S.SeqStmt((store(ROW), store(ROW))))),
        "a sequence in a sequence",
    ),
    "vectorized": ("vector", loop(store(ROW), "vectorized"), "a vectorized loop does not occur"),
    "virtual": ("final", attribute("virtual_thread", store(COL)), "virtual_thread does not occur"),
    "realized": (
        "flat",
        S.BufferRealize(A, (E.Range(IntImm(0), IntImm(4)),) * 2, TRUE, store(ROW)),
        "a BufferRealize does not occur",
    ),
    "loop types": (
        "flat",
        S.For(ROW, IntImm(0), IntImm(4, "int64"), "serial", store(ROW)),
        "types int32, int32, int64",
    ),
    "let": ("flat", S.LetStmt(ROW, F, store(ROW)), "i is int32, its value float32"),
}


@pytest.mark.parametrize(("level", "body"), WELL_FORMED.values(), ids=WELL_FORMED)
def test_verify_accepts(level: str, body: S.Stmt) -> None:
    verify(function(body), level)


@pytest.mark.parametrize(("level", "body", "why"), ILL_FORMED.values(), ids=ILL_FORMED)
def test_verify_rejects(level: str, body: S.Stmt, why: str) -> None:
    with pytest.raises(InternalError, match=why):
        verify(function(body), level)


def test_the_message_names_the_node() -> None:
    with pytest.raises(InternalError, match=r"ill-formed BufferStore: A.* = 1\n.*function main"):
        verify(function(store(ROW, value=IntImm(1))), "flat")


def test_free_variables_are_those_used_outside_of_definitions() -> None:
    body = S.SeqStmt((loop(store(ROW)), store(COL)))
    assert free_variables(function(body)) == {COL}
    verify(function(body), "final", free={COL})
    with pytest.raises(InternalError, match="variable j is used outside of its definition"):
        verify(function(body), "final", free=())


def test_a_float_may_not_be_free() -> None:
    with pytest.raises(InternalError, match="variable x is used outside"):
        verify(function(store(ROW, value=Var("x", "float32"))), "final")


def test_a_view_of_a_whole_tensor_does_not_define_its_sizes() -> None:
    size, width = Var("n"), Var("w")
    whole = decl_buffer((size,), "float32", "W")
    view = decl_buffer((size, width), "float32", "V")
    bound = bind_buffer(view, whole, [IntImm(0), size], loop(store(width)))
    verify(function(S.SeqStmt((bound, store(size))), whole.data), "tensors")
    with pytest.raises(InternalError, match="variable w is used outside"):
        verify(function(S.SeqStmt((bound, store(width))), whole.data), "tensors")


def test_definitions_reject_a_loop_variable_after_its_loop() -> None:
    check_definitions(function(loop(store(ROW))))
    after = S.SeqStmt((loop(store(ROW)), store(ROW)))
    with pytest.raises(BuildError, match="variable i is used outside of its definition"):
        check_definitions(function(after))
    with pytest.raises(BuildError, match="variable i is defined inside of its own definition"):
        check_definitions(function(loop(loop(store(ROW)))))
    with pytest.raises(BuildError, match="parameter i: it is a parameter twice"):
        check_definitions(function(store(ROW), ROW, ROW))
