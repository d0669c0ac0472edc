"""Launches whose sizes are known only when they are made: refused, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError, CallError


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


def filled(*extents: Any) -> Any:
    """A kernel by hand over extents of blocks and threads, constants or arguments."""
    ib = te_sched.tir.ir_builder.create()
    buffer = te_sched.tir.decl_buffer((64,), "float32", "B")
    for tag, extent in zip(("blockIdx.x", "threadIdx.x"), extents, strict=True):
        ib.scope_attr(te.thread_axis(tag), "thread_extent", extent)
    ib.buffer_ptr(buffer)[0] = 1.0
    handle = te_sched.tir.Var("B", "handle")
    sizes = [extent for extent in extents if not isinstance(extent, int)]
    func = te_sched.tir.PrimFunc([handle, *sizes], ib.get(), {handle: buffer})
    return te_sched.build(func.with_attr("global_symbol", "main"), target="cuda")


@pytest.mark.parametrize(
    ("extents", "match"),
    [
        ((-1, 32), "blockIdx.x .* from 1 to .*, got -1(.|\n)*positive extent"),
        ((2, -3), "threadIdx.x .* from 1 to 1024, got -3"),
        ((2**31, 1), "blockIdx.x .*, got 2147483648"),
        ((1, 2**40), "threadIdx.x .*, got 1099511627776"),
    ],
)
def test_constant_extents_out_of_range(extents: tuple[int, int], match: str) -> None:
    with pytest.raises(BuildError, match=match):
        filled(*extents)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_negative_extents_of_a_call(dtype: str) -> None:
    module = filled(te_sched.tir.Var("blocks", dtype), te_sched.tir.Var("threads", dtype))
    array = te_sched.nd.array(np.zeros(64, "float32"), te_sched.emulated_cuda(0))
    module(array, 0, 32)
    assert not array.numpy().any()
    for sizes in ((-1, 32), (2, -1), (-(2**31), -(2**31))):
        with pytest.raises(CallError, match=r"Idx.x = \w+, which is negative"):
            module(array, *sizes)
    module(array, 2, 32)
    assert array.numpy()[0] == 1


def test_negative_sizes_of_dynamic_shared_memory() -> None:
    n = te_sched.tir.Var("n", "int32")
    ib = te_sched.tir.ir_builder.create()
    buffer = te_sched.tir.decl_buffer((64,), "float32", "B")
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 32)
    shared = ib.allocate("float32", n, "S", scope="shared.dyn")
    shared[tx.var] = 1.0
    ib.buffer_ptr(buffer)[tx.var] = shared[tx.var]
    handle = te_sched.tir.Var("B", "handle")
    func = te_sched.tir.PrimFunc([handle, n], ib.get(), {handle: buffer})
    func = func.with_attr("global_symbol", "main")
    for verify, why in (
        (True, "dimension 0 of S is n = -5, expected at least 32"),
        (False, "kernel main_kernel allocates S with n elements, which is negative"),
    ):
        module = te_sched.build(func, target="cuda", verify=verify)
        assert module.check(np.zeros(64, "float32"), 32).ok
        with pytest.raises(CallError, match=why):
            module.check(np.zeros(64, "float32"), -5)
