"""Reductions across threads: by shuffles, from warp to warp, or in shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.device.lower_thread_reductions import lower_thread_reductions
from te_sched.lowering.device.split_kernels import split_kernels
from te_sched.lowering.device.unify_threads import unify_threads

SHUFFLE, SHARED = "tvm_warp_shuffle_down", "red_buf"


def scheduled(width: int, tag: str = "threadIdx.x", rows: int = 1):
    """Sums of rows of a matrix, by `width` threads each, `rows` rows in a block."""
    A, k = te.placeholder((rows * 2, width), name="A"), te.reduce_axis((0, width), "k")
    B = te.compute((rows * 2,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    block, row = s[B].split(B.op.axis[0], factor=rows)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(row, te.thread_axis("threadIdx.y" if tag == "threadIdx.x" else "threadIdx.x"))
    s[B].bind(B.op.reduce_axis[0], te.thread_axis(tag))
    return s, [A, B]


def lowered(width: int, tag: str = "threadIdx.x", rows: int = 1) -> str:
    s, args = scheduled(width, tag, rows)
    module = split_kernels(unify_threads(te_sched.lower(s, args)["main"]))
    return str(lower_thread_reductions(module["main_kernel"]))


@pytest.mark.parametrize(("width", "steps"), [(2, 1), (8, 3), (32, 5)])
def test_lanes_of_a_warp_shuffle(width: int, steps: int) -> None:
    text = lowered(width)
    assert (text.count(SHUFFLE), SHARED in text) == (steps, False)


def test_warps_meet_in_shared_memory() -> None:
    text = lowered(64, rows=2)
    assert text.count(SHUFFLE) == 10
    assert "red_buf0" in text


@pytest.mark.parametrize(("width", "tag", "rows"), [(6, "threadIdx.x", 1), (8, "threadIdx.y", 4)])
def test_other_threads_make_a_tree(width: int, tag: str, rows: int) -> None:
    text = lowered(width, tag, rows)
    assert (SHUFFLE in text, SHARED in text) == (False, True)


def test_a_single_thread_keeps_what_it_has() -> None:
    text = lowered(1)
    assert SHUFFLE not in text
    assert SHARED not in text


@pytest.mark.parametrize(
    ("width", "tag", "rows"),
    [(8, "threadIdx.x", 4), (64, "threadIdx.x", 2), (6, "threadIdx.x", 3), (5, "threadIdx.y", 4)],
)
def test_sums_are_numpys(width: int, tag: str, rows: int) -> None:
    function = te_sched.build(*scheduled(width, tag, rows), target="cuda")
    a = np.random.default_rng(0).random((rows * 2, width), "float32")
    device = te_sched.emulated_cuda(0)
    given, found = te_sched.nd.array(a, device), te_sched.nd.empty((rows * 2,), device=device)
    function(given, found)
    np.testing.assert_allclose(found.numpy(), a.sum(axis=1), rtol=1e-5)


def test_a_kernel_without_reductions_stays() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    module = split_kernels(unify_threads(te_sched.lower(s, [A, B])["main"]))
    kernel: PrimFunc = module["main_kernel"]
    assert lower_thread_reductions(kernel) is kernel
