"""Layers of networks that reduce rows: softmax and layer norm.

A row stays in the first-level cache while it is reduced, and all steps are vectorized. Must not
know measurements.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.processor.workload import Array, Call, Program, Workload

_LANES = 16
_SUMS = 4  # vectors of partial results of a row
_EPSILON = 1e-5


def softmax(te: Any, rows: int, columns: int) -> Program:
    """Per row: the maximum, the exponentials and their sum, and the products with its inverse."""
    A, largest, powers, total, inverse, B = _softmax(te, rows, columns)
    s = te.create_schedule(B.op)
    row = _rows_in_parallel(s, B)
    s[inverse].compute_at(s[B], row)
    _attach(s, powers, B, row)
    for stage in (largest, total):
        _reduce_in_lanes(s, stage, B, row)
    return s, [A, B]


def softmax_tutorial(te: Any, rows: int, columns: int) -> Program:
    """Parallel rows, stage by stage; elementwise stages are vectorized."""
    A, largest, powers, total, inverse, B = _softmax(te, rows, columns)
    s = te.create_schedule(B.op)
    for stage in (largest, powers, total, inverse, B):
        s[stage].parallel(stage.op.axis[0])
    for stage in (powers, B):
        s[stage].vectorize(s[stage].split(stage.op.axis[1], _LANES)[1])
    return s, [A, B]


def _softmax(te: Any, rows: int, columns: int) -> tuple[Any, ...]:
    A = te.placeholder((rows, columns), name="A")
    k, l = (te.reduce_axis((0, columns), name) for name in "kl")  # noqa: E741
    largest = te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="largest")
    powers = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - largest[i]), name="powers")
    total = te.compute((rows,), lambda i: te.sum(powers[i, l], axis=l), name="total")
    inverse = te.compute((rows,), lambda i: 1.0 / total[i], name="inverse")
    B = te.compute((rows, columns), lambda i, j: powers[i, j] * inverse[i], name="B")
    return A, largest, powers, total, inverse, B


def layer_norm(te: Any, rows: int, columns: int) -> Program:
    """Per row: the mean, the variance, and the result."""
    args, mean, variance, inverse, B = _layer_norm(te, rows, columns)
    s = te.create_schedule(B.op)
    row = _rows_in_parallel(s, B)
    s[inverse].compute_at(s[B], row)
    for stage in (variance, mean):
        _reduce_in_lanes(s, stage, B, row)
    return s, args


def layer_norm_tutorial(te: Any, rows: int, columns: int) -> Program:
    """Parallel rows, stage by stage; the last one is vectorized."""
    args, mean, variance, inverse, B = _layer_norm(te, rows, columns)
    s = te.create_schedule(B.op)
    for stage in (mean, variance, inverse, B):
        s[stage].parallel(stage.op.axis[0])
    s[B].vectorize(s[B].split(B.op.axis[1], _LANES)[1])
    return s, args


def _layer_norm(te: Any, rows: int, columns: int) -> tuple[list[Any], Any, Any, Any]:
    A = te.placeholder((rows, columns), name="A")
    scale, shift = (te.placeholder((columns,), name=name) for name in ("scale", "shift"))
    k, l = (te.reduce_axis((0, columns), name) for name in "kl")  # noqa: E741
    part = 1.0 / columns
    mean = te.compute((rows,), lambda i: te.sum(A[i, k] * part, axis=k), name="mean")
    variance = te.compute(
        (rows,),
        lambda i: te.sum((A[i, l] - mean[i]) * (A[i, l] - mean[i]) * part, axis=l),
        name="variance",
    )
    inverse = te.compute((rows,), lambda i: 1.0 / te.sqrt(variance[i] + _EPSILON), name="inverse")
    B = te.compute(
        (rows, columns),
        lambda i, j: (A[i, j] - mean[i]) * inverse[i] * scale[j] + shift[j],
        name="B",
    )
    return [A, scale, shift, B], mean, variance, inverse, B


def _rows_in_parallel(s: Any, B: Any) -> Any:
    row, column = B.op.axis
    s[B].vectorize(s[B].split(column, _LANES)[1])
    s[B].parallel(row)
    return row


def _attach(s: Any, stage: Any, consumer: Any, row: Any) -> None:
    s[stage].vectorize(s[stage].split(stage.op.axis[1], _LANES)[1])
    s[stage].compute_at(s[consumer], row)


def _reduce_in_lanes(s: Any, stage: Any, consumer: Any, row: Any) -> None:
    """Reduce a row in separate lanes, then over fewer and fewer lanes.

    The last lanes are added sequentially: the fewer there are, the shorter is the latency.
    """
    stages = []
    for lanes in (_SUMS * _LANES, _LANES, _LANES // 4):
        _, inner = s[stage].split(s[stage].op.reduce_axis[0], lanes)
        stages.append(s.rfactor(stage, inner, 1))
    s[stage].compute_at(s[consumer], row)
    for parts in reversed(stages):
        s[parts].compute_at(s[consumer], row)
        s[parts].reorder(*parts.op.reduce_axis, parts.op.axis[1])
        s[parts].vectorize(parts.op.axis[1])


# -- peers -----------------------------------------------------------------------------------------


def _torch() -> Any:
    return importlib.import_module("torch")


def _softmax_of(a: Array) -> Array:
    powers = np.exp(a - a.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _softmax_by_numpy(a: Array) -> Call:
    return lambda: _softmax_of(a)


def _softmax_by_torch(a: Array) -> Call:
    torch = _torch()
    x = torch.from_numpy(a)
    out = torch.empty_like(x)
    return lambda: torch.softmax(x, 1, out=out)


def _layer_norm_of(a: Array, scale: Array, shift: Array) -> Array:
    centered = a - a.mean(axis=1, keepdims=True)
    variance = np.mean(centered * centered, axis=1, keepdims=True)
    return np.asarray(centered / np.sqrt(variance + np.float32(_EPSILON)) * scale + shift)


def _layer_norm_by_numpy(a: Array, scale: Array, shift: Array) -> Call:
    return lambda: _layer_norm_of(a, scale, shift)


def _layer_norm_by_torch(a: Array, scale: Array, shift: Array) -> Call:
    torch = _torch()
    x, y, z = map(torch.from_numpy, (a, scale, shift))
    return lambda: torch.nn.functional.layer_norm(x, (a.shape[1],), y, z, _EPSILON)


_SIZE, _ODD = (4096, 1024), ((1, 1), (3, 130), (5, 1001))
_MOVED = 8.0 * 4096 * 1024

WORKLOADS = (
    Workload(
        name="softmax",
        size=_SIZE,
        best=softmax,
        tutorial=softmax_tutorial,
        reference=_softmax_of,
        odd=_ODD,
        moved=_MOVED,
        peers={"numpy": _softmax_by_numpy, "torch": _softmax_by_torch},
    ),
    Workload(
        name="layer norm",
        size=_SIZE,
        best=layer_norm,
        tutorial=layer_norm_tutorial,
        reference=_layer_norm_of,
        odd=_ODD,
        moved=_MOVED,
        peers={"numpy": _layer_norm_by_numpy, "torch": _layer_norm_by_torch},
    ),
)
