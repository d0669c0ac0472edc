"""Prefetches: which lines are asked for, and when."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import Call, Expr
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.stmt import For, IfThenElse, PrimFunc, SeqStmt
from te_sched.ir.verify import verify
from te_sched.ir.visitor import walk
from te_sched.lowering.inject_prefetch import inject_prefetch
from tests.lowering.build import attribute, expected, function, loop, read, store, text, var

B = decl_buffer((64,), name="B")
i, j = var("i"), var("j")


def reading(shape: tuple[int, ...], dtype: str = "float32") -> PrimFunc:
    """B[i] = A[i, j] for all j, with A fetched one iteration of i ahead."""
    A = decl_buffer(shape, dtype, name="A")
    value = read(A, i, *(j if extent > 1 else 0 for extent in shape[1:])).astype("float32")
    fetched = attribute(A, "prefetch_scope", 1, loop(j, shape[-1], store(B, value, i)))
    return function(loop(i, shape[0], fetched), A, B)


def test_region_is_fetched_one_iteration_ahead() -> None:
    assert text(inject_prefetch(reading((64, 32)))) == expected("""
        for i in range(64):
            for prefetch_A_1 in range(1):
                for prefetch_A_0 in range(2):
                    T.prefetch(T.address_of(A[prefetch_A_1 * 16, prefetch_A_0 + (i + 1)]), 0, 3, 1)
            for j in range(32):
                B[i] = A[i, j]
    """).replace(
        "for prefetch_A_1 in range(1):\n        for prefetch_A_0 in range(2):\n    ",
        "for prefetch_A_1, prefetch_A_0 in T.grid(1, 2):\n",
    )


def test_dimensions_within_one_line_need_no_loop() -> None:
    found = text(inject_prefetch(reading((64, 8))))
    assert "for prefetch_A_0 in range(1):" in found
    assert "A[0, i + 1 + prefetch_A_0 * 2]" in found


def test_width_of_the_elements_counts() -> None:
    assert "T.grid(1, 4)" in text(inject_prefetch(reading((64, 32), "float64")))


def test_what_is_not_read_is_not_fetched() -> None:
    A = decl_buffer((64,), name="A")
    func = function(loop(i, 64, attribute(A, "prefetch_scope", 1, store(B, 0.0, i))), A, B)
    assert "prefetch" not in text(inject_prefetch(func))


def test_lanes_of_a_vectorized_loop_are_fetched_together() -> None:
    A = decl_buffer((64, 64), name="A")
    fetched = attribute(A, "prefetch_scope", 1, store(B, read(A, i, j), j))
    func = function(loop(j, 64, loop(i, 64, fetched), kind="vectorized"), A, B)
    assert "T.grid(1, 4)" in text(inject_prefetch(func))


def test_vectors_inside_do_not_widen_the_region() -> None:
    A = decl_buffer((64, 64), name="A")
    inner = loop(i, 7, store(B, read(A, (j * 7 + i) // 10, 0), j), kind="vectorized")
    body = loop(j, 64, attribute(A, "prefetch_scope", 1, inner))
    assert "T.max" not in text(inject_prefetch(function(body, A, B)))


@pytest.mark.parametrize(("condition", "fetched"), [(i + 1 < 9, True), (i < 9, False)])
def test_what_is_read_within_open_bounds_is_not_fetched(condition: Expr, fetched: bool) -> None:
    A = decl_buffer((64,), name="A")
    value = if_then_else(condition, read(A, i), 0.0)
    body = loop(i, 64, attribute(A, "prefetch_scope", 1, store(B, value, i)))
    assert ("prefetch" in text(inject_prefetch(function(body, A, B)))) == fetched


@pytest.mark.parametrize(("likely", "fetched"), [(i + 1 < j, True), (i < j, False)])
def test_guards_bound_what_is_read(likely: Expr, fetched: bool) -> None:
    A = decl_buffer((64,), name="A")
    guarded = IfThenElse(Call("bool", "tir.likely", (likely,)), store(B, read(A, i), i), None)
    body = loop(j, 8, loop(i, 64, attribute(A, "prefetch_scope", 1, guarded)))
    assert ("prefetch" in text(inject_prefetch(function(body, A, B)))) == fetched


def test_nothing_to_fetch_is_the_same_function() -> None:
    func = function(loop(i, 64, store(B, 0.0, i)), B)
    assert inject_prefetch(func) is func


@pytest.mark.parametrize("dtype", ["bool", "int8"])
def test_bytes_share_lines(dtype: str) -> None:
    assert "range(1)" in text(inject_prefetch(reading((64, 64), dtype)))


def test_prefetch_among_statements_is_one_of_them() -> None:
    A = decl_buffer((64,), name="A")
    fetched = attribute(A, "prefetch_scope", 1, store(B, read(A, i), i))
    func = function(loop(i, 64, SeqStmt((store(B, 0.0, i), fetched))), A, B)
    verify(inject_prefetch(func), "buffers")


def test_nothing_is_fetched_of_rows_without_elements() -> None:
    assert "prefetch" in text(inject_prefetch(reading((64, 0), "float32")))


def test_rows_whose_numbers_the_iteration_computes_are_not_fetched() -> None:
    X, N = te.placeholder((8, 8), name="X"), te.placeholder((4,), "int32", name="N")
    M = te.compute((4,), lambda i: N[i] + 1, name="M")
    Y = te.compute((4, 8), lambda i, j: X[M[i], j], name="Y")
    s = te.create_schedule(Y.op)
    s[M].compute_at(s[Y], Y.op.axis[0])
    s[Y].prefetch(X, Y.op.axis[0], 1)
    func = te_sched.lower(s, [X, N, Y], simple_mode=True)["main"]
    verify(func, "final")
    assert "prefetch" not in text(func)


def test_rows_that_a_loop_inside_says_are_not_fetched() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n - 2,), lambda i: B[i] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    copy = s.cache_read(A, "global", [B])
    outer, _ = s[C].split(C.op.axis[0], nparts=2)
    s[B].compute_at(s[C], outer)
    outer, _ = s[copy].split(copy.op.axis[0], factor=2)
    s[copy].prefetch(A, outer, 2)
    func = te_sched.lower(s, [A, C], simple_mode=True)["main"]
    verify(func, "final")
    assert "prefetch" not in text(func)


def test_loops_have_the_type_of_what_they_count() -> None:
    rows = te.placeholder((4,), "uint16", name="R")
    a = te.placeholder((8, 16), name="A")
    b = te.compute((4, 16), lambda i, j: a[te.min(rows[i].astype("int64"), 7), j], name="B")
    s = te.create_schedule(b.op)
    s[b].prefetch(a, b.op.axis[0], 1)
    whole = te_sched.lower(s, [rows, a, b], stop_after="inject_prefetch")["main"]
    loops = [node for node in walk(whole.body) if isinstance(node, For)]
    assert [one.loop_var.dtype for one in loops] == ["int32", "int64", "int32"]
