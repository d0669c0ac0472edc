"""Matrix products for a processor, written in TE primitives. Must not know how they are timed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.processor.workload import Array, Call, Program, Workload

SIZES = (512, 1024, 2048)


def tutorial(te: Any, m: int, n: int, k: int) -> Program:
    """TVM's tutorial: B packed, blocks of 32 x 32, sums in a cache, all cores."""
    block = 32
    A, B = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "r")
    packed = te.compute(
        (-(-n // block), k, block),
        lambda b, p, j: te.if_then_else(
            b * block + j < n, B[p, b * block + j], te.const(0, "float32")
        ),
        name="packed",
    )
    C = te.compute(
        (m, n), lambda i, j: te.sum(A[i, r] * packed[j // block, r, j % block], axis=r), name="C"
    )
    s = te.create_schedule(C.op)
    sums = s.cache_write(C, "global")
    io, jo, _, ji = s[C].tile(*C.op.axis, block, block)
    s[sums].compute_at(s[C], jo)
    i, j = s[sums].op.axis
    ro, ri = s[sums].split(s[sums].op.reduce_axis[0], factor=4)
    s[sums].reorder(ro, i, ri, j)
    s[sums].unroll(ri)
    s[sums].vectorize(j)
    s[C].vectorize(ji)
    s[C].parallel(io)
    s[packed].vectorize(packed.op.axis[2])
    s[packed].parallel(packed.op.axis[0])
    return s, [A, B, C]


def _by_numpy(a: Array, b: Array) -> Call:
    out = np.empty((a.shape[0], b.shape[1]), a.dtype)
    return lambda: np.matmul(a, b, out=out)


def _by_torch(a: Array, b: Array) -> Call:
    torch: Any = importlib.import_module("torch")
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    out = torch.empty((a.shape[0], b.shape[1]))
    return lambda: torch.mm(x, y, out=out)


def _workload(size: int) -> Workload:
    return Workload(
        name=f"GEMM {size}",
        size=(size, size, size),
        best=tutorial,
        tutorial=tutorial,
        reference=np.matmul,
        odd=((67, 45, 51),),
        flops=2.0 * size**3,
        peers={"numpy": _by_numpy, "torch": _by_torch},
    )


WORKLOADS = tuple(_workload(size) for size in SIZES)
