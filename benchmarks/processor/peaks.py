"""The peaks of a processor: multiply-adds in registers, and copies in memory.

Both loops are written with te_sched. Must not know the workloads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from benchmarks.processor.measuring import timings
from te_sched import te
from te_sched.story.machine import LANES, REGISTERS, multiply_adds

_STEPS = 2_000_000
_COPIED = (2**12, 2**13)


def copied(rows: int, columns: int) -> tuple[Any, list[Any]]:
    """A vectorized copy of rows on all threads."""
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((rows, columns), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    _, lanes = s[B].split(B.op.axis[1], LANES)
    s[B].vectorize(lanes)
    s[B].parallel(B.op.axis[0])
    return s, [A, B]


def gigaflops(threads: int, steps: int = _STEPS) -> float:
    """Multiply-adds on all threads, each counted as two."""
    work = 2.0 * threads * REGISTERS * LANES * steps
    return work / _seconds(*multiply_adds(threads, steps, "float32")) / 1e9


def gigabytes_per_second(shape: tuple[int, int] = _COPIED) -> float:
    """Bytes read and written; the faster of te_sched's copy and numpy's."""
    source = np.zeros(shape, np.float32)
    target = np.zeros_like(source)
    numpy = timings({"numpy": lambda: np.copyto(target, source)})["numpy"].shortest
    return 2.0 * source.nbytes / min(numpy, _seconds(*copied(*shape))) / 1e9


def _seconds(s: Any, args: list[Any]) -> float:
    module: Any = te_sched.build(s, args, target="llvm")
    arrays = [te_sched.nd.array(np.zeros([int(n) for n in arg.shape], "float32")) for arg in args]
    return timings({"peak": lambda: module(*arrays)})["peak"].shortest
