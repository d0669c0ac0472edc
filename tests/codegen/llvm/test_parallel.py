"""Parallel loops: their shares, and pragmas about them."""

from __future__ import annotations

import time
from threading import get_ident

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from te_sched.runtime import registry, threads
from te_sched.script import tir as T
from tests.codegen.programs import buffer, build, function, loop


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_every_iteration_runs_once(n: int) -> None:
    target = buffer("B", [max(n, 1)])

    def body(i: E.Var) -> S.Stmt:
        return S.BufferStore(target, ops.add(E.BufferLoad(target, (i,)), 1.0), (i,))

    m = E.Var("m")
    module = build(function([m, target], loop(m, body, "parallel")))
    b = np.zeros(max(n, 1), "float32")
    module(n, b)
    np.testing.assert_array_equal(b, np.ones(n) if n else [0.0])


def test_parallel_anywhere_in_the_nest_and_nested() -> None:
    target = buffer("B", [8, 8, 8])

    def cell(i: E.Var, j: E.Var, k: E.Var) -> S.Stmt:
        return S.BufferStore(
            target,
            ops.cast("float32", ops.add(ops.mul(ops.add(ops.mul(i, 8), j), 8), k)),
            (i, j, k),
        )

    body = loop(
        8, lambda i: loop(8, lambda j: loop(8, lambda k: cell(i, j, k), "parallel"), "parallel")
    )
    b = np.zeros((8, 8, 8), "float32")
    build(function([target], body))(b)
    np.testing.assert_array_equal(b.ravel(), np.arange(512))


def test_bodies_capture_vectors_and_bounds() -> None:
    source, target = buffer("A", [4]), buffer("B", [16])
    v = E.Var("v", "float32x4")
    start = E.Var("start")
    ramp = E.Ramp(E.IntImm(0), E.IntImm(1), 4)

    def body(i: E.Var) -> S.Stmt:
        return S.BufferStore(target, v, (E.Ramp(ops.mul(ops.sub(i, start), 4), E.IntImm(1), 4),))

    inner = S.For(i := E.Var("i"), start, E.IntImm(4), "parallel", body(i))
    module = build(
        function([start, source, target], S.LetStmt(v, E.BufferLoad(source, (ramp,)), inner))
    )
    a, b = np.arange(4, dtype="float32"), np.zeros(16, "float32")
    module(5, a, b)
    np.testing.assert_array_equal(b, np.tile(a, 4))


def dealt(n: int, pragmas: dict[str, int | None], threads_wanted: int = 2) -> list[tuple[int, int]]:
    """Which iteration ran on which thread, of a parallel loop with pragmas."""
    seen: list[tuple[int, int]] = []

    def note(i: int) -> int:
        seen.append((int(i), get_ident()))
        time.sleep(0.01)  # in which the other threads begin, or the caller would take their shares
        return 0

    te_sched.register_extern("dealt", note)
    m = te.var("m")
    b = te.compute((m,), lambda i: te_sched.tir.call_extern("int32", "dealt", i), name="B")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    for name, value in pragmas.items():
        s[b].pragma(b.op.axis[0], name, value)
    module = te_sched.build(s, [b])
    threads.set_num_threads(threads_wanted)
    try:
        module(np.zeros(n, "int32"))
    finally:
        threads.set_num_threads(0)
        registry.remove_extern("dealt")
    return seen


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
@pytest.mark.parametrize(
    "pragmas",
    [{"parallel_stride_pattern": None}, {"parallel_grain": 4}, {"parallel_barrier_when_finish": 1}],
)
def test_pragmas_leave_each_iteration_to_run_once(n: int, pragmas: dict[str, int | None]) -> None:
    assert sorted(i for i, _ in dealt(n, pragmas, 3)) == list(range(n))


def test_grain_leaves_small_loops_to_the_caller() -> None:
    assert {thread for _, thread in dealt(9, {"parallel_grain": 5})} == {get_ident()}
    assert len({thread for _, thread in dealt(10, {"parallel_grain": 5})}) == 2
    assert len({thread for _, thread in dealt(30, {"parallel_grain": 10}, 8)}) == 3


def test_grain_is_a_number_of_iterations() -> None:
    for wrong in (0, -1, 2.5):
        with pytest.raises(BuildError, match="parallel_grain"):
            dealt(4, {"parallel_grain": wrong})


def test_work_of_open_loops_decides_how_many_threads_run_them() -> None:
    """Two threads run 6 rows of 5 elements, but not 6 rows of 2."""
    seen: set[int] = set()

    def note(i: int) -> int:
        seen.add(get_ident())
        time.sleep(0.01)
        return 0

    @T.prim_func
    def rows(b: T.handle) -> None:
        n, m = T.int64(), T.int64()
        B = T.match_buffer(b, (n, m), "int32")
        for i in T.parallel(n, annotations={"pragma_parallel_work": 10}):
            for j in range(m):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = T.call_extern("int32", "noted", vi) + T.Cast("int32", vj)

    te_sched.register_extern("noted", note)
    threads.set_num_threads(2)
    try:
        module = te_sched.build(rows, "llvm")
        for shape, count in (((6, 2), 1), ((6, 5), 2), ((0, 3), 0), ((1, 50), 1)):
            seen.clear()
            result = np.full(shape, -1, "int32")
            module(result)
            np.testing.assert_array_equal(result, np.zeros((shape[0], 1), int) + range(shape[1]))
            assert len(seen) == count
    finally:
        threads.set_num_threads(0)
        registry.remove_extern("noted")


def test_stride_pattern_deals_iterations_one_by_one() -> None:
    seen = dealt(16, {"parallel_stride_pattern": None})
    mine = sorted(i for i, thread in seen if thread == get_ident())
    assert mine == list(range(0, 16, 2))


def test_grain_and_stride_below_a_serial_loop() -> None:
    a = te.placeholder((5, 40), name="A")
    b = te.compute((5, 40), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    s[b].parallel(j)
    s[b].pragma(i, "parallel_grain", 10)
    s[b].pragma(j, "parallel_stride_pattern")
    x, y = np.random.default_rng(0).random((5, 40), "float32"), np.zeros((5, 40), "float32")
    te_sched.build(s, [a, b])(x, y)
    np.testing.assert_array_equal(y, x + np.float32(1))
