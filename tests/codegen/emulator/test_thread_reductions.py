"""Reductions across threads, on the emulated device, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError

DEVICE = te_sched.emulated_cuda(0)


def reduced(
    values: np.ndarray[Any, Any], reducer: Callable[..., Any], across: str, rows: str | None
) -> np.ndarray[Any, Any]:
    """The rows of an array, each reduced by the threads of an axis."""
    n, m = values.shape
    A = te.placeholder((n, m), name="A", dtype=str(values.dtype))
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: reducer(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.reduce_axis[0], te.thread_axis(across))
    if rows is not None:
        s[B].bind(B.op.axis[0], te.thread_axis(rows))
    a = te_sched.nd.array(values, DEVICE)
    b = te_sched.nd.empty((n,), str(values.dtype), DEVICE)
    te_sched.build(s, [A, B], target="cuda")(a, b)
    return b.numpy()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 16, 31, 32, 33, 64, 96, 100, 256, 1000, 1024])
@pytest.mark.parametrize("rows", ["blockIdx.x", None])
def test_sums_of_any_size(size: int, rows: str | None) -> None:
    values = np.random.default_rng(0).integers(0, 9, (3, size)).astype("float32")
    found = reduced(values, te.sum, "threadIdx.x", rows)
    np.testing.assert_array_equal(found, values.sum(1))


@pytest.mark.parametrize(("size", "n"), [(8, 7), (7, 8), (32, 32), (64, 5), (3, 33)])
@pytest.mark.parametrize("axes", [("threadIdx.x", "threadIdx.y"), ("threadIdx.y", "threadIdx.x")])
def test_rows_side_by_side(size: int, n: int, axes: tuple[str, str]) -> None:
    values = np.random.default_rng(1).integers(-9, 9, (n, size)).astype("int32")
    np.testing.assert_array_equal(reduced(values, te.max, *axes), values.max(1))


def argmax(x: Any, y: Any) -> tuple[Any, Any]:
    larger = te.any(x[1] > y[1], te.all(x[1] >= y[1], x[0] < y[0]))
    return te_sched.tir.Select(larger, x[0], y[0]), te_sched.tir.Select(larger, x[1], y[1])


@pytest.mark.parametrize("size", [6, 32, 128])
def test_components_are_combined_together(size: int) -> None:
    reducer = te.comm_reducer(
        argmax, lambda i, v: (te_sched.tir.const(-1, i), te_sched.te.min_value(v)), name="argmax"
    )
    I = te.placeholder((4, size), name="I", dtype="int32")  # noqa: E741
    V = te.placeholder((4, size), name="V")
    k = te.reduce_axis((0, size), "k")
    T0, T1 = te.compute((4,), lambda i: reducer((I[i, k], V[i, k]), axis=k), name="T")
    s = te.create_schedule(T0.op)
    s[T0].bind(T0.op.axis[0], te.thread_axis("blockIdx.x"))
    s[T0].bind(T0.op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    values = np.random.default_rng(2).integers(0, 5, (4, size)).astype("float32")
    index = np.tile(np.arange(size, dtype="int32"), (4, 1))
    arrays = [
        te_sched.nd.array(x, DEVICE)
        for x in (index, values, np.zeros(4, "int32"), np.zeros(4, "float32"))
    ]
    te_sched.build(s, [I, V, T0, T1], target="cuda")(*arrays)
    np.testing.assert_array_equal(arrays[2].numpy(), values.argmax(1))


def test_blocks_cannot_be_combined() -> None:
    with pytest.raises(BuildError, match="rfactor"):
        reduced(np.zeros((3, 8), "float32"), te.sum, "blockIdx.x", None)
