"""Loops, branches, allocations, vectors of memory and asserts."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import BuildError, CallError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.programs import buffer, build, elementwise, function, loop

N = 32
ZERO = E.IntImm(0)


def load(source: E.Buffer, index: E.Expr) -> E.BufferLoad:
    return E.BufferLoad(source, (index,))


def test_extents_of_zero_and_one() -> None:
    for n in (0, 1):
        a, b = np.arange(n, dtype="float32"), np.full(n, 7, "float32")
        build(elementwise(lambda x: E.Add(x, x), ["float32"], n))(a, b)
        np.testing.assert_array_equal(b, a + a)


def test_gather_and_scatter() -> None:
    source, places, target = buffer("A", [N]), buffer("P", [8], "int32"), buffer("B", [N])
    index = load(places, E.Ramp(ZERO, E.IntImm(1), 8))
    body = S.BufferStore(target, load(source, index), (index,))
    a, p, b = (
        np.arange(N, dtype="float32"),
        np.array([3, 9, 1, 30, 2, 11, 5, 7], "int32"),
        np.zeros(N, "float32"),
    )
    build(function([source, places, target], body))(a, p, b)
    np.testing.assert_array_equal(b, np.where(np.isin(a, p), a, 0))


def test_vectors_of_three_are_not_padded() -> None:
    target = buffer("B", [12])
    threes = E.Buffer(target.data, "float32x3", (E.IntImm(4),), (), ZERO, "threes")
    body = S.BufferStore(threes, E.Broadcast(E.FloatImm(2.0), 3), (E.IntImm(2),))
    b = np.zeros(12, "float32")
    build(function([target], body))(b)
    np.testing.assert_array_equal(b, np.repeat([0, 0, 2, 0], 3))


def test_bools_take_a_byte() -> None:
    a, b = np.arange(N) % 3 == 0, np.zeros(N, "bool")
    for lanes in (1, 8):
        build(elementwise(lambda x: E.Not(x), ["bool"], N, lanes=lanes))(a, b)
        np.testing.assert_array_equal(b, ~a)


@pytest.mark.parametrize("size", [4, 1 << 20])
@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_allocations_on_stack_and_heap(size: int, kind: str) -> None:
    source, target = buffer("A", [N]), buffer("B", [N])
    room = buffer("T", [size])

    def body(i: E.Var) -> S.Stmt:
        last = E.IntImm(size - 1)
        first = S.BufferStore(room, ops.mul(load(source, i), 3.0), (last,))
        stored = S.SeqStmt((first, S.BufferStore(target, load(room, last), (i,))))
        return S.Allocate(room.data, "float32", room.shape, ops.TRUE, stored)

    a, b = np.arange(N, dtype="float32"), np.zeros(N, "float32")
    build(function([source, target], loop(N, body, kind)))(a, b)
    np.testing.assert_array_equal(b, 3 * a)


def test_allocation_that_fails_is_an_error() -> None:
    n = E.Var("n", "int64")
    target, room = buffer("B", [1]), buffer("T", [n])
    body = S.Allocate(
        room.data, "float32", (n, n), ops.TRUE, S.BufferStore(target, load(room, ZERO), (ZERO,))
    )
    module = build(function([n, target], body))
    for size in (1 << 26, 1 << 40):
        with pytest.raises(
            CallError, match=r"^there is not enough memory for the intermediate buffer T\n"
        ):
            module(size, np.zeros(1, "float32"))


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_failed_assertion_names_its_message(kind: str) -> None:
    target, room = buffer("B", [N]), buffer("T", [1 << 20])

    def body(i: E.Var) -> S.Stmt:
        stored = S.BufferStore(target, E.FloatImm(1.0), (i,))
        checked = S.AssertStmt(E.LT(i, E.IntImm(5)), E.StringImm("i is below five"), stored)
        return S.Allocate(room.data, "float32", room.shape, ops.TRUE, checked)

    with pytest.raises(CallError, match=r"^an assertion does not hold: i is below five\n"):
        build(function([target], loop(N, body, kind)))(np.zeros(N, "float32"))


def test_while_and_let() -> None:
    target = buffer("B", [1], "int32")
    value = load(target, ZERO)
    x = E.Var("x")
    step = S.LetStmt(x, E.Add(value, E.IntImm(3)), S.BufferStore(target, x, (ZERO,)))
    b = np.zeros(1, "int32")
    build(function([target], S.While(E.LT(value, E.IntImm(10)), step)))(b)
    assert b[0] == 12


def test_unbound_variable_is_refused() -> None:
    target = buffer("B", [N])
    body = S.BufferStore(target, E.FloatImm(0.0), (E.Var("threadIdx.x"),))
    with pytest.raises(BuildError, match=r"variable threadIdx\.x has no value"):
        build(function([target], body))


def test_device_threads_are_refused() -> None:
    target = buffer("B", [N])
    thread = E.IterVar(None, E.Var("threadIdx.x"), "ThreadIndex", "threadIdx.x")
    store = S.BufferStore(target, E.FloatImm(0.0), (thread.var,))
    with pytest.raises(BuildError, match=r"a loop is bound to threadIdx\.x"):
        build(function([target], S.AttrStmt(thread, "thread_extent", E.IntImm(N), store)))


def test_compound_unlowered_nodes_are_refused() -> None:
    target = buffer("B", [N])
    body = S.BufferRealize(target, (), ops.TRUE, S.BufferStore(target, E.FloatImm(0.0), (ZERO,)))
    with pytest.raises(BuildError, match="BufferRealize"):
        build(function([target], body))


def test_deep_expressions_are_compiled() -> None:
    def chain(x: E.Expr) -> E.Expr:
        total = x
        for _ in range(2000):
            total = E.Add(total, x)
        return total

    A, B = np.ones((2, N), "float32")
    build(elementwise(chain, ["float32"], N))(A, B)
    assert np.all(B == 2001)


@pytest.mark.parametrize("is_read", [False, True])
def test_condition_for_each_lane_chooses_values_but_not_what_is_computed(is_read: bool) -> None:
    source, target = buffer("A", [N]), buffer("B", [N])
    ramp = E.Ramp(ZERO, E.IntImm(1), 4)
    test = E.LT(ramp, E.Broadcast(E.IntImm(2), 4))
    value: E.Expr = E.BufferLoad(source, (ramp,)) if is_read else E.Broadcast(E.FloatImm(1.0), 4)
    chosen = E.Call("float32x4", "tir.if_then_else", (test, value, E.Broadcast(E.FloatImm(0.0), 4)))
    func = function([source, target], S.BufferStore(target, chosen, (ramp,)))
    if is_read:
        with pytest.raises(BuildError, match=r"use tir\.Select"):
            build(func)
        return
    b = np.full(N, 7, "float32")
    build(func)(np.zeros(N, "float32"), b)
    assert list(b[:5]) == [1, 1, 0, 0, 7]


def test_a_value_has_the_lanes_of_its_place():
    func = elementwise(lambda a: E.Call("float32", "tir.exp", (a,)), ["float32"], 80, lanes=40)
    with pytest.raises(BuildError, match=r"has 40 lanes, and its index 32"):
        build(func)
