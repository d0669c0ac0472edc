"""Buffers are allocated around their accesses."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.config import AS_TVM, TO_RUN
from te_sched.lowering.blocks.lower_cross_thread import lower_cross_thread
from te_sched.lowering.blocks.lower_init import lower_init
from te_sched.lowering.blocks.place_allocations import place_allocations
from te_sched.script import from_source
from te_sched.script import tir as T
from tests.lowering.blocks.programs import GUARDED, MATMUL, ROWS, after


def test_text_of_rows() -> None:
    expected = """
# with T.block("root"):
for i in range(8):
    with T.block(""):
        T.reads(A[i, 0:16])
        T.writes(B[i, 0:16])
        C = T.alloc_buffer((8, 16))
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(C[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = C[vi, vj] * T.float32(2)
"""
    assert after(ROWS, "place_allocations") == expected.strip("\n")


def test_text_of_matmul() -> None:
    expected = """
# with T.block("root"):
C = T.alloc_buffer((8, 8))
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        if vk == 0:
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(C[vi, vj])
        T.writes(D[vi, vj])
        D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
    assert after(MATMUL, "place_allocations") == expected.strip("\n")


def test_other_functions_stay() -> None:
    func = from_source(GUARDED)
    assert place_allocations(func).body is func.body


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((8, 16)).astype("float32")
    expected = (a + 1) * 2
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(ROWS))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def test_iterations_of_opaque_iterators_have_their_memory_in_common() -> None:
    @T.prim_func
    def sums(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32")):
        C = T.alloc_buffer((4, 8), "int32")
        for i in range(4):
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = A[vi, vj] + 1
                with T.block("B"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.opaque(8, j)
                    B[vi, vj] = C[vi, vj] + T.if_then_else(vj > 0, C[vi, vj - 1], 0)

    text = str(place_allocations(sums))
    assert text.index("for i in range(4):") < text.index("C = T.alloc_buffer")
    assert text.index("C = T.alloc_buffer") < text.index("for j in range(8):")
    a = np.arange(32, dtype="int32").reshape(4, 8)
    b = np.zeros_like(a)
    te_sched.build(sums)(a, b)
    expected = a + 1
    expected[:, 1:] += (a + 1)[:, :-1]
    np.testing.assert_array_equal(b, expected)


def test_blocks_around_the_place_do_not_access_the_buffer() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(2):
        with T.block("outer"):
            T.reads(B[i * 4:i * 4 + 4])
            T.writes(A[i * 4:i * 4 + 4], B[i * 4:i * 4 + 4])
            for j in range(4):
                with T.block("inner"):
                    T.reads(B[i * 4 + j])
                    T.writes(A[i * 4 + j], B[i * 4 + j])
                    B[i * 4 + j] = j
                    A[i * 4 + j] = B[i * 4 + j]
"""
    text = str(place_allocations(from_source(source)))
    assert text.index('T.block("inner")') < text.index("B = T.alloc_buffer")
    assert "T.reads(B" not in text
    assert ", B[i" not in text


def test_global_memory_belongs_to_all_blocks_of_a_kernel() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
        B = T.alloc_buffer((8, 16))
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj]

    lines = [line.strip() for line in str(place_allocations(kernel)).splitlines()]
    allocation = lines.index("B = T.alloc_buffer((8, 16))")
    assert lines[allocation - 4].startswith("for i in")
    assert lines[allocation + 1].startswith("for j in")


@pytest.mark.parametrize(("loops", "is_inside"), [("i, k", True), ("k, i", False)])
def test_results_of_reductions_that_are_read_in_their_loops(loops: str, is_inside: bool) -> None:
    source = f"""
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "float32")):
    C = T.alloc_buffer((4,))
    for {loops} in T.grid({"4, 8" if is_inside else "8, 4"}):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = C[vi]
"""
    func = from_source(source)
    text = str(place_allocations(lower_init(func)))
    assert (text.index("C = T.alloc_buffer") > text.index("in T.grid")) == is_inside
    text = str(place_allocations(lower_init(func), TO_RUN))
    before_loops = text.partition("C = T.alloc_buffer")[0]
    assert "k in" not in before_loops
    assert "k, i" not in before_loops
    a = np.arange(32, dtype="float32").reshape(4, 8)
    for program in (func, te_sched.lower(func)):  # also what is lowered for printing
        b = np.zeros(4, "float32")
        te_sched.build(program)(a, b)
        np.testing.assert_array_equal(b, a.sum(axis=1))


def test_local_memory_of_reductions_over_threads_is_in_the_threads() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(10):
        for k in T.thread_binding(12, thread="threadIdx.x"):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.where(i < 8)
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi, vk]
"""
    func = place_allocations(lower_cross_thread(from_source(source)))
    assert str(func).index("T.thread_binding") < str(func).index("in_thread_C = T.alloc_buffer")
    a = np.arange(96, dtype="float32").reshape(8, 12)
    c = np.zeros(8, "float32")
    device = te_sched.emulated_cuda(0)
    on_device = [te_sched.nd.array(array, device) for array in (a, c)]
    te_sched.build(from_source(source), target="cuda")(*on_device)
    np.testing.assert_array_equal(on_device[1].numpy(), a.sum(axis=1))


def test_each_thread_of_a_reduction_has_its_own_results() -> None:
    @T.prim_func
    def sums(A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            for k in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = 0
                    B[vi] = B[vi] + A[vi, vk]

    text = te_sched.lower(sums).script()
    assert text.index("T.launch_thread") < text.index("cross_thread_B = T.allocate")
    a, b = np.arange(32, dtype="int32").reshape(4, 8), np.zeros(4, "int32")
    device = te_sched.emulated_cuda(0)
    arrays = [te_sched.nd.array(one, device) for one in (a, b)]
    te_sched.build(sums, target="cuda")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), a.sum(1))


def test_what_other_iterations_read_stays_outside_of_the_loop() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
    C = T.alloc_buffer((8,))
    for i in range(4):
        for j in range(8):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                T.where(i < 1)
                C[vj] = A[vj] + T.float32(1)
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vj]
"""
    func = from_source(source)
    for settings, is_inside in ((AS_TVM, True), (TO_RUN, False)):
        text = str(place_allocations(func, settings))
        assert (text.index("C = T.alloc_buffer") > text.index("for i in")) == is_inside
    a, b = np.arange(8, dtype="float32"), np.zeros((4, 8), "float32")
    te_sched.build(func)(a, b)
    np.testing.assert_array_equal(b, np.tile(a + 1, (4, 1)))
