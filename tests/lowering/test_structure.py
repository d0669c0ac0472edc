"""The loops that schedules become: where stages go, how far they run, what is guarded."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import LoweringError, te
from tests.lowering.structure import structure


def chain(n: int = 64) -> tuple[Any, Any, Any, Any]:
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    return te.create_schedule(C.op), A, B, C


def matmul(n: int = 64) -> tuple[Any, Any, Any, Any]:
    A = te.placeholder((n, n), name="A")
    B = te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), A, B, C


def test_stages_run_one_after_the_other():
    s, A, _, C = chain()
    assert structure(s, [A, C]) == "[i*64 B; i*64 C]"


def test_compute_at_moves_a_stage_into_a_loop():
    s, A, B, C = chain()
    outer, _ = s[C].split(C.op.axis[0], factor=16)
    s[B].compute_at(s[C], outer)
    assert structure(s, [A, C]) == "i.outer*4 [i*16 B; i.inner*16 C]"


def test_compute_inline_removes_a_stage():
    s, A, B, C = chain()
    s[B].compute_inline()
    assert structure(s, [A, C]) == "i*64 C"


def test_halo_is_computed_as_far_as_it_is_read():
    A = te.placeholder((66,), name="A")
    B = te.compute((66,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((64,), lambda i: B[i] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], factor=16)
    s[B].compute_at(s[C], outer)
    assert structure(s, [A, C]) == "i.outer*4 [i*18 B; i.inner*16 C]"


def test_uneven_split_is_guarded():
    s, A, B, C = chain(60)
    s[B].compute_inline()
    s[C].split(C.op.axis[0], factor=16)
    assert structure(s, [A, C]) == "i.outer*4 i.inner*16 if C"


def test_even_split_is_not_guarded():
    s, A, B, C = chain(64)
    s[B].compute_inline()
    s[C].split(C.op.axis[0], nparts=16)
    assert structure(s, [A, C]) == "i.outer*16 i.inner*4 C"


def test_factor_larger_than_the_extent_gives_one_outer_iteration():
    s, A, B, C = chain(6)
    s[B].compute_inline()
    s[C].split(C.op.axis[0], factor=16)
    assert structure(s, [A, C]) == "i.inner*6 C"


def test_reduction_is_initialized_outside_of_its_loops():
    s, A, B, C = matmul()
    assert structure(s, [A, B, C]) == "i*64 j*64 [C; k*64 C]"


def test_initialization_has_its_own_loops_when_the_reduction_is_outside():
    s, A, B, C = matmul()
    i, j = C.op.axis
    (k,) = C.op.reduce_axis
    s[C].reorder(i, k, j)
    assert structure(s, [A, B, C]) == "i*64 [j.init*64 C; k*64 j*64 C]"


def test_threads_take_the_place_of_loops():
    s, A, B, C = chain()
    s[B].compute_inline()
    outer, inner = s[C].split(C.op.axis[0], factor=16)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    assert structure(s, [A, C]) == "blockIdx.x*4 threadIdx.x*16 C"


def test_annotations_mark_loops_before_the_passes():
    s, A, B, C = chain()
    s[B].compute_inline()
    outer, inner = s[C].split(C.op.axis[0], factor=16)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    lines = structure(s, [A, C], stop_after="schedule_ops")
    assert lines == "parallel i.outer*4 vector i.inner*16 C"
    assert structure(s, [A, C]) == "parallel i.outer*4 C"


def test_compute_at_rejects_a_consumer_outside_of_the_loop():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((64,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((64,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[D], D.op.axis[0])
    with pytest.raises(LoweringError, match="reads it outside of that loop"):
        structure(s, [A, D])
