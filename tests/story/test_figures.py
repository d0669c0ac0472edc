"""Figures of loops against counting element by element, and the limits of what is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.story.figures import figures_of_loops, temporary_bytes
from tests.story.counting import counted, loops_of


def matmul(size: int = 6) -> tuple[Any, ...]:
    k = te.reduce_axis((0, size), "k")
    A = te.placeholder((size, size), name="A")
    B = te.placeholder((size, size), name="B")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def tiled() -> Any:
    s, A, B, C = matmul(8)
    _, _, i, j = s[C].tile(*C.op.axis, 4, 2)
    ko, ki = s[C].split(C.op.reduce_axis[0], 2)
    s[C].reorder(ko, i, ki, j)
    return s, [A, B, C]


def uneven() -> Any:
    s, A, B, C = matmul(7)
    s[C].tile(*C.op.axis, 3, 4)
    return s, [A, B, C]


def fused() -> Any:
    s, A, B, C = matmul(6)
    s[C].split(s[C].fuse(*C.op.axis), 8)
    return s, [A, B, C]


def cached() -> Any:
    s, A, B, C = matmul(8)
    CC = s.cache_write(C, "local")
    _, jo, _, _ = s[C].tile(*C.op.axis, 4, 4)
    s[CC].compute_at(s[C], jo)
    return s, [A, B, C]


def blurred() -> Any:
    A = te.placeholder((10, 12), name="A")
    X = te.compute((10, 10), lambda y, x: A[y, x] + A[y, x + 1] + A[y, x + 2], name="X")
    Y = te.compute((8, 10), lambda y, x: X[y, x] + X[y + 1, x] + X[y + 2, x], name="Y")
    s = te.create_schedule(Y.op)
    yo, _ = s[Y].split(Y.op.axis[0], 3)
    s[X].compute_at(s[Y], yo)
    return s, [A, Y]


def star() -> Any:
    A = te.placeholder((9, 9), name="A")
    B = te.compute(
        (7, 7),
        lambda i, j: A[i, j + 1] + A[i + 1, j] + A[i + 1, j + 2] + A[i + 2, j + 1],
        name="B",
    )
    s = te.create_schedule(B.op)
    s[B].tile(*B.op.axis, 3, 2)
    return s, [A, B]


def padded() -> Any:
    A = te.placeholder((6, 6), name="A")
    P = te.compute(
        (8, 8),
        lambda i, j: te.if_then_else(
            te.all(i >= 1, i < 7, j >= 1, j < 7), A[i - 1, j - 1], te.const(0.0)
        ),
        name="P",
    )
    s = te.create_schedule(P.op)
    return s, [A, P]


def strided() -> Any:
    A = te.placeholder((64,), name="A")
    B = te.compute((4, 5), lambda i, j: A[i * 7 + j * 3] + A[63 - i], name="B")
    return te.create_schedule(B.op), [A, B]


def diagonal() -> Any:
    A = te.placeholder((9, 9), name="A")
    B = te.compute((5, 4), lambda i, j: A[i + j, i] * A[i, i], name="B")
    return te.create_schedule(B.op), [A, B]


def threads() -> Any:
    s, A, B, C = matmul(8)
    xo, xi = s[C].split(C.op.axis[0], 4)
    s[C].bind(xo, te.thread_axis("blockIdx.x"))
    s[C].bind(xi, te.thread_axis("threadIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("vthread"))
    return s, [A, B, C]


def cooperative() -> Any:
    s, A, B, C = matmul(8)
    AA = s.cache_read(A, "shared", [C])
    ko, _ = s[C].split(C.op.reduce_axis[0], 4)
    s[C].reorder(C.op.axis[1], C.op.axis[0], ko)
    s[C].bind(C.op.axis[1], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    s[AA].compute_at(s[C], ko)
    _, inner = s[AA].split(s[AA].fuse(*s[AA].op.axis), 8)
    s[AA].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [A, B, C]


_PROGRAMS = [
    tiled,
    uneven,
    fused,
    cached,
    blurred,
    star,
    padded,
    strided,
    diagonal,
    threads,
    cooperative,
]


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda one: one.__name__)
def test_figures_are_what_counting_element_by_element_gives(program: Callable[[], Any]) -> None:
    s, args = program()
    func = te_sched.lower(s, args, stop_after="schedule_ops")["main"]
    figures = figures_of_loops(func, lambda data: data.name)
    for loop in loops_of(func):
        if id(loop) not in figures:  # launches threads again that run already
            continue
        found = figures[id(loop)]
        expected = counted(func, loop, lambda name: 4)
        got = {
            one.buffer: (one.iteration, one.whole, one.accesses)
            for one in found.buffers
            if one.accesses
        }
        assert got == expected
        assert found.note == ""


def figures_of(s: Any, args: Any) -> Any:
    """The figures of a schedule's function and of its loops, outermost first."""
    func = te_sched.lower(s, args, stop_after="schedule_ops")["main"]
    found = figures_of_loops(func, lambda data: data.name)
    return found[id(func)], [found[id(loop)] for loop in loops_of(func)]


