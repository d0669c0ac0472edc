"""Memory-bound workloads: a sum of vectors, sums of rows, and a transposition.

Results larger than the caches are stored with the pragma `nontemporal`, which avoids reading the
overwritten lines. Must not know measurements.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.processor.workload import BEST_PEER, Array, Call, Program, Workload

_LANES = 16
_SUMS = 4  # vectors of partial sums of a row
_SIDE = 64  # of a transposed block


def vector_add(te: Any, n: int) -> Program:
    """A segment of the vectors per core, one cache line at a time."""
    A, B, C = _vectors(te, n)
    s = te.create_schedule(C.op)
    stretch, rest = s[C].split(C.op.axis[0], 1 << 14)
    _, lanes = s[C].split(rest, 2 * _LANES)
    s[C].parallel(stretch)
    s[C].vectorize(lanes)
    if n > 1 << 20:
        s[C].pragma(stretch, "nontemporal")
    return s, [A, B, C]


def vector_add_tutorial(te: Any, n: int) -> Program:
    """TVM's first tutorial: the outer loop is parallel, the inner one vectorized."""
    A, B, C = _vectors(te, n)
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=64)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    return s, [A, B, C]


def _vectors(te: Any, n: int) -> tuple[Any, Any, Any]:
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    return A, B, te.compute((n,), lambda i: A[i] + B[i], name="C")


def row_sums(te: Any, rows: int, columns: int) -> Program:
    """A row is summed in several vectors, then these are summed."""
    A, B = _rows(te, rows, columns)
    s = te.create_schedule(B.op)
    reduce_in_lanes(s, B)
    return s, [A, B]


def reduce_in_lanes(s: Any, B: Any) -> None:
    """Reduce each row in separate lanes, with parallel rows."""
    _, lanes = s[B].split(B.op.reduce_axis[0], _SUMS * _LANES)
    parts = s.rfactor(B, lanes, 1)
    (row,) = s[B].op.axis
    s[B].parallel(row)
    s[parts].compute_at(s[B], row)
    _, lanes = parts.op.axis
    s[parts].reorder(*parts.op.reduce_axis, lanes)
    s[parts].vectorize(lanes)


def row_sums_tutorial(te: Any, rows: int, columns: int) -> Program:
    """The tutorial on reductions: split, factored, with parallel rows."""
    A, B = _rows(te, rows, columns)
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], factor=16)
    parts = s.rfactor(B, inner)
    (row,) = s[B].op.axis
    s[B].parallel(row)
    s[parts].compute_at(s[B], row)
    return s, [A, B]


def _rows(te: Any, rows: int, columns: int) -> tuple[Any, Any]:
    A = te.placeholder((rows, columns), name="A")
    k = te.reduce_axis((0, columns), "k")
    return A, te.compute((rows,), lambda i: te.sum(A[i, k], axis=k), name="B")


def transpose(te: Any, rows: int, columns: int) -> Program:
    """Blocks are copied to contiguous memory before they are transposed.

    Rows at distances of a power of two would compete for a few lines of the cache. Whole lines are
    stored with nontemporal stores.
    """
    A, B = _transposed(te, rows, columns)
    s = te.create_schedule(B.op)
    block = s.cache_read(A, "global", [B])
    row, column, _, j = s[B].tile(*B.op.axis, _SIDE, _SIDE)
    s[B].parallel(row)
    s[B].vectorize(s[B].split(j, _LANES)[1])
    s[B].pragma(row, "nontemporal")
    s[block].compute_at(s[B], column)
    s[block].vectorize(s[block].split(block.op.axis[1], _LANES)[1])
    s[block].storage_align(block.op.axis[0], _LANES, 1)
    return s, [A, B]


def transpose_tutorial(te: Any, rows: int, columns: int) -> Program:
    """Blocks of 32 x 32."""
    A, B = _transposed(te, rows, columns)
    s = te.create_schedule(B.op)
    block, _, _, _ = s[B].tile(*B.op.axis, 32, 32)
    s[B].parallel(block)
    return s, [A, B]


def _transposed(te: Any, rows: int, columns: int) -> tuple[Any, Any]:
    A = te.placeholder((rows, columns), name="A")
    return A, te.compute((columns, rows), lambda i, j: A[j, i], name="B")


# -- peers -----------------------------------------------------------------------------------------


def _torch() -> Any:
    return importlib.import_module("torch")


def _added_by_numpy(a: Array, b: Array) -> Call:
    out = np.empty_like(a)
    return lambda: np.add(a, b, out=out)


def _added_by_torch(a: Array, b: Array) -> Call:
    torch = _torch()
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    out = torch.empty_like(x)
    return lambda: torch.add(x, y, out=out)


def _summed_by_numpy(a: Array) -> Call:
    out = np.empty(a.shape[0], a.dtype)
    return lambda: np.sum(a, axis=1, out=out)


def _summed_by_torch(a: Array) -> Call:
    torch = _torch()
    x, out = torch.from_numpy(a), torch.empty(a.shape[0])
    return lambda: torch.sum(x, 1, out=out)


def _transposed_by_numpy(a: Array) -> Call:
    out = np.empty(a.shape[::-1], a.dtype)

    def call() -> Array:
        np.copyto(out, a.T)
        return out

    return call


def _transposed_by_torch(a: Array) -> Call:
    torch = _torch()
    x = torch.from_numpy(a)
    out = torch.empty(a.shape[::-1])
    return lambda: out.copy_(x.t())


_GOALS = {BEST_PEER: 0.95}

WORKLOADS = (
    Workload(
        name="vector add",
        size=(1 << 25,),
        best=vector_add,
        tutorial=vector_add_tutorial,
        reference=np.add,
        odd=((1,), (77,), (100003,), ((1 << 20) + 17,)),
        moved=12.0 * (1 << 25),
        peers={"numpy": _added_by_numpy, "torch": _added_by_torch},
        goals=_GOALS,
    ),
    Workload(
        name="row sums",
        size=(4096, 8192),
        best=row_sums,
        tutorial=row_sums_tutorial,
        reference=lambda a: np.sum(a, axis=1),
        odd=((1, 1), (3, 130), (7, 1025)),
        moved=4.0 * 4096 * 8193,
        peers={"numpy": _summed_by_numpy, "torch": _summed_by_torch},
        goals=_GOALS,
    ),
    Workload(
        name="transpose",
        size=(4096, 4096),
        best=transpose,
        tutorial=transpose_tutorial,
        reference=np.transpose,
        odd=((1, 1), (3, 130), (65, 33)),
        moved=8.0 * 4096 * 4096,
        peers={"numpy": _transposed_by_numpy, "torch": _transposed_by_torch},
        goals=_GOALS,
    ),
)
