"""Shuffles: all lanes of a warp execute them, whatever their conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.runtime.cuda_module import CudaModule


def by_lanes(A: Any, B: Any, per_block: int) -> te.Schedule:
    """B by eight lanes, which take what they read from memory of the warp."""
    s = te.create_schedule(B.op)
    warp = s.cache_read(A, "warp", [B])
    block, rest = s[B].split(B.op.axis[0], factor=per_block)
    _, lane = s[B].split(rest, factor=8)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(lane, te.thread_axis("threadIdx.x"))
    s[warp].compute_at(s[B], block)
    _, own = s[warp].split(warp.op.axis[0], factor=8)
    s[warp].bind(own, te.thread_axis("threadIdx.x"))
    return s


def next_lanes(size: int, per_block: int) -> tuple[Any, list[Any]]:
    """Each element is the next one of its row of eight, kept by the lanes of a warp."""
    A = te.placeholder((size,), name="A")
    B = te.compute(
        (size,),
        lambda i: te.if_then_else(
            i // 8 * 8 + (i + 1) % 8 < size, A[i // 8 * 8 + (i + 1) % 8], A[i]
        ),
        name="B",
    )
    return by_lanes(A, B, per_block), [A, B]


@pytest.mark.parametrize(("size", "per_block"), [(7, 8), (13, 16), (3, 32), (61, 16)])
def test_lanes_without_an_element_shuffle_too(size: int, per_block: int) -> None:
    function = te_sched.build(*next_lanes(size, per_block), target="cuda")
    assert isinstance(function, CudaModule)
    device = te_sched.emulated_cuda(0)
    a = np.arange(size, dtype="float32")
    given, found = (te_sched.nd.array(one, device) for one in (a, np.zeros_like(a)))
    function(given, found)
    places = np.arange(size) // 8 * 8 + (np.arange(size) + 1) % 8
    np.testing.assert_array_equal(found.numpy(), np.where(places < size, places, a))
    assert function.check(given, found).ok


def test_shuffles_stand_before_the_condition() -> None:
    source = te_sched.build(*next_lanes(13, 16), target="cuda").imported_modules[0].get_source()
    lines = [line for line in source.splitlines() if "__shfl_sync" in line]
    assert lines
    assert not any("?" in line or "if (" in line for line in lines)
    text = source[source.rindex("if (") :]
    assert "__shfl_sync" not in text


@pytest.mark.parametrize(("reach", "per_block"), [(1, 8), (2, 16), (11, 8)])
def test_lanes_take_different_registers_of_others(reach: int, per_block: int) -> None:
    """A lane keeps an element of each row of eight; of the next one and its own, lanes take one."""
    size = 40
    A = te.placeholder((size + reach,), name="A")
    B = te.compute((size,), lambda i: A[i] - A[i + reach], name="B")
    function = te_sched.build(by_lanes(A, B, per_block), [A, B], target="cuda")
    assert isinstance(function, CudaModule)
    device = te_sched.emulated_cuda(0)
    a = np.arange(size + reach, dtype="float32") ** 2
    given, found = te_sched.nd.array(a, device), te_sched.nd.array(np.zeros(size, "f4"), device)
    function(given, found)
    np.testing.assert_array_equal(found.numpy(), a[:size] - a[reach:])
    assert function.check(given, found).ok


def test_what_lanes_sum_of_each_other_may_come_from_memory_of_the_warp() -> None:
    A = te.placeholder((4, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    warp = s.cache_read(A, "warp", [B])
    s[warp].compute_at(s[B], k)
    s[warp].bind(s[warp].op.axis[1], te.thread_axis("threadIdx.x"))
    device = te_sched.emulated_cuda(0)
    a = np.arange(128, dtype="float32").reshape(4, 32)
    given, found = (te_sched.nd.array(one, device) for one in (a, np.zeros(4, "float32")))
    te_sched.build(s, [A, B], target="cuda")(given, found)
    np.testing.assert_array_equal(found.numpy(), a.sum(axis=1))
