"""Launches whose sizes are known only when they are made: refused, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import CallError


def bound(*tags: str) -> Any:
    """A matrix of n x m plus one, its axes bound to threads."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    for axis, tag in zip(B.op.axis, tags, strict=True):
        s[B].bind(axis, te.thread_axis(tag))
    return te_sched.build(s, [A, B], target="cuda")


def run(module: Any, *shape: int) -> Any:
    device = te_sched.emulated_cuda(0)
    a, b = (te_sched.nd.array(np.zeros(shape, "float32"), device) for _ in range(2))
    module(a, b)
    return b.numpy()


@pytest.mark.parametrize(
    ("tags", "shape", "message"),
    [
        (("blockIdx.x", "threadIdx.x"), (2, 1025), "m threads in a block, .* at most 1024"),
        (("threadIdx.y", "threadIdx.x"), (40, 40), "m x n threads in a block, .* at most 1024"),
        (("threadIdx.z", "threadIdx.x"), (65, 2), "threadIdx.z = n, .* at most 64"),
        (("blockIdx.y", "threadIdx.x"), (65536, 1), "blockIdx.y = n, .* at most 65535"),
    ],
)
def test_launches_beyond_the_limits(
    tags: tuple[str, ...], shape: tuple[int, ...], message: str
) -> None:
    with pytest.raises(CallError, match=message):
        run(bound(*tags), *shape)


@pytest.mark.parametrize("shape", [(32, 32), (1, 1024), (0, 5)])
def test_launches_at_the_limits(shape: tuple[int, ...]) -> None:
    assert (run(bound("threadIdx.y", "threadIdx.x"), *shape) == 1).all()


def test_dynamic_shared_memory_beyond_the_limit() -> None:
    n = te.var("n")
    A = te.placeholder((4, n), name="A")
    B = te.compute((4, n), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, n), lambda i, j: B[i, n - 1 - j], name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("shared.dyn")
    row, column = C.op.axis
    s[C].bind(row, te.thread_axis("blockIdx.x"))
    _, inner = s[C].split(column, factor=32)
    s[C].bind(inner, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], row)
    _, inner = s[B].split(B.op.axis[1], factor=32)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [A, C], target="cuda")
    assert (run(module, 4, 1000) == 1).all()
    with pytest.raises(CallError, match=r"bytes of dynamic shared memory, .* at most 166912"):
        run(module, 4, 50000)
