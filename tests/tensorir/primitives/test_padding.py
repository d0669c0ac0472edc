"""Padded einsums: pad_einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.script import from_source
from te_sched.tir import Schedule
from tests.tensorir.programs import GIVEN, MATMUL, PADDED
from tests.tensorir.schedules import check_same, loops, scheduled

# What TVM 0.19 prints.
PRODUCT = """
        D_pad = T.alloc_buffer((16,))
        B_pad = T.alloc_buffer((12,))
        for i0, i1 in T.grid(12, 16):
            with T.block("A_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[v0, v1])
                T.writes(A_pad[v0, v1])
                A_pad[v0, v1] = T.if_then_else(v0 < 10 and v1 < 13, A[v0, v1], T.float32(0))
        for i0 in range(16):
            with T.block("D_pad"):
                v0 = T.axis.spatial(16, i0)
                T.reads(D[v0])
                T.writes(D_pad[v0])
                D_pad[v0] = T.if_then_else(v0 < 13, D[v0], T.float32(0))
        for i, k in T.grid(12, 16):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A_pad[vi, vk], D_pad[vk])
                T.writes(B_pad[vi])
                with T.init():
                    B_pad[vi] = T.float32(0)
                B_pad[vi] = B_pad[vi] + A_pad[vi, vk] * D_pad[vk]
        for i0 in range(10):
            with T.block("B_pad"):
                v0 = T.axis.spatial(10, i0)
                T.reads(B_pad[v0])
                T.writes(B[v0])
                B[v0] = B_pad[v0]
"""
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(3)), "int32")
    C = T.match_buffer(c, (T.int64(1), n), "int32")
    for i, k in T.grid(n, T.int64(3)):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[0, vi] = 0
            C[0, vi] = C[0, vi] + A[vi, vk] * A[vi, vk]
"""


def test_prints_as_tvm() -> None:
    sch = scheduled(PADDED["plain"])
    sch.pad_einsum("B", [4, 8])
    assert PRODUCT in sch.mod.script()
    assert "sch.pad_einsum(block=b0, padding=[4, 8])" in str(sch.trace)
    check_same(sch, PADDED["plain"])


@pytest.mark.parametrize(
    ("program", "padding"),
    [
        *[(name, padding) for name in ("plain", "first") for padding in ([4, 1], [16, 16])],
        *[(name, padding) for name in ("plain", "inside") for padding in ([1, 4], [10, 13])],
        *[("inside", padding) for padding in ([4, 1], [16, 16])],
    ],
)
def test_padded_programs_compute_the_same(program: str, padding: list[int]) -> None:
    sch = scheduled(PADDED[program])
    before = sch.mod.script()
    sch.pad_einsum("B", padding)
    assert (sch.mod.script() == before) == (padding == [10, 13])
    check_same(sch, PADDED[program])


def test_maximum_of_whole_rows() -> None:
    sch = scheduled(PADDED["maximum"])
    sch.pad_einsum("B", [4, 1])
    sch.pad_einsum("C", [4])
    check_same(sch, PADDED["maximum"])


def test_loops_that_are_not_iterators_stay() -> None:
    sch = scheduled(MATMUL)
    sch.split(loops(sch, "C")[0], [None, 3])
    sch.fuse(*loops(sch, "C")[2:])
    sch.pad_einsum("C", [3, 3, 5])
    assert [int(sch.get(one).extent) for one in loops(sch, "C")] == [3, 3, 64]
    check_same(sch, MATMUL)


def test_blocks_in_the_same_loops_use_the_copy() -> None:
    sch = scheduled(MATMUL)
    sch.decompose_reduction("C", loops(sch, "C")[1])
    sch.pad_einsum("C_init", [1, 5])
    assert sch.get(sch.get_block("C_update")).writes[0].buffer.name == "C_pad"
    assert sch.get(sch.get_block("D")).reads[0].buffer.name == "C"
    check_same(sch, MATMUL)


def test_other_blocks_run_in_the_iterations_that_loops_had() -> None:
    sch = scheduled(MATMUL)
    sch.decompose_reduction("C", loops(sch, "C")[2])
    sch.pad_einsum("C_init", [5, 3])
    assert sch.mod.script().count("T.where(i < 8 and j < 8)") == 1
    check_same(sch, MATMUL)


def test_a_temporary_that_the_same_loops_write_is_not_copied() -> None:
    sch = scheduled(PADDED["inside"])
    sch.pad_einsum("C", [4])
    copy = sch.get(sch.get_block("B_pad"))
    assert not copy.reads
    assert "T.where(i < 10)" in sch.mod.script()
    check_same(sch, PADDED["inside"])


def test_padding_again_and_blockizing() -> None:
    sch = scheduled(PADDED["plain"])
    sch.pad_einsum("B", [4, 8])
    sch.pad_einsum("B", [5, 3])
    sch.pad_einsum("A_pad_pad", [7, 1])
    sch.blockize(loops(sch, "A_pad")[1])
    check_same(sch, PADDED["plain"])


@pytest.mark.parametrize("size", [1, 4, 7])
def test_symbolic_sizes(size: int) -> None:
    sch: Any = Schedule(from_source(GIVEN + SYMBOLIC))
    sch.pad_einsum("C", [4, 2])
    assert "C_pad = T.alloc_buffer((T.int64(1), (n + T.int64(3)) // T.int64(4) * T.int64(4))" in (
        sch.mod.script()
    )
    data = np.arange(size * 3, dtype="int32").reshape(size, 3)
    result = te_sched.nd.array(np.zeros((1, size), "int32"))
    te_sched.build(sch.mod, target="llvm")(te_sched.nd.array(data), result)
    np.testing.assert_array_equal(result.numpy()[0], (data * data).sum(1))
