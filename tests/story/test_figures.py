"""Figures of loops against counting element by element, and the limits of what is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.story.figures import figures_of_loops
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


_PROGRAMS = [tiled, uneven, fused, cached, blurred, star, padded, strided, diagonal, threads]


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda one: one.__name__)
def test_figures_are_what_counting_element_by_element_gives(program: Callable[[], Any]) -> None:
    s, args = program()
    func = te_sched.lower(s, args, stop_after="schedule_ops")["main"]
    figures = figures_of_loops(func, lambda data: data.name)
    for loop in loops_of(func):
        found = figures[id(loop)]
        expected = counted(func, loop, lambda name: 4)
        got = {
            one.buffer: (one.iteration, one.whole, one.accesses)
            for one in found.buffers
            if one.accesses
        }
        assert got == expected
        assert found.note == ""
