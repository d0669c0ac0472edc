"""Halide's matrix product, scheduled as in its examples. Needs Halide 21 (`pip install halide`).

B is packed into panels of 64 columns, and tiles of 4 x 64 sums are in registers, as in te_sched's
best schedule; in Halide, columns are the first dimension.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.processor.workload import Array, Call

_COLUMNS, _ROWS, _LANES, _DEPTH, _BLOCK = 64, 4, 16, 256, 128


def product(a: Array, b: Array) -> Call:
    """The call, for sizes that are multiples of the tiles."""
    hl: Any = importlib.import_module("halide")
    (m, k), n = a.shape, b.shape[1]
    A, B = hl.Buffer(a), hl.Buffer(b)
    out = np.empty((m, n), a.dtype)
    result = hl.Buffer(out)
    pipeline = _scheduled(hl, A, B, (m, n, k))
    pipeline.compile_jit(hl.get_jit_target_from_environment())

    def call() -> Array:
        pipeline.realize(result)
        return out

    return call


def _scheduled(hl: Any, A: Any, B: Any, size: tuple[int, int, int]) -> Any:
    m, n, k = size
    x, y, p, w = hl.Var("x"), hl.Var("y"), hl.Var("p"), hl.Var("w")
    xo, xi, yo, yi, xx, yy = (hl.Var(name) for name in ("xo", "xi", "yo", "yi", "xx", "yy"))
    r = hl.RDom([hl.Range(0, k)])
    panels, sums, out = hl.Func("panels"), hl.Func("sums"), hl.Func("out")
    panels[x, p, w] = B[w * _COLUMNS + x, p]
    sums[x, y] = hl.f32(0)
    sums[x, y] += A[r, y] * panels[x % _COLUMNS, r, x // _COLUMNS]
    out[x, y] = sums[x, y]
    out.bound(x, 0, n).bound(y, 0, m)
    width = min(n, 8 * _COLUMNS)
    out.tile(x, y, xo, yo, xi, yi, width, min(m, _BLOCK)).vectorize(xi, _LANES).parallel(yo)
    panels.compute_root().bound_extent(x, _COLUMNS).vectorize(x, _LANES).parallel(w)
    sums.compute_at(out, xo).vectorize(x, _LANES)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    update = sums.update()
    update.split(r, ro, ri, min(k, _DEPTH)).tile(x, y, xx, yy, xi, yi, _COLUMNS, _ROWS)
    update.reorder(xi, yi, ri, yy, xx, ro).vectorize(xi, _LANES).unroll(xi).unroll(yi)
    return out