def test_a_matrix_product_computes_two_operations_for_each_product() -> None:
    s, A, B, C = matmul(16)
    whole, (outer, _, inner) = figures_of(s, [A, B, C])
    assert whole.operations == outer.operations == 2 * 16**3
    assert inner.operations == 2 * 16
    assert whole.whole == 3 * 16 * 16 * 4
    assert whole.intensity == whole.operations / whole.whole


def test_large_arrays_are_counted_without_running_their_loops() -> None:
    A = te.placeholder((1 << 20, 1 << 10), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].tile(*B.op.axis, 32, 32)
    whole, _ = figures_of(s, [A, B])
    assert (whole.whole, whole.reuse, whole.note) == (2 << 32, 1.0, "")


def test_a_symbolic_size_leaves_what_does_not_depend_on_it() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    whole, (loop,) = figures_of(s, [A, B])
    assert (whole.whole, loop.whole, loop.iteration) == (None, None, 8)
    assert "the value of n is not known" in loop.note


def test_indices_that_data_give_are_unknown() -> None:
    A = te.placeholder((8,), name="A")
    index = te.placeholder((4,), "int32", name="index")
    B = te.compute((4,), lambda i: A[index[i]], name="B")
    _, (loop,) = figures_of(te.create_schedule(B.op), [A, index, B])
    assert {one.buffer: one.whole for one in loop.buffers} == {"index": 16, "A": None, "B": 16}
    assert loop.whole is None
    assert loop.note == "A: an index or a condition depends on data"


def test_too_many_iterations_are_not_looked_at() -> None:
    A = te.placeholder((3000, 3000), name="A")
    B = te.compute((2048, 1024), lambda i, j: A[i + j // 7, i], name="B")
    whole, _ = figures_of(te.create_schedule(B.op), [A, B])
    assert "A: there are too many iterations" in whole.note


def test_loops_whose_length_varies_are_unknown() -> None:
    A = te.placeholder((8,), name="A")

    def body(ins: Any, outs: Any) -> Any:
        ib = te_sched.tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, name="i") as i, ib.for_range(0, i + 1, name="j") as j:
            b[j] = a[j]
        return ib.get()

    B = te.extern((8,), [A], body, name="B", dtype="float32")
    _, (outer, inner) = figures_of(te.create_schedule(B.op), [A, B])
    assert "the number of iterations varies" in outer.note
    assert inner.whole == 40


def test_what_external_functions_compute_is_not_counted() -> None:
    A = te.placeholder((4, 4), name="A")
    B = te.extern((4, 4), [A], lambda i, o: te_sched.tir.call_packed("f", i[0], o[0]), name="B")
    s = te.create_schedule(B.op)
    func = te_sched.lower(s, [A, B], stop_after="schedule_ops")["main"]
    whole = figures_of_loops(func, lambda data: data.name)[id(func)]
    assert whole.operations is None
    assert "what functions from outside compute is not counted" in whole.note


def test_temporaries_peak_where_most_of_them_live_at_once() -> None:
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((64,), lambda i: B[63 - i] * 2.0, name="C")
    D = te.compute((64,), lambda i: C[63 - i] - 1.0, name="D")
    s = te.create_schedule(D.op)
    assert temporary_bytes(te_sched.lower(s, [A, D])["main"]) == 2 * 64 * 4


def test_temporaries_of_symbolic_size_are_unknown() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i] * 2.0, name="C")
    assert temporary_bytes(te_sched.lower(te.create_schedule(C.op), [A, C])["main"]) is None


def test_memory_that_a_body_of_the_user_allocates_has_bytes_of_its_type() -> None:
    def body(ins: Any, outs: Any) -> Any:
        ib = te_sched.tir.ir_builder.create()
        kept = ib.allocate("float64", 8, name="kept")
        with ib.for_range(0, 8, name="i") as i:
            kept[i] = te_sched.tir.Cast("float64", ib.buffer_ptr(ins[0])[i])
        ib.buffer_ptr(outs[0])[0] = te_sched.tir.Cast("float32", kept[7])
        return ib.get()

    A = te.placeholder((8,), name="A")
    B = te.extern((1,), [A], body, name="B", dtype="float32")
    found, _ = figures_of(te.create_schedule(B.op), [A, B])
    assert [traffic.whole for traffic in found.buffers if traffic.buffer == "kept"] == [64]
