"""The region of a stage is what all readers of all its results need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import te_sched
from te_sched import te


def pair(read: Callable[[Any, Any, Any], Any]) -> tuple[Any, list[Any]]:
    A = te.placeholder((64,), name="A")
    T0, T1 = te.compute((64,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="T")
    B = te.compute((60,), lambda i: read(T0, T1, i), name="B")
    s = te.create_schedule(B.op)
    s[T0].compute_at(s[B], B.op.axis[0])
    return s, [A, B]


def test_results_read_at_different_places() -> None:
    s, args = pair(lambda x, y, i: x[i] + y[i + 2])
    a, b = np.arange(64, dtype="float32"), np.zeros(60, "float32")
    arrays = [te_sched.nd.array(a), te_sched.nd.array(b)]
    te_sched.build(s, args, target="llvm")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), a[:60] + 1 + a[2:62] * 2)


def test_first_result_without_readers_is_computed_whole() -> None:
    s, args = pair(lambda x, y, i: y[i + 2])
    assert "range(64)" in te_sched.lower(s, args, simple_mode=True).script()


def test_first_result_covers_the_second() -> None:
    s, args = pair(lambda x, y, i: x[i] + x[i + 3] + y[i])
    assert "range(4)" in te_sched.lower(s, args, simple_mode=True).script()


def test_scan_makes_room_for_what_its_steps_store() -> None:
    X = te.placeholder((24, 16), name="X")
    state = te.placeholder((24, 16), name="state")
    first = te.compute((1, 16), lambda _, j: X[0, j], name="first")
    step = te.compute((24, 16), lambda t, j: state[t - 1, j] + X[t, j], name="step")
    total = te.scan(first, step, state, inputs=[X], name="total")
    k = te.reduce_axis((1, 9), "k")
    S = te.compute((24,), lambda i: te.sum(total[i, k], axis=k), name="S")
    x, result = np.ones((24, 16), "float32"), np.zeros(24, "float32")
    arrays = [te_sched.nd.array(x), te_sched.nd.array(result)]
    te_sched.build(te.create_schedule(S.op), [X, S], target="llvm")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), np.arange(1, 25) * 8)


def test_ranges_of_fixed_threads_tell_that_a_region_is_whole() -> None:
    A = te.placeholder((7, 84), name="A")
    B = te.compute((7, 84), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    cache = s.cache_write(B, "local")
    _, inner = s[B].split(s[B].fuse(*B.op.axis), factor=32)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    text = te_sched.lower(s, [A, B], simple_mode=True).script()
    assert f'{cache.op.name.replace(".", "_")} = T.allocate([588], "float32", "local")' in text


def test_range_of_a_fused_axis_does_not_simplify_regions() -> None:
    A = te.placeholder((50, 100), name="A")
    B = te.compute((50, 100), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((50, 100), lambda i, j: B[i, j] * 2.0, name="C")
    D = te.compute((50, 100), lambda i, j: B[i, j] + C[49 - i, j], name="D")
    s = te.create_schedule(D.op)
    fused = s[D].fuse(*D.op.axis)
    s[C].compute_at(s[D], fused)
    s[B].compute_at(s[D], fused)
    text = te_sched.lower(s, [A, D], simple_mode=True).script()
    assert "fused // 100" in next(line for line in text.splitlines() if "B_1 = T.Buffer" in line)


def test_threads_of_a_stage_that_is_computed_inline_are_forgotten() -> None:
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].bind(s[B].fuse(*B.op.axis), te.thread_axis("threadIdx.x"))
    s[B].compute_inline()
    assert "threadIdx" not in str(te_sched.lower(s, [A, C]))
