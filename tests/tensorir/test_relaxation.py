"""Regions that loops need of a block, with threads that have memory in common."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.script import tir as T


# Of the axes of threads at which TVM 0.19 computes all rows.
@pytest.mark.parametrize(
    ("scope", "axes"),
    [
        ("global", []),
        ("shared", ["threadIdx.x", "threadIdx.y", "vthread", "vthread.x", "cthread"]),
        ("shared.dyn", ["threadIdx.x", "threadIdx.y", "vthread", "vthread.x", "cthread"]),
        ("warp", ["threadIdx.x"]),
        ("local", []),
        ("wmma.accumulator", []),
    ],
)
def test_a_copy_below_threads_has_what_they_have_in_common(scope: str, axes: list[str]) -> None:
    tags = ("blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread", "vthread.x", "cthread")
    assert [tag for tag in tags if _rows_below(scope, tag) == 32] == axes


def _rows_below(scope: str, tag: str) -> int:
    """The rows that a stage computes below a loop over threads that read one row each."""

    @T.prim_func
    def staged(A: T.Buffer((32, 4), "float32"), C: T.Buffer((32, 4), "float32")):
        B = T.alloc_buffer((32, 4), scope=scope)
        for i, j in T.grid(32, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for i in T.thread_binding(32, thread=tag):
            for j in range(4):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj]

    sch = tir.Schedule(staged)
    sch.compute_at("B", sch.get_loops("C")[0])
    loops = [sch.get(loop) for loop in sch.get_loops("B")[1:]]
    extents = [int(loop.extent) for loop in loops]
    return extents[0] if len(extents) == 2 else 1
