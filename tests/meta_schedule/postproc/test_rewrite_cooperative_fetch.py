"""Threads fetch together."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import kinds_of_loops, product


def fetching(lanes: int = 1, threads: str = "threadIdx.x") -> tuple[tir.Schedule, tir.BlockRV]:
    """A product whose rows of B are fetched by its threads."""
    sch = tir.Schedule(product())
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, threads)
    fetch = sch.cache_read("C", 1, "shared")
    sch.compute_at(fetch, j)
    sch.fuse(*sch.get_loops(fetch)[2:])
    sch.annotate(fetch, "meta_schedule.cooperative_fetch", lanes)
    return sch, fetch


THREADS = ("thread_binding", 16)


@pytest.mark.parametrize(
    ("lanes", "expected"),
    [
        (1, [("serial", 16), THREADS]),
        (2, [("serial", 8), THREADS, ("vectorized", 2)]),
        (3, [("serial", 16), THREADS]),  # which does not divide the loop
    ],
)
def test_threads_fetch_together(lanes: int, expected: list[tuple[str, int]]) -> None:
    sch, fetch = fetching(lanes)
    assert postprocs.RewriteCooperativeFetch().apply(sch)
    assert kinds_of_loops(sch, fetch)[2:] == expected
    assert "meta_schedule.cooperative_fetch" not in sch.get(fetch).annotations


def test_threads_of_two_axes_and_of_a_warp_divide_the_loop() -> None:
    sch, fetch = fetching(threads="threadIdx.y")
    sch.annotate("C", "warp_execution", 1)
    assert postprocs.RewriteCooperativeFetch().apply(sch)
    loops = [sch.get(loop) for loop in sch.get_loops(fetch)[3:]]
    assert [(loop.thread_binding.thread_tag, int(loop.extent)) for loop in loops] == [
        ("threadIdx.y", 16),
        ("threadIdx.x", 32),
    ]


def test_without_threads_the_loop_stays() -> None:
    sch = tir.Schedule(product())
    fetch = sch.cache_read("C", 1, "shared")
    sch.annotate(fetch, "meta_schedule.cooperative_fetch", 2)
    before = sch.mod.script()
    assert postprocs.RewriteCooperativeFetch().apply(sch)
    assert sch.mod.script() == before


def test_blocks_that_are_gone_reject_the_candidate() -> None:
    sch, fetch = fetching()
    sch.compute_inline(fetch)
    assert not postprocs.RewriteCooperativeFetch().apply(sch)
