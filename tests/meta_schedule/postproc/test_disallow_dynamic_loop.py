"""Loops of unknown length are rejected."""

from __future__ import annotations

from te_sched import tir
from te_sched.meta_schedule import postproc as postprocs
from te_sched.script import tir as T
from tests.meta_schedule.postproc.asked import product


def test_disallow_dynamic_loop_rejects_loops_of_unknown_length() -> None:
    @T.prim_func
    def triangle(A: T.Buffer((8, 8), "float32")) -> None:
        for i in range(8):
            for j in range(i):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.float32(1)

    assert not postprocs.DisallowDynamicLoop().apply(tir.Schedule(triangle))
    assert postprocs.DisallowDynamicLoop().apply(tir.Schedule(product()))
