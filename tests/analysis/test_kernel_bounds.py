"""Kernels that certainly leave their memory are refused by build: nothing watches them later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, te, tir
from te_sched.errors import BuildError, CallError

Index = Callable[[Any], Any]


def copied(index: Index, n: Any, out: Any, scope: str, threads: int = 32) -> Any:
    """Elements of A at an index, in blocks of threads, through a cache if there is a scope."""
    A = te.placeholder((n,), name="A")
    B = te.compute((out,), lambda i: A[index(i)], name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], factor=threads)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    if scope:
        cache = s.cache_read(A, scope, [B])
        s[cache].compute_at(s[B], thread if scope == "local" else block)
        if scope != "local":
            _, inner = s[cache].split(cache.op.axis[0], factor=threads)
            s[cache].bind(inner, te.thread_axis("threadIdx.x"))
    return te_sched.build(s, [A, B], target="cuda")


@pytest.mark.parametrize("n", [64, 50, 2**24, 2**24 - 5])
@pytest.mark.parametrize("scope", ["", "shared", "local"])
@pytest.mark.parametrize(
    ("index", "message"),
    [
        (lambda i: i + 1, "reads A.* at {n} in dimension 0"),
        (lambda i: i - 1, "reads A.* at -1 in dimension 0"),
        (lambda i: i * 2, "reads A.* at .* in dimension 0"),
    ],
)
def test_schedules_that_read_outside_are_refused(
    index: Index, message: str, scope: str, n: int
) -> None:
    with pytest.raises(BuildError, match=message.format(n=n)):
        copied(index, n, n, scope)


def test_schedules_that_always_read_outside_are_refused_for_all_sizes() -> None:
    n = te.var("n")
    with pytest.raises(BuildError, match=r"reads A at n in dimension 0(.|\n)*runs from 1 to n"):
        copied(lambda i: i + 1, n, n, "")


def test_calls_whose_sizes_are_too_small_are_refused() -> None:
    n, m = te.var("n"), te.var("m")
    module = copied(lambda i: i + 4, n, m, "")
    device = te_sched.emulated_cuda(0)

    def call(size: int, out: int) -> Any:
        a = np.arange(size, dtype="float32")
        b = nd.array(np.zeros(out, "float32"), device)
        module(nd.array(a, device), b)
        np.testing.assert_array_equal(b.numpy(), a[4 : 4 + out])

    call(54, 50)
    call(3, 0)
    with pytest.raises(CallError, match=r"dimension 0 of A(.|\n)*reads it at"):
        call(53, 50)


def test_guards_that_leave_all_within_are_no_obstacle() -> None:
    for n in (50, 2**24 - 5):
        copied(lambda i: i + 1, n, n - 1, "shared")
        copied(lambda i: te.max(i - 1, 0), n, n, "")


Body = Callable[[Any, Any, Any, Any, Any, Any], None]


def kernel(body: Body, scope: str, blocks: int = 2) -> Any:
    """A kernel of two blocks of 16 threads over 32 elements, with 16 elements of memory."""
    ib = tir.ir_builder.create()
    bx, tx = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")
    A, C = tir.decl_buffer((32,), name="A"), tir.decl_buffer((32,), name="C")
    a, c = ib.buffer_ptr(A), ib.buffer_ptr(C)
    ib.scope_attr(bx, "thread_extent", blocks)
    ib.scope_attr(tx, "thread_extent", 16)
    memory = ib.allocate("float32", 16, name="m", scope=scope)
    body(ib, a, c, memory, bx, tx)
    attributes = {"global_symbol": "main"}
    func = tir.PrimFunc((A.data, C.data), ib.get(), {A.data: A, C.data: C}, attributes)
    return te_sched.build(func, target="cuda")


def straight(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    m[tx] = a[bx * 16 + tx]
    c[bx * 16 + tx] = m[tx]


def reads_beyond(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    m[tx] = a[bx * 16 + tx]
    c[bx * 16 + tx] = m[tx + 1]


def reads_below(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    m[tx] = a[bx * 16 + tx]
    c[bx * 16 + tx] = m[14 - tx]


def writes_beyond(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    with ib.for_range(0, 2) as i:
        m[tx + i] = a[bx * 16 + tx]
    c[bx * 16 + tx] = m[tx]


def reads_argument_beyond(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    m[tx] = 0.0
    with ib.if_scope(bx * 16 + tx < 33):
        m[tx] = a[bx * 16 + tx + 1]
    c[bx * 16 + tx] = m[tx]


def writes_argument_beyond(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    m[tx] = a[bx * 16 + tx]
    c[bx * 16 + tx + 1] = m[tx]


@pytest.mark.parametrize("scope", ["shared", "shared.dyn", "warp"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (reads_beyond, "reads m at 16 in dimension 0"),
        (reads_below, "reads m at -1 in dimension 0"),
        (writes_beyond, "writes m at 16 in dimension 0"),
        (reads_argument_beyond, "reads A at 32 in dimension 0"),
        (writes_argument_beyond, "writes C at 32 in dimension 0"),
    ],
)
def test_kernels_that_leave_their_memory_are_refused(body: Body, message: str, scope: str) -> None:
    with pytest.raises(BuildError, match=message):
        kernel(body, scope)


@pytest.mark.parametrize("scope", ["shared", "shared.dyn", "local", "warp"])
def test_a_block_more_than_there_are_elements_is_refused(scope: str) -> None:
    kernel(straight, scope)
    with pytest.raises(BuildError, match="reads A at 32 in dimension 0"):
        kernel(straight, scope, blocks=3)


def writes_registers_beyond(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    with ib.for_range(0, 17) as i:
        m[i] = a[bx * 16 + tx]
    c[bx * 16 + tx] = m[0]


def reads_registers_beyond(ib: Any, a: Any, c: Any, m: Any, bx: Any, tx: Any) -> None:
    with ib.for_range(0, 16) as i:
        m[i] = a[bx * 16 + tx]
    c[bx * 16 + tx] = m[16]


@pytest.mark.parametrize(
    ("body", "message"),
    [(writes_registers_beyond, "writes m at 16"), (reads_registers_beyond, "reads m at 16")],
)
def test_threads_that_leave_their_registers_are_refused(body: Body, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        kernel(body, "local")
