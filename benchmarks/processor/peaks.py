"""What a processor can do at most: multiply-adds in registers, and copies in memory.

Both loops are written with te_sched. Must not know which workloads are compared with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from benchmarks.processor.measuring import timings
from te_sched import te

_REGISTERS, _LANES, _STEPS = 12, 16, 2_000_000
_COPIED = (2**12, 2**13)


def fused(threads: int, steps: int = _STEPS) -> tuple[Any, list[Any]]:
    """Sums that stay in registers, enough of them that none waits for another."""
    A, B = te.placeholder((_REGISTERS, _LANES), name="A"), te.placeholder((_LANES,), name="B")
    r = te.reduce_axis((0, steps), "r")
    C = te.compute(
        (threads, _REGISTERS, _LANES), lambda t, u, v: te.sum(A[u, v] * B[v], axis=r), name="C"
    )
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "local")
    s[C].parallel(C.op.axis[0])
    s[sums].compute_at(s[C], C.op.axis[0])
    _, u, v = s[sums].op.axis
    s[sums].reorder(s[sums].op.reduce_axis[0], u, v)
    s[sums].unroll(u)
    s[sums].vectorize(v)
    return s, [A, B, C]


def copied(rows: int, columns: int) -> tuple[Any, list[Any]]:
    """Rows on all threads, in vectors."""
    A = te.placeholder((rows, columns), name="A")
    B = te.compute((rows, columns), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    _, lanes = s[B].split(B.op.axis[1], _LANES)
    s[B].vectorize(lanes)
    s[B].parallel(B.op.axis[0])
    return s, [A, B]


def gigaflops(threads: int, steps: int = _STEPS) -> float:
    """Multiply-adds on all threads, each counted as two."""
    work = 2.0 * threads * _REGISTERS * _LANES * steps
    return work / _seconds(*fused(threads, steps)) / 1e9


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
