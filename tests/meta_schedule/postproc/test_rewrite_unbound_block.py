"""Unbound loops are bound to threads."""

from __future__ import annotations

import pytest

from te_sched import te, tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import initialized, product


def bound(sch: tir.Schedule, block: str) -> list[tuple[str, int]]:
    """The threads of the loops of a block, with their extents; no name for other loops."""
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return [
        (
            loop.thread_binding.thread_tag if loop.thread_binding is not None else "",
            int(loop.extent),
        )
        for loop in loops
    ]


@pytest.mark.parametrize(
    ("n", "most", "expected"),
    [
        (16, 256, [("blockIdx.x", 1), ("threadIdx.x", 256), ("", 16)]),
        (64, 256, [("blockIdx.x", 4), ("threadIdx.x", 1024), ("", 64)]),
        (64, 2, [("blockIdx.x", 2), ("threadIdx.x", 1024), ("", 2), ("", 64)]),
    ],
)
def test_unbound_loops_are_bound(n: int, most: int, expected: list[tuple[str, int]]) -> None:
    func = product(n)
    sch = tir.Schedule(func)
    assert initialized(postprocs.RewriteUnboundBlock(most), func).apply(sch)
    assert bound(sch, "C") == expected


def test_blocks_that_are_bound_stay() -> None:
    func = product(16, relu=True)
    sch = tir.Schedule(func)
    sch.bind(sch.get_loops("C")[0], "blockIdx.y")
    assert initialized(postprocs.RewriteUnboundBlock(), func).apply(sch)
    assert bound(sch, "C") == [("blockIdx.y", 16), ("", 16), ("", 16)]
    assert bound(sch, "D") == [("blockIdx.x", 1), ("threadIdx.x", 256)]
    before = len(sch.trace.entries)
    assert initialized(postprocs.RewriteUnboundBlock(), func).apply(sch)
    assert len(sch.trace.entries) == before


def test_blocks_without_loops_have_a_thread() -> None:
    A = te.placeholder((), name="A")
    func = te.create_prim_func([A, te.compute((), lambda: A() + 1.0, name="B")])
    sch = tir.Schedule(func)
    assert initialized(postprocs.RewriteUnboundBlock(), func).apply(sch)
    assert bound(sch, "B") == [("blockIdx.x", 1), ("threadIdx.x", 1)]
