"""The machine that times are measured on: its caches, and its peak of arithmetic.

Must not know stories.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from te_sched import te
from te_sched.driver import build
from te_sched.runtime import cpu, get_num_threads

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")  # of Linux
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
REGISTERS, LANES = 12, 16  # sums of vectors, enough to hide the latency of additions
_STEPS = 400_000  # about a millisecond


@cache
def caches() -> tuple[tuple[str, int], ...]:
    """The data caches of a core with their bytes, ("L1", 32768) first; () where unknown."""
    sizes = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = ((folder / name).read_text().strip() for name in _FILES)
            if kind != "Instruction":
                sizes[f"L{level}"] = int(size[:-1]) * _UNITS[size[-1]]
        except (OSError, ValueError, KeyError, IndexError):
            continue
    return tuple(sorted(sizes.items()))


_FILES = ("level", "type", "size")


def fitting_cache(nbytes: int | None, cache_sizes: tuple[tuple[str, int], ...]) -> str:
    """The first cache that holds a number of bytes; "memory" beyond all, "" where unknown."""
    if nbytes is None or not cache_sizes:
        return ""
    return next((name for name, size in cache_sizes if nbytes <= size), "memory")


def multiply_adds(threads: int, steps: int, dtype: str) -> tuple[te.Schedule, list[te.Tensor]]:
    """A program of multiply-adds on vectors that stay in registers, on all threads."""
    A = te.placeholder((REGISTERS, LANES), dtype, name="A")
    B = te.placeholder((LANES,), dtype, name="B")
    r = te.reduce_axis((0, steps), "r")
    C = te.compute(
        (threads, REGISTERS, LANES), lambda t, u, v: te.sum(A[u, v] * B[v], axis=r), name="C"
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


@cache
def peak_gigaflops(dtype: str = "float32") -> float:
    """The measured peak of multiply-adds in registers on all threads, two operations each."""
    threads = get_num_threads()
    s, args = multiply_adds(threads, _STEPS, dtype)
    module: Any = build(s, args, "llvm")
    shapes = ((REGISTERS, LANES), (LANES,), (threads, REGISTERS, LANES))
    arrays = [np.zeros(shape, dtype) for shape in shapes]
    seconds: float = min(module.entry_func.measure(cpu(0), 1, *arrays) for _ in range(10))
    return 2.0 * threads * REGISTERS * LANES * _STEPS / seconds / 1e9
