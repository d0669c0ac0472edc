"""Barriers: where they are needed, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError
from te_sched.lowering.device.pipeline import device_passes

SYNC = 'T.tvm_storage_sync("shared")'


def through_shared(read: Callable[[Any, Any], Any], threads: int = 16) -> str:
    """The kernel of a stage that reads what the threads have put into shared memory."""
    A = te.placeholder((2, 8, threads), name="A")
    B = te.compute(A.shape, lambda b, i, j: A[b, i, j] * 2.0, name="B")
    C = te.compute(A.shape, lambda b, i, j: read(B, (b, i, j)), name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("shared")
    s[B].compute_at(s[C], C.op.axis[1])
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[2], te.thread_axis("threadIdx.x"))
    s[B].bind(B.op.axis[2], te.thread_axis("threadIdx.x"))
    (kernel,) = list(device_passes(te_sched.lower(s, [A, C])["main"]).functions.values())[1:]
    return str(kernel)


def test_own_element_needs_no_barrier() -> None:
    assert SYNC not in through_shared(lambda B, at: B[at])


def test_one_thread_needs_no_barrier() -> None:
    assert SYNC not in through_shared(lambda B, at: B[at[0], at[1], 0], threads=1)


def test_others_element_needs_one_before_and_one_after() -> None:
    assert through_shared(lambda B, at: B[at[0], at[1], 15 - at[2]]).count(SYNC) == 2


def tiles(factor: int, double: bool = False) -> tuple[Any, list[Any]]:
    """A matrix product that caches tiles of both operands."""
    A, B = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), "k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    AA, BB = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    CC = s.cache_write(C, "local")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], factor, factor)
    for axis, tag in ((xo, "blockIdx.y"), (yo, "blockIdx.x")):
        s[C].bind(axis, te.thread_axis(tag))
    ty, tx = te.thread_axis("threadIdx.y"), te.thread_axis("threadIdx.x")
    s[C].bind(xi, ty)
    s[C].bind(yi, tx)
    s[CC].compute_at(s[C], yi)
    ko, _ = s[CC].split(CC.op.reduce_axis[0], factor=factor)
    for cache in (AA, BB):
        s[cache].compute_at(s[CC], ko)
        for axis, thread in zip(cache.op.axis, (ty, tx), strict=True):
            _, inner = s[cache].split(axis, factor=factor)
            s[cache].bind(inner, thread)
        if double:
            s[cache].double_buffer()
    return s, [A, B, C]


def kernel_of(s: Any, args: list[Any]) -> str:
    return str(device_passes(te_sched.lower(s, args)["main"])["main_kernel"])


def test_tiles_wait_twice_in_each_step() -> None:
    text = kernel_of(*tiles(16))
    assert text.count(SYNC) == 2
    loop = text.index("for k_outer")
    assert text.index(SYNC) > loop


def test_double_buffers_wait_once_in_each_step_and_once_before_the_last() -> None:
    assert kernel_of(*tiles(16, double=True)).count(SYNC) == 2


def copies_of_rows(factor: int) -> tuple[Any, list[Any]]:
    """Rows are copied to shared memory `factor` elements at a time, by as many threads."""
    A = te.placeholder((8, 64), name="A")
    C = te.compute((8, 64), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_read(A, "shared", [C])
    for stage in (C, cache):
        _, inner = s[stage].split(stage.op.axis[1], factor=factor)
        s[stage].bind(inner, te.thread_axis("threadIdx.x"))
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[cache].compute_at(s[C], C.op.axis[0])
    return s, [A, C]


def test_loops_over_tiles_of_as_many_elements_as_threads_need_no_barrier() -> None:
    assert SYNC not in kernel_of(*copies_of_rows(16))


def test_what_every_thread_stores_in_other_iterations_needs_one_barrier_after_the_loop() -> None:
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("shared")
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    text = kernel_of(s, [A, C])
    assert text.count(SYNC) == 1
    assert text.index("for j") < text.index(SYNC) < text.index("C_1[")


def test_values_of_others_under_a_condition_on_threads_are_refused() -> None:
    ib = te_sched.tir.ir_builder.create()
    tx = te.thread_axis("threadIdx.x")
    A = te_sched.tir.decl_buffer((16,), name="A")
    out = ib.buffer_ptr(A)
    ib.scope_attr(tx, "thread_extent", 16)
    shared = ib.allocate("float32", 16, name="s", scope="shared")
    with ib.if_scope(tx < 8):
        shared[tx] = out[tx]
        out[tx] = shared[7 - tx]
    func = te_sched.tir.PrimFunc((A.data,), ib.get(), {A.data: A}, {"global_symbol": "main"})
    with pytest.raises(BuildError, match="threads exchange values in shared memory"):
        device_passes(te_sched.lower(func)["main"])


def turned_in_steps(double: bool) -> tuple[Any, list[Any]]:
    """A transposition whose rows a block fetches in unrolled steps."""
    A = te.placeholder((32, 40), name="A")
    C = te.compute((40, 32), lambda i, j: A[j, i], name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_read(A, "shared", [C])
    by, rows = s[C].split(C.op.axis[0], factor=16)
    bx, tx = s[C].split(C.op.axis[1], factor=16)
    step, ty = s[C].split(rows, factor=4)
    s[C].reorder(by, bx, step, ty, tx)
    s[C].unroll(step)
    s[cache].compute_at(s[C], step)
    fused = s[cache].fuse(*cache.op.axis)
    outer, inner = s[cache].split(fused, factor=16)
    _, middle = s[cache].split(outer, factor=4)
    tags = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    for axis, tag in zip((by, bx, ty, tx), tags, strict=True):
        s[C].bind(axis, te.thread_axis(tag))
    for axis, tag in ((middle, "threadIdx.y"), (inner, "threadIdx.x")):
        s[cache].bind(axis, te.thread_axis(tag))
    if double:
        s[cache].double_buffer()
    return s, [A, C]


def test_halves_of_a_double_buffer_are_waited_for_in_unrolled_steps() -> None:
    assert kernel_of(*turned_in_steps(double=False)).count(SYNC) == 7
    assert kernel_of(*turned_in_steps(double=True)).count(SYNC) == 4


def test_loads_by_some_threads_need_no_barrier_among_them() -> None:
    """Twelve elements for each threadIdx.y, two for each of six threadIdx.x of sixteen."""
    A = te.placeholder((8, 12), name="A")
    B = te.compute((8, 12), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 16), lambda i, j: B[i, te.min(j, 11)], name="C")
    s = te.create_schedule(C.op)
    block, rows = s[C].split(C.op.axis[0], factor=8)
    s[B].set_scope("shared")
    s[B].compute_at(s[C], block)
    fused, two = s[B].split(s[B].fuse(*B.op.axis), factor=2)
    ty, rest = s[B].split(fused, nparts=8)
    tx, _ = s[B].split(rest, nparts=16)
    for stage, axis, tag in (
        (C, block, "blockIdx.x"), (C, rows, "threadIdx.y"), (C, C.op.axis[1], "threadIdx.x"),
        (B, ty, "threadIdx.y"), (B, tx, "threadIdx.x"),
    ):  # fmt: skip
        s[stage].bind(axis, te.thread_axis(tag))
    s[B].unroll(two)
    assert kernel_of(s, [A, C]).count(SYNC) == 1


def test_one_thread_stores_twice_without_waiting_for_itself() -> None:
    """Of a tuple of which one part is read, both parts are stored in one place."""
    A, k = te.placeholder((4, 8), name="A"), te.reduce_axis((0, 8), "k")
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])),
        lambda p, q: (te.const(0, p), te.min_value(q)),
    )
    total, most = te.compute((4,), lambda i: both((A[i, k], A[i, k]), axis=k), name="B")
    C = te.compute((4,), lambda i: most[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[total].compute_at(s[C], C.op.axis[0])
    s[total].bind(s[total].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    assert SYNC in kernel_of(s, [A, C])


def rows_with_room(width: int, align: int, offset: int, vectorized: bool = False) -> Any:
    """Rows of shared memory with room after them, stored four elements to a thread."""
    A = te.placeholder((4, width + 1), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((4, width), lambda i, j: B[i, j] + B[i, j + 1], name="C")
    s = te.create_schedule(C.op)
    block, columns = s[C].split(C.op.axis[1], factor=16)
    s[C].reorder(block, C.op.axis[0], columns)
    for axis, tag in ((block, "blockIdx.x"), (C.op.axis[0], "threadIdx.y")):
        s[C].bind(axis, te.thread_axis(tag))
    s[C].bind(columns, te.thread_axis("threadIdx.x"))
    s[B].set_scope("shared")
    s[B].compute_at(s[C], block)
    outer, four = s[B].split(s[B].fuse(*B.op.axis), factor=4)
    rest, inner = s[B].split(outer, factor=16)
    _, middle = s[B].split(rest, factor=4)
    s[B].bind(middle, te.thread_axis("threadIdx.y"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    if vectorized:
        s[B].vectorize(four)
    s[B].storage_align(B.op.axis[0], align, offset)
    return s, [A, C]


@pytest.mark.parametrize(
    ("width", "align", "offset", "vectorized"),
    [(16, 16, 1, True), (17, 32, 8, True), (6, 16, 1, False), (15, 32, 4, True)],
)
def test_rows_with_room_after_them_are_stored_without_waiting(
    width: int, align: int, offset: int, vectorized: bool
) -> None:
    """What a thread stores in a step that only some take is never what another one stores."""
    assert kernel_of(*rows_with_room(width, align, offset, vectorized)).count(SYNC) == 1


def test_steps_of_padded_rows_need_one_barrier_after_them() -> None:
    A = te.placeholder((48, 20), name="A")

    def padded(i: Any, j: Any) -> Any:
        inside = te.all(i >= 2, i < 50, j >= 2, j < 22)
        return te.if_then_else(inside, A[i - 2, j - 2], 0.0)

    C = te.compute((52, 24), padded, name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_read(A, "shared", [C])
    block, thread = s[C].split(s[C].fuse(*C.op.axis), factor=32)
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[C].bind(thread, te.thread_axis("threadIdx.x"))
    s[cache].compute_at(s[C], block)
    _, inner = s[cache].split(s[cache].fuse(*cache.op.axis), factor=32)
    s[cache].bind(inner, te.thread_axis("threadIdx.x"))
    s[cache].storage_align(cache.op.axis[0], 32, 8)
    text = kernel_of(s, [A, C])
    assert " % 20]" in text
    assert text.count(SYNC) == 1


def test_unrolled_parts_of_padded_rows_need_one_barrier_after_them() -> None:
    """Four elements after each other of rows with room for one more, by some threads."""
    A = te.placeholder((3, 8), name="A")
    C = te.compute((2, 8), lambda i, j: A[i, 7 - j] + A[i + 1, j], name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_read(A, "shared", [C])
    block, thread = s[C].split(C.op.axis[0], factor=2)
    s[cache].compute_at(s[C], block)
    outer, four = s[cache].split(s[cache].fuse(*cache.op.axis), factor=4)
    middle, inner = s[cache].split(outer, factor=8)
    _, row = s[cache].split(middle, factor=2)
    for stage, axis, tag in (
        (C, block, "blockIdx.x"), (C, thread, "threadIdx.y"), (C, C.op.axis[1], "threadIdx.x"),
        (cache, row, "threadIdx.y"), (cache, inner, "threadIdx.x"),
    ):  # fmt: skip
        s[stage].bind(axis, te.thread_axis(tag))
    s[cache].unroll(four)
    s[cache].storage_align(cache.op.axis[0], 2, 1)
    assert kernel_of(s, [A, C]).count(SYNC) == 1


def padded_rows(rows: int, width: int, together: int) -> tuple[Any, list[Any]]:
    """Rows for each threadIdx.y with room after them, `together` elements to a threadIdx.x."""
    A = te.placeholder((2 * rows, width), name="A")
    C = te.compute((rows, 8), lambda i, j: A[i, width - 1 - j] + A[i + rows, j], name="C")
    s = te.create_schedule(C.op)
    cache = s.cache_read(A, "shared", [C])
    block, thread = s[C].split(C.op.axis[0], factor=rows)
    s[cache].compute_at(s[C], block)
    outer, _ = s[cache].split(s[cache].fuse(*cache.op.axis), factor=together)
    row, rest = s[cache].split(outer, nparts=rows)
    inner, _ = s[cache].split(rest, nparts=8)
    for stage, axis, tag in (
        (C, block, "blockIdx.x"), (C, thread, "threadIdx.y"), (C, C.op.axis[1], "threadIdx.x"),
        (cache, row, "threadIdx.y"), (cache, inner, "threadIdx.x"),
    ):  # fmt: skip
        s[stage].bind(axis, te.thread_axis(tag))
    s[cache].storage_align(cache.op.axis[0], 16, 1)
    return s, [A, C]


def test_padded_rows_that_some_threads_store_need_one_barrier_after_them() -> None:
    """Two rows of eight elements for each threadIdx.y, four for each of four threadIdx.x."""
    assert kernel_of(*padded_rows(rows=4, width=8, together=4)).count(SYNC) == 1


def test_steps_within_a_quotient_need_one_barrier_after_them() -> None:
    """Six elements of each padded row of eighteen, in three steps, by each of six threadIdx.x."""
    text = kernel_of(*padded_rows(rows=8, width=18, together=2))
    assert "% 18" in text
    assert text.count(SYNC) == 1
