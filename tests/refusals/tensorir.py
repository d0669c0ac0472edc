"""Programs of blocks that compute nothing defined, or something else on other runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import te_sched
from te_sched.errors import BlockError, BuildError, ReductionError, TeSchedError
from tests.refusals.table import enter


def _building(body: str, size: str = "8") -> Callable[[], Any]:
    """The build of a function of A and B, vectors of this size."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    source = (
        f'@T.prim_func\ndef main(A: T.Buffer(({size},), "float32"), '
        f'B: T.Buffer(({size},), "float32")):\n{lines}'
    )
    target = "cuda" if "thread=" in body else "llvm"
    return lambda: te_sched.build(te_sched.script.from_source(source), target=target)


def _block(loop: str, axis: str, *statements: str) -> str:
    """A block in a loop over i."""
    return "\n".join(
        [
            f"for i in {loop}:",
            '    with T.block("B"):',
            f"        v = T.axis.{axis}",
            *[f"        {line}" for line in statements],
        ]
    )


def _sum_of_threads(axis: str, init: str = "0.0", update: str = "B[0] + A[v]") -> str:
    return _block(
        'T.thread_binding(32, thread="threadIdx.x")',
        axis,
        *("with T.init():", f"    B[0] = {init}", f"B[0] = {update}"),
    )


_STAGED = """
C = T.alloc_buffer((8,){scope})
for i in {first}:
    with T.block("C"):
        v = T.axis.spatial(8, i)
        C[v] = A[v]
for i in {second}:
    with T.block("B"):
        v = T.axis.spatial(8, i)
        B[v] = C[{index}]
"""
_PIPELINE = """
for i in T.serial(1, 8, annotations={
    "software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]
}):
    with T.block("row"):
        v = T.axis.spatial(8, i)
        T.reads(A[v], B[v - 1])
        T.writes(B[v])
        C = T.alloc_buffer((1,))
        with T.block("C"):
            C[0] = B[v - 1] + A[v]
        with T.block("B"):
            B[v] = C[0]
"""
_VIEWS = """
for i in T.parallel(7):
    with T.block("pair"):
        v = T.axis.spatial(7, i)
        V = T.match_buffer(B[v:v + 2], (2,), offset_factor=1)
        for x in range(2):
            V[x] = A[v]
"""
_CARRIED = """
for i in range(8):
    with T.block("C"):
        v = T.axis.spatial(8, i)
        if v == 0:
            C[v] = A[v]
        else:
            C[v] = C[v - 1] + A[v]
    with T.block("B"):
        v = T.axis.spatial(8, i)
        B[v] = C[v]
"""
_THREADS = 'T.thread_binding(8, thread="threadIdx.x")'
_BLOCKS = 'T.thread_binding(8, thread="blockIdx.x")'

_ROWS: Mapping[str, tuple[str, type[TeSchedError], str]] = {
    "parallel stores": (
        _block("T.parallel(8)", "spatial(8, i)", "B[v // 2] = A[v]"),
        BuildError,
        "data race on B between iterations of parallel loop i",
    ),
    "parallel scan": (
        _block("T.parallel(7)", "scan(7, i)", "B[v + 1] = B[v] + A[v]"),
        BuildError,
        "data race on B between iterations of parallel loop i",
    ),
    "vectorized scan": (
        _block("T.vectorized(7)", "spatial(7, i)", "B[v + 1] = B[v]"),
        BuildError,
        "data race on B between iterations of vectorized loop i",
    ),
    "threads that store one element": (
        _block(_THREADS, "spatial(8, i)", "B[v // 2] = A[v]"),
        BuildError,
        "data race on B between threads",
    ),
    "overlapping views": (_VIEWS, BuildError, "data race on B"),
    "memory that nothing writes": (
        "C = T.alloc_buffer((8,))\n" + _block("range(8)", "spatial(8, i)", "B[v] = C[v]"),
        BuildError,
        "buffer C is read before it is written",
    ),
    "memory that is written in part": (
        _STAGED.format(scope="", first="range(4)", second="range(8)", index="v"),
        BuildError,
        "buffer C is read before it is written",
    ),
    "iterations that depend on each other": (
        "C = T.alloc_buffer((8,))" + _CARRIED,
        BuildError,
        "buffer C is read before it is written",
    ),
    "stores out of bounds": (
        _block("range(8)", "spatial(8, i)", "B[v + 1] = A[v]"),
        BuildError,
        "program writes B at 8 in dimension 0",
    ),
    "loads out of bounds": (
        _block("range(8)", "spatial(8, i)", "B[v] = A[v * 2]"),
        BuildError,
        "program reads A at 8 in dimension 0",
    ),
    "shared memory of two kernels": (
        _STAGED.format(scope=', scope="shared"', first=_BLOCKS, second=_BLOCKS, index="v"),
        BuildError,
        'buffer C in scope "shared" is allocated outside of the kernels',
    ),
    "registers of other threads": (
        _STAGED.format(scope=', scope="local"', first=_THREADS, second=_THREADS, index="7 - v"),
        BuildError,
        'buffer C in scope "local"',
    ),
    "pipeline of dependent rows": (
        _PIPELINE,
        BlockError,
        "software pipeline of loop i executes accesses to buffer B in another order",
    ),
    "reduction over blocks": (
        _sum_of_threads("reduce(32, i)").replace("threadIdx", "blockIdx"),
        ReductionError,
        "its reduction loop i is bound to blockIdx.x",
    ),
    "reduction with another start": (
        _sum_of_threads("reduce(32, i)", init="1.0"),
        ReductionError,
        r"its initial value is T.float32\(1\)",
    ),
    "reduction in order": (
        _sum_of_threads("reduce(32, i)", update="B[0] * 0.5 + A[v]"),
        ReductionError,
        "its update is not a known commutative reduction",
    ),
    "reduction without its first iteration": (
        _sum_of_threads("reduce(33, i + 1)"),
        ReductionError,
        "not proven that iterator v is at its start in the first iteration",
    ),
    "reduction whose condition excludes the first iteration": (
        _sum_of_threads("reduce(32, i)\n        T.where(i > 3)"),
        ReductionError,
        "not proven that its condition holds in the first iteration",
    ),
}


enter(
    "programs of blocks",
    {
        name: (_building(body, "40" if "32" in body else "8"), error, match)
        for name, (body, error, match) in _ROWS.items()
    },
)
