"""Unbound loops are bound to threads."""

from __future__ import annotations

from te_sched import tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import initialized, product


def test_unbound_loops_are_bound() -> None:
    func = product()
    sch = tir.Schedule(func)
    assert initialized(postprocs.RewriteUnboundBlock(), func).apply(sch)
    tags = [sch.get(loop).thread_binding for loop in sch.get_loops("C")[:2]]
    assert [tag.thread_tag for tag in tags] == ["blockIdx.x", "threadIdx.x"]
