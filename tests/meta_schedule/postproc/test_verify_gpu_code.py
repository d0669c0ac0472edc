"""Kernels that no GPU runs are rejected."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import initialized, product


def test_kernels_with_too_many_threads_are_rejected() -> None:
    func = product(64)
    check = initialized(postprocs.VerifyGPUCode(), func)
    sch = tir.Schedule(func)
    i, j, _ = sch.get_loops("C")
    sch.bind(j, "threadIdx.x")
    assert check.apply(sch)
    sch.bind(i, "threadIdx.y")
    assert not check.apply(sch)


@pytest.mark.parametrize(("least", "accepted"), [(16, True), (32, False)])
def test_kernels_with_other_than_the_asked_threads_are_rejected(least: int, accepted: bool) -> None:
    func = product()
    sch = tir.Schedule(func)
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    sch.annotate("C", "meta_schedule.thread_extent_low_inclusive", least)
    assert initialized(postprocs.VerifyGPUCode(), func).apply(sch) == accepted
