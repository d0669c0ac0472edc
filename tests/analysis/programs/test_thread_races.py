"""Threads that race in one statement, or in a kernel in which none waits, are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError


def built(body: Callable[..., None], *tags: tuple[str, Any]) -> Any:
    """A kernel by hand over A and B of 64 elements."""
    buffers = [tir.decl_buffer((64,), "float32", name) for name in "AB"]
    ib = tir.ir_builder.create()
    axes = []
    for tag, extent in tags or (("threadIdx.x", 32),):
        axes.append(te.thread_axis(tag))
        ib.scope_attr(axes[-1], "thread_extent", extent)
    body(ib, *[ib.buffer_ptr(buffer) for buffer in buffers], *[axis.var for axis in axes])
    handles = [tir.Var(buffer.name, "handle") for buffer in buffers]
    func = tir.PrimFunc(handles, ib.get(), dict(zip(handles, buffers, strict=True)))
    return te_sched.build(func.with_attr("global_symbol", "main"), target="cuda")


def all_into_one(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[0] = A[tx]


def two_into_one(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[tx // 2] = A[tx]


def some_into_one(ib: Any, A: Any, B: Any, tx: Any) -> None:
    with ib.if_scope(tx < 16):
        B[tx % 8] = A[tx]


def truth_into_one(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[0] = (tx < 5).astype("float32")


def in_a_loop(ib: Any, A: Any, B: Any, tx: Any) -> None:
    with ib.for_range(0, 4) as i:
        B[i] = A[tx + i]


def numbers_of_threads(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[tx * tx % 32] = tx.astype("float32")


def in_shared_memory(ib: Any, A: Any, B: Any, tx: Any) -> None:
    shared = ib.allocate("float32", 32, "S", scope="shared")
    shared[tx // 2] = A[tx]
    with ib.if_scope(tx < 16):
        B[tx] = shared[tx]


@pytest.mark.parametrize(
    "body",
    [
        all_into_one,
        two_into_one,
        some_into_one,
        truth_into_one,
        in_a_loop,
        numbers_of_threads,
        in_shared_memory,
    ],
)
def test_threads_that_write_one_element_are_refused(body: Callable[..., None]) -> None:
    match = r"race on [BS] between threads along threadIdx.x(.|\n)*both write [BS]\[0\]"
    with pytest.raises(BuildError, match=match):
        built(body)


def reversed_in_place(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[tx] = B[31 - tx] + A[tx]


def read_after_write(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[tx] = A[tx]
    B[tx + 32] = B[31 - tx]


@pytest.mark.parametrize("body", [reversed_in_place, read_after_write])
def test_threads_that_read_what_others_write_are_refused(body: Callable[..., None]) -> None:
    match = r"thread(.|\n)*iteration threadIdx.x = 31 writes B\[31\], and .* = 0 reads it"
    with pytest.raises(BuildError, match=match):
        built(body)


def test_two_stores_into_one_element_are_refused() -> None:
    def body(ib: Any, A: Any, B: Any, tx: Any) -> None:
        B[tx] = A[tx]
        B[(tx + 1) % 32] = A[tx]

    with pytest.raises(BuildError, match=r"both write B\[1\]"):
        built(body)


def same_value(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[0] = A[5]


def same_part(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[tx // 2] = A[tx // 2]


def one_thread(ib: Any, A: Any, B: Any, tx: Any) -> None:
    with ib.if_scope(tx < 1):
        B[0] = A[tx]


def with_a_barrier(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[tx] = A[tx]
    ib.emit(tir.call_intrin("int32", "tir.tvm_storage_sync", "shared"))
    B[tx + 32] = B[31 - tx]


def through_shared_memory(ib: Any, A: Any, B: Any, tx: Any) -> None:
    shared = ib.allocate("float32", 32, "S", scope="shared")
    shared[tx] = A[tx]
    B[tx] = shared[31 - tx]


def half_of_the_threads(ib: Any, A: Any, B: Any, tx: Any) -> None:
    with ib.if_scope(tx < 16):
        B[tx] = B[tx] + B[tx + 16]


def unknown_place(ib: Any, A: Any, B: Any, tx: Any) -> None:
    B[A[tx].astype("int32")] = A[tx]


@pytest.mark.parametrize(
    "body",
    [
        *(same_value, same_part, one_thread, with_a_barrier, through_shared_memory),
        *(half_of_the_threads, unknown_place),
    ],
)
def test_threads_that_do_no_harm(body: Callable[..., None]) -> None:
    assert built(body)


def test_threads_of_two_axes() -> None:
    def body(ib: Any, A: Any, B: Any, ty: Any, tx: Any) -> None:
        B[ty * 4 + tx] = A[tx] + A[ty]

    assert built(body, ("threadIdx.y", 4), ("threadIdx.x", 4))
    match = r"threads along threadIdx.y and threadIdx.x(.|\n)*threadIdx.y = 0, threadIdx.x = 4"
    with pytest.raises(BuildError, match=match):
        built(body, ("threadIdx.y", 4), ("threadIdx.x", 8))


def test_threads_of_a_count_that_a_call_tells() -> None:
    n = te.var("n")
    A = te.placeholder((n,), name="A")

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        tx = te.thread_axis("threadIdx.x")
        ib.scope_attr(tx, "thread_extent", n)
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        b[tx.var // 2] = a[tx.var]
        return ib.get()

    B = te.extern((n,), [A], body, "B", dtype="float32")
    with pytest.raises(BuildError, match=r"both write B\[0\]"):
        te_sched.build(te.create_schedule(B.op), [A, B], target="cuda")
