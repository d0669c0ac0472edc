"""The two-stage blur of Halide's paper, in uint16. Must not know measurements."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.processor.workload import Array, Call, Program, Workload

_LANES = 32
_STRIP = 32  # rows for which the first stage is computed at a time


def _blur(te: Any, height: int, width: int) -> tuple[Any, Any, Any]:
    A = te.placeholder((height + 2, width + 2), "uint16", name="A")
    three = te.const(3, "uint16")
    X = te.compute(
        (height + 2, width),
        lambda y, x: te.floordiv(A[y, x] + A[y, x + 1] + A[y, x + 2], three),
        name="X",
    )
    B = te.compute(
        (height, width),
        lambda y, x: te.floordiv(X[y, x] + X[y + 1, x] + X[y + 2, x], three),
        name="B",
    )
    return A, X, B


def blur(te: Any, height: int, width: int) -> Program:
    """Parallel strips; the first stage of a strip stays in the cache."""
    A, X, B = _blur(te, height, width)
    s = te.create_schedule(B.op)
    strip, _ = s[B].split(B.op.axis[0], _STRIP)
    s[B].vectorize(s[B].split(B.op.axis[1], _LANES)[1])
    s[B].parallel(strip)
    s[B].pragma(strip, "nontemporal")
    s[X].compute_at(s[B], strip)
    s[X].vectorize(s[X].split(X.op.axis[1], _LANES)[1])
    return s, [A, B]


def blur_tutorial(te: Any, height: int, width: int) -> Program:
    """Stage by stage, with parallel rows."""
    A, X, B = _blur(te, height, width)
    s = te.create_schedule(B.op)
    for stage in (X, B):
        s[stage].vectorize(s[stage].split(stage.op.axis[1], _LANES)[1])
        s[stage].parallel(stage.op.axis[0])
    return s, [A, B]


# -- peers -----------------------------------------------------------------------------------------


def _blurred(a: Array) -> Array:
    three = np.uint16(3)
    x = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) // three
    return np.asarray((x[:-2] + x[1:-1] + x[2:]) // three)


def _by_numpy(a: Array) -> Call:
    return lambda: _blurred(a)


def _by_halide(a: Array) -> Call:
    """Halide's own schedule: tiles of 256 x 32, the first stage for each."""
    hl: Any = importlib.import_module("halide")
    x, y, xi, yi = (hl.Var(name) for name in ("x", "y", "xi", "yi"))
    A, across, result = hl.Buffer(a), hl.Func("across"), hl.Func("result")
    across[x, y] = (A[x, y] + A[x + 1, y] + A[x + 2, y]) / hl.u16(3)
    result[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) / hl.u16(3)
    result.tile(x, y, xi, yi, 256, 32).vectorize(xi, _LANES).parallel(y)
    across.compute_at(result, x).vectorize(x, _LANES)
    result.compile_jit(hl.get_jit_target_from_environment())
    out = np.empty((a.shape[0] - 2, a.shape[1] - 2), a.dtype)
    buffer = hl.Buffer(out)

    def call() -> Array:
        result.realize(buffer)
        return out

    return call


WORKLOADS = (
    Workload(
        name="blur",
        size=(2048, 3072),
        best=blur,
        tutorial=blur_tutorial,
        reference=_blurred,
        odd=((1, 1), (33, 65), (70, 131)),
        moved=4.0 * 2048 * 3072,
        peers={"numpy": _by_numpy, "Halide": _by_halide},
    ),
)
