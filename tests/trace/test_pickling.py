"""Schedules and modules in other processes and in copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np

import te_sched
from te_sched import te, tir


def product() -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((16, 16), name="A")
    B = te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), [A, B, C]


def test_a_pickled_schedule_lowers_and_replays_as_before() -> None:
    s, args = product()
    C = args[2]
    local = s.cache_write(C, "local")
    outer, *_ = s[C].tile(*C.op.axis, 4, 4)
    s[local].compute_at(s[C], outer)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    twin, twin_args = pickle.loads(pickle.dumps((s, args)))
    assert str(te_sched.lower(twin, twin_args)) == str(te_sched.lower(s, args))
    assert str(twin.trace) == str(s.trace)


def test_a_pickled_schedule_is_scheduled_on_and_built() -> None:
    s, args = product()
    s[args[2]].split(args[2].op.axis[0], 4)
    twin, twin_args = pickle.loads(pickle.dumps((s, args)))
    twin[twin_args[2]].vectorize(twin_args[2].op.axis[1])
    assert "vectorize" in str(twin.trace)
    assert "vectorize" not in str(s.trace)
    a, b = (np.random.default_rng(n).random((16, 16)).astype("float32") for n in (0, 1))
    c = te_sched.nd.empty((16, 16))
    te_sched.build(twin, twin_args)(te_sched.nd.array(a), te_sched.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def test_a_copied_schedule_is_independent() -> None:
    s, args = product()
    twin, twin_args = copy.deepcopy((s, args))
    twin[twin_args[2]].split(twin_args[2].op.axis[0], 4)
    assert len(s[args[2]].leaf_iter_vars) == 3


def test_a_pickled_schedule_of_blocks_has_its_trace() -> None:
    _, args = product()
    s = tir.Schedule(te.create_prim_func(args))
    s.split(s.get_loops(s.get_block("C"))[0], [None, 4])
    twin = pickle.loads(pickle.dumps(s))
    assert str(twin.trace) == str(s.trace)
    assert str(twin.mod) == str(s.mod)
