"""Schedules that ask for what postprocessors do."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched import meta_schedule as ms
from te_sched import te, tir


def product(n: int = 16, relu: bool = False) -> tir.PrimFunc:
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: te.max(C[i, j], 0.0), name="D")
    return te.create_prim_func([A, B, D if relu else C])


def kinds_of_loops(sch: tir.Schedule, block: str) -> list[tuple[str, int]]:
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return [(loop.kind, int(loop.extent)) for loop in loops]


def check_product(sch: tir.Schedule, relu: bool = False) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, (16, 16)).astype("float32") for _ in range(2))
    out = te_sched.nd.array(np.zeros((16, 16), "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(a), te_sched.nd.array(b), out)
    expected = np.maximum(a @ b, 0) if relu else a @ b
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)


def initialized(postproc: ms.Postproc, func: tir.PrimFunc) -> ms.Postproc:
    space = ms.space_generator.PostOrderApply(sch_rules=[], postprocs=[postproc], mutator_probs={})
    ms.TuneContext(func, target="nvidia/geforce-rtx-3080", space_generator=space)
    return postproc
