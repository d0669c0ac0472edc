"""Threads fetch together."""

from __future__ import annotations

from te_sched import tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import product


def test_threads_fetch_together() -> None:
    sch = tir.Schedule(product())
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    fetch = sch.cache_read("C", 1, "shared")
    sch.compute_at(fetch, j)
    sch.fuse(*sch.get_loops(fetch)[2:])
    sch.annotate(fetch, "meta_schedule.cooperative_fetch", 1)
    assert postprocs.RewriteCooperativeFetch().apply(sch)
    assert [sch.get(loop).kind for loop in sch.get_loops(fetch)[2:]] == ["serial", "thread_binding"]
