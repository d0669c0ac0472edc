"""Memory of warps: reading what another one has written is refused, and no more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.analysis import check
from te_sched.analysis.findings import REFUTED, RULE
from te_sched.errors import BuildError

Index = Callable[[Any], Any]
TX, TY = "threadIdx.x", "threadIdx.y"


def through_warps(size: Any, threads: int, place: Index, rows: int = 1, scope: str = "warp") -> Any:
    """B[i] = A[place(i)], by way of memory of warps, `rows` times `threads` of them a block."""
    A = te.placeholder((size,), name="A")
    B = te.compute((size,), lambda i: A[place(i)] + 1.0, name="B")
    s = te.create_schedule(B.op)
    W = s.cache_read(A, scope, [B])
    block, rest = s[B].split(B.op.axis[0], rows * threads)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[W].compute_at(s[B], block)
    for stage, axis in ((B, rest), (W, W.op.axis[0])):
        s[stage].bind(s[stage].split(axis, threads)[1], te.thread_axis(TX))
    return s, [A, B]


def within(warp: int) -> Index:
    """The next element of the same `warp` elements."""
    return lambda i: i // warp * warp + (i + 1) % warp


RIGHT: dict[str, tuple[Any, ...]] = {
    "one warp": (64, 32, within(32)),
    "two warps, each of its own": (128, 64, within(32)),
    "several rows of two warps": (512, 64, within(32), 4),
    "half a warp": (64, 16, within(16)),
    "their own elements": (256, 128, lambda i: i),
    "their own elements, row by row": (512, 64, lambda i: i // 256 * 256 + (i + 64) % 256, 4),
    "more blocks than are looked at": (1 << 15, 64, within(32)),
    "a part of a block": (100, 64, lambda i: i),
}
WRONG: dict[str, tuple[Any, ...]] = {
    "the next element": (128, 64, within(64)),
    "the other warp's": (64, 64, lambda i: 63 - i),
    "the other warp's, of another row": (512, 64, lambda i: i // 256 * 256 + 255 - i % 256, 4),
    "more blocks than are looked at": (1 << 15, 64, within(64)),
}


def check_right(size: int, threads: int, place: Index, rows: int = 1, scope: str = "warp") -> None:
    s, args = through_warps(size, threads, place, rows, scope)
    function = te_sched.build(s, args, target="cuda")
    device = te_sched.emulated_cuda(0)
    a = np.arange(size, dtype="float32")
    given, found = (te_sched.nd.array(one, device) for one in (a, np.zeros_like(a)))
    function(given, found)
    np.testing.assert_array_equal(found.numpy(), a[place(np.arange(size))] + 1)


@pytest.mark.parametrize("case", RIGHT)
def test_what_a_warp_has_written_is_read(case: str) -> None:
    check_right(*RIGHT[case])


@pytest.mark.parametrize("case", WRONG)
def test_what_another_warp_has_written_is_refused(case: str) -> None:
    s, args = through_warps(*WRONG[case])
    with pytest.raises(BuildError, match=r"A\.warp is written by one warp and read by another"):
        te_sched.build(s, args, target="cuda")


@pytest.mark.parametrize("case", WRONG)
def test_memory_of_the_block_is_a_cure(case: str) -> None:
    size, threads, place, *rows = WRONG[case]
    check_right(size, threads, place, *rows, scope="shared")


def few_elements(size: int) -> Any:
    """All threads read a row's one element, which the first ones have written."""
    A = te.placeholder((size,), name="A")
    B = te.compute((size,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((size, 64), lambda i, j: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope("warp")
    outer, _ = s[C].split(C.op.axis[0], 4)
    s[C].bind(outer, te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis(TX))
    s[B].compute_at(s[C], outer)
    s[B].bind(s[B].split(B.op.axis[0], 64)[1], te.thread_axis(TX))
    return s, [A, C]


def test_the_message_says_which_warp_and_what() -> None:
    with pytest.raises(BuildError) as refused:
        te_sched.build(*few_elements(8), target="cuda")
    text = str(refused.value)
    assert "the warp with threadIdx.x = 32 to 63 reads B[0] and has not written it" in text
    assert "belongs to one warp of 32 threads" in text
    assert 'give B the scope "shared"' in text


def test_sizes_that_are_not_known() -> None:
    n = te.size_var("n")
    found = [one for one in check(*few_elements(n)) if one.buffer == "B" and one.kind == RULE]
    assert [one.verdict for one in found] == [REFUTED]
    assert "where n = " in found[0].why


def kernel(
    scope: str, size: int, body: Callable[..., Any], rows: int = 1, outside: bool = False
) -> Any:
    """A kernel of 64 threads in rows, with memory, which is declared outside of them or inside."""
    ib = tir.ir_builder.create()
    A = tir.decl_buffer((128,), name="A")
    out = ib.buffer_ptr(A)
    ty, tx = te.thread_axis(TY), te.thread_axis(TX)
    ib.scope_attr(te.thread_axis("blockIdx.x"), "thread_extent", 1)
    w = ib.allocate("float32", size, name="w", scope=scope) if outside else None
    ib.scope_attr(ty, "thread_extent", rows)
    ib.scope_attr(tx, "thread_extent", 64 // rows)
    w = ib.allocate("float32", size, name="w", scope=scope) if w is None else w
    body(ib, out, w, tx.var, ty.var)
    return tir.PrimFunc((A.data,), ib.get(), {A.data: A}, {"global_symbol": "main"})


def filled_by_the_first_warp(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    with ib.if_scope(tx < 32):
        w[tx] = out[tx]
    out[tx] = w[31 - tx % 32]


def filled_by_the_first_row(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    with ib.if_scope(ty < 1):
        w[tx] = out[tx]
    out[ty * 32 + tx] = w[31 - tx]


def filled_by_all_rows(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    w[tx] = out[ty * 32 + tx]
    out[ty * 32 + tx] = w[31 - tx]


def registers_of_the_first_thread(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    w[tx] = out[tx]
    out[tx] = w[0]


def gathered(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    w[tx] = out[tx]
    out[tx] = w[out[tx].astype("int32")]


def registers_of_others_if(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    w[tx] = out[tx]
    with ib.if_scope(w[tx // 2] > 3.0):
        out[tx] = w[0]


def own_table(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    with ib.for_range(0, 64, name="i") as i:
        w[i] = i.astype("float32")
    out[tx] = w[63 - out[tx].astype("int32")]


def own_registers(ib: Any, out: Any, w: Any, tx: Any, ty: Any) -> None:
    with ib.for_range(0, 2, name="i") as i:
        w[tx * 2 + i] = out[tx * 2 + i]
    with ib.for_range(0, 2, name="j") as j:
        out[tx * 2 + j] = w[tx * 2 + 1 - j]


@pytest.mark.parametrize(
    ("func", "message"),
    [
        (kernel("warp", 32, filled_by_the_first_warp), "the warp with threadIdx.x = 32 to 63"),
        (kernel("warp", 32, filled_by_the_first_row, 2), "0 to 31 and threadIdx.y = 1"),
        (
            kernel("local", 64, registers_of_the_first_thread),
            "a thread reads w[0] and has not written it: memory of this scope belongs to one",
        ),
        (
            kernel("local", 64, registers_of_the_first_thread, outside=True),
            "the thread with threadIdx.x = 1 reads w[0] and has not written it",
        ),
        (kernel("local", 64, registers_of_others_if), "reads w[0] and has not written it"),
        (kernel("local", 64, gathered), "not known which thread wrote the element that is read at"),
        (kernel("warp", 64, gathered), "not known which thread wrote the element that is read at"),
    ],
)
def test_kernels_that_read_what_others_have_are_refused(func: Any, message: str) -> None:
    with pytest.raises(BuildError, match=re.escape(message)):
        te_sched.build(func, target="cuda")


@pytest.mark.parametrize(
    ("func", "reverse"),
    [
        (kernel("warp", 32, filled_by_all_rows, 2), 32),
        (kernel("local", 128, own_registers), 2),
        (kernel("local", 128, own_registers, outside=True), 2),
        (kernel("local", 64, own_table), 64),
    ],
)
def test_kernels_that_read_their_own_are_right(func: Any, reverse: int) -> None:
    a = np.arange(128, dtype="float32")
    given = te_sched.nd.array(a, te_sched.emulated_cuda(0))
    te_sched.build(func, target="cuda")(given)
    count = 128 if reverse == 2 else 64
    expected = a.copy()
    expected[:count] = a[:count].reshape(-1, reverse)[:, ::-1].ravel()
    np.testing.assert_array_equal(given.numpy(), expected)
