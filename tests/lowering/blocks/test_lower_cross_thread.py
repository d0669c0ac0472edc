"""Reductions of blocks over threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.errors import ReductionError
from te_sched.script import tir as T
from te_sched.tir.transform import LowerCrossThreadReduction

RNG = np.random.default_rng(0)


@T.prim_func
def rows(A: T.Buffer((8, 100), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for ko in range(4):
            for ki in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("B"):
                    vi = T.axis.spatial(8, i)
                    vk = T.axis.reduce(100, ko * 32 + ki)
                    T.where(ko * 32 + ki < 100)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def largest(
    A: T.Buffer((4, 64), "float32"),
    index: T.Buffer((4,), "int32"),
    value: T.Buffer((4,), "float32"),
):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("argmax"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    index[vi] = -1
                    value[vi] = T.min_value("float32")
                new_index: T.int32 = T.Select(value[vi] >= A[vi, vk], index[vi], vk)
                new_value: T.float32 = T.Select(value[vi] >= A[vi, vk], value[vi], A[vi, vk])
                index[vi] = new_index
                value[vi] = new_value


@T.prim_func
def scaled(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4,), "float32")):
    total = T.alloc_buffer((4,), scope="local")
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("total"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    total[vi] = T.float32(0)
                total[vi] = total[vi] + A[vi, vk]
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = total[vi] * T.float32(0.5)


def lowered(func: Any) -> str:
    return str(LowerCrossThreadReduction()(te_sched.IRModule({"main": func})))


def run(func: Any, *args: np.ndarray) -> None:
    device = te_sched.emulated_cuda(0)
    given = [te_sched.nd.array(one, device) for one in args]
    te_sched.build(func, target="cuda")(*given)
    for one, new in zip(args, given, strict=True):
        one[...] = new.numpy()


def test_text_of_serial_loops_and_predicates() -> None:
    text = lowered(rows)
    order = ["B_in_thread_init", "range(4)", "B_in_thread", "B_cross_thread", "B_write_back"]
    places = [text.index(f'"{one}"' if "B" in one else one) for one in order]
    assert places == sorted(places)
    assert text.index("for ki in") < places[0]
    assert "T.where(ki == 0)" in text
    assert (
        "tvm_thread_allreduce(T.uint32(1), in_thread_B[0], T.bool(True), cross_thread_B[0], ki)"
        in text
    )


def test_text_of_values_that_threads_have() -> None:
    text = lowered(largest)
    assert "in_thread" not in text
    assert "T.tvm_thread_allreduce(T.uint32(2), vk, A[vi, vk], T.bool(True)" in text


def test_results_in_registers_are_read_by_one_thread() -> None:
    text = lowered(scaled)
    assert 'for tx in T.thread_binding(64, thread="threadIdx.x"):' in text
    assert "T.where(tx == 0)" in text


def test_results() -> None:
    a = RNG.uniform(size=(8, 100)).astype("float32")
    b = np.zeros(8, "float32")
    run(rows, a, b)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5)
    a = RNG.uniform(size=(4, 64)).astype("float32")
    index, value = np.zeros(4, "int32"), np.zeros(4, "float32")
    run(largest, a, index, value)
    np.testing.assert_array_equal(index, a.argmax(1))
    np.testing.assert_array_equal(value, a.max(1))
    b = np.zeros(4, "float32")
    run(scaled, a, b)
    np.testing.assert_allclose(b, a.sum(1) * 0.5, rtol=1e-5)


@T.prim_func
def open_rows(a: T.handle, B: T.Buffer((3,), "float32")):
    m = T.int64()
    A = T.match_buffer(a, (3, m), "float32")
    for i in T.thread_binding(3, thread="blockIdx.x"):
        for tx in T.thread_binding(T.int64(32), thread="threadIdx.x"):
            for ko in range((m + T.int64(31)) // T.int64(32)):
                with T.block("B"):
                    vi = T.axis.spatial(3, i)
                    vk = T.axis.reduce(m, ko * T.int64(32) + tx)
                    T.where(ko * T.int64(32) + tx < m)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]


@pytest.mark.parametrize("size", [0, 1, 70])
def test_rows_of_an_open_size_may_be_empty(size: int) -> None:
    a, b = RNG.uniform(size=(3, size)).astype("float32"), np.ones(3, "float32")
    run(open_rows, a, b)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-5)


def _products(middle: str) -> str:
    return (
        "@T.prim_func\n"
        "def f(A: T.Buffer((4, 8, 2), 'int32'), B: T.Buffer((4,), 'int32')):\n"
        "    for k in T.thread_binding(2, thread='threadIdx.x'):\n"
        f"        for i in {middle}:\n"
        "            for r in range(8):\n"
        "                with T.block('B'):\n"
        "                    vi, vr, vk = T.axis.remap('SRR', [i, r, k])\n"
        "                    with T.init():\n"
        "                        B[vi] = 0\n"
        "                    B[vi] = B[vi] + A[vi, vr, vk]\n"
    )


def test_loops_between_the_loops_of_a_reduction() -> None:
    """A serial one would continue the sum of its first iteration; a thread has a sum of its own."""
    with pytest.raises(ReductionError, match="cannot reduce over threads in block B"):
        te_sched.lower(te_sched.script.from_source(_products("range(4)")))
    func = te_sched.script.from_source(_products("T.thread_binding(4, thread='threadIdx.y')"))
    a, b = RNG.integers(-9, 9, (4, 8, 2)).astype("int32"), np.zeros(4, "int32")
    run(func, a, b)
    np.testing.assert_array_equal(b, a.sum((1, 2)))


def _block(lines: str, loops: str = "", init: str = "B[0] = 0") -> str:
    return (
        "@T.prim_func\n"
        "def f(A: T.Buffer((32, 4), 'int32'), B: T.Buffer((4,), 'int32')):\n"
        "    for k in T.thread_binding(32, thread='threadIdx.x'):\n"
        f"        for i in {loops or 'range(1)'}:\n"
        "            with T.block('B'):\n"
        "                vk = T.axis.reduce(32, k)\n"
        "                vi = T.axis.spatial(4, i)\n"
        "                with T.init():\n"
        f"                    {init}\n"
        f"                {lines}\n"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (_block("B[0] = B[0] - A[vk, 0]").replace(", i)", ", 0)"), "not a known commutative"),
        (_block("B[1] = B[1] + A[vk, 0]").replace(", i)", ", 0)"), "different elements"),
        (_block("B[vi] = B[vi] + A[vk, vi]", "range(4)", "B[vi] = 0"), "inside of its reduction"),
        (_block("A[vk, 1] = A[vk, 1] + 1").replace(", i)", ", 0)"), "does not update the elements"),
        (
            _block("if A[vk, 0] > 0:\n                    B[0] = 1").replace(", i)", ", 0)"),
            "not a store for each result",
        ),
        (
            _block("B[0] = B[0] + A[vk, 0]")
            .replace(", i)", ", 0)")
            .replace("threadIdx", "blockIdx"),
            "is bound to blockIdx.x",
        ),
    ],
)
def test_refused(text: str, fault: str) -> None:
    func = te_sched.script.from_source(text)
    with pytest.raises(ReductionError, match="cannot reduce over threads in block B") as caught:
        te_sched.lower(func)
    assert fault in str(caught.value)
