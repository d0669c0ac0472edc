"""Loops made of one, and one made of several: loop_partition, merge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES, function, program
from tests.tensorir.schedules import check_same, loops, scheduled

# What TVM 0.19 prints.
PARTITIONED = """
        with T.block("D_i_common"):
            T.reads()
            T.writes()
            with T.block("D_i0_partition"):
                T.reads()
                T.writes()
                for i0, j in T.grid(3, 8):
                    with T.block("D_i0"):
                        vi, vj = T.axis.remap("SS", [i0, j])
                        T.reads(C[0:3, 0:8])
                        T.writes(D[0:3, 0:8])
                        D[vi, vj] = T.max(C[vi, vj], T.float32(0))
            with T.block("D_i1_partition"):
                T.reads()
                T.writes()
                for i1 in range(3, 8):
                    for j in range(8):
                        with T.block("D_i1"):
                            vi, vj = T.axis.remap("SS", [i1, j])
                            T.reads(C[3:8, 0:8])
                            T.writes(D[3:8, 0:8])
                            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
MERGED = """
        for i_m in range(8):
            for j in range(8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i_m, j])
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = A[vi, vj] * T.float32(2)
            for j in range(8):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i_m, j])
                    T.reads(B[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = B[vi, vj] + T.float32(1)
"""
WINDOW = function(
    "A:10 B:8",
    """
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] + A[vi + 2]
""",
)


def test_parts_have_the_present_name_of_the_block() -> None:
    sch = scheduled(MATMUL)
    sch.decompose_reduction("C", loops(sch, "C")[2])
    sch.loop_partition(loops(sch, "C_update")[2], [3, None])
    assert sch.get(sch.get_block("C_update_k_common")).name_hint == "C_update_k_common"
    sch.get_block("C_update_k1_partition")


def test_loop_partition_prints_as_tvm() -> None:
    sch = scheduled(MATMUL)
    sch.loop_partition(loops(sch, "D")[0], [3, None])
    assert PARTITIONED in sch.mod.script() + "\n"
    assert "l3, l4 = sch.loop_partition(loop=l1, factors=[3, None], preserve_unit_iters=True)" in (
        str(sch.trace)
    )


@pytest.mark.parametrize("block", ["C", "D"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("factors", [[3], [1, 2, None], [None, 1]])
def test_partitioned_programs_compute_the_same(block: str, place: int, factors: list[Any]) -> None:
    sch = scheduled(MATMUL)
    made = sch.loop_partition(loops(sch, block)[place], factors)
    assert len(made) == max(2, len(factors))
    assert sum(int(sch.get(one).extent) for one in made) == 8
    check_same(sch, MATMUL)


def test_parts_of_a_reduction_are_initialized_once() -> None:
    sch = scheduled(MATMUL)
    outer, _ = sch.split(loops(sch, "C")[2], [4, 2])
    sch.loop_partition(outer, [1, None])
    check_same(sch, MATMUL)
    sch = scheduled(MATMUL)
    sch.decompose_reduction("C", loops(sch, "C")[2])
    sch.loop_partition(loops(sch, "C_update")[2], [3, None])
    check_same(sch, MATMUL)


def test_regions_that_are_no_points_stay() -> None:
    sch = scheduled(WINDOW)
    sch.loop_partition(loops(sch, "B")[0], [2])
    block = sch.get(sch.get_block("B_i1"))
    assert str(block.reads) == "(A[vi:vi + 3],)"
    assert str(block.writes) == "(B[2:8],)"
    check_same(sch, WINDOW)


def test_blocks_in_parts_are_found() -> None:
    sch = scheduled(MATMUL)
    sch.loop_partition(loops(sch, "C")[0], [3, None])
    assert [one.name for one in sch.get_producers("D")] == ["C_i_common"]
    assert [one.name for one in sch.get_consumers("C_i_common")] == ["D"]
    sch.parallel(loops(sch, "C_i1")[0])
    sch.cache_read("D", "C", "local")
    names = [one.name for one in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["C_i_common", "C_local", "D"]
    check_same(sch, MATMUL)


def test_loops_around_parts_stay_loops() -> None:
    sch = scheduled(MATMUL)
    sch.loop_partition(loops(sch, "D")[1], [3, None])
    (outer,) = loops(sch, "D_j_common")
    sch.split(outer, [2, 4])
    check_same(sch, MATMUL)
    sch.compute_at("C", loops(sch, "D_j_common")[0])
    check_same(sch, MATMUL)


def test_nested_blocks_are_renamed() -> None:
    sch = scheduled(OTHERS["nested"])
    sch.loop_partition(loops(sch, "outer")[0], [3, None])
    names = [block.name_hint for block in sch.keys]
    assert "outer_i0" in names
    assert "inner_i1" in names
    check_same(sch, OTHERS["nested"])


def test_merge_prints_as_tvm() -> None:
    sch = scheduled(STAGES)
    made = sch.merge(loops(sch, "B")[0], loops(sch, "C")[0])
    assert MERGED in sch.mod.script() + "\n"
    assert sch.get(made).loop_var.name == "i_m"
    assert str(sch.trace).endswith("l6 = sch.merge(l1, l4)")
    check_same(sch, STAGES)


def test_merge_merges_the_loops_around() -> None:
    sch = scheduled(STAGES)
    sch.merge(loops(sch, "B")[1], loops(sch, "C")[1])
    assert [one.name for one in loops(sch, "C")] == ["i_m", "j_m"]
    assert [one.name for one in sch.get_child_blocks(loops(sch, "B")[1])] == ["B", "C"]
    check_same(sch, STAGES)


def test_merge_keeps_the_order_of_a_reduction_and_its_use() -> None:
    sch = scheduled(MATMUL)
    sch.merge(loops(sch, "C")[1], loops(sch, "D")[1])
    assert [one.name for one in loops(sch, "C")] == ["i_m", "j_m", "k"]
    check_same(sch, MATMUL)


def test_merge_takes_loops_in_any_order() -> None:
    text = OTHERS["siblings"]
    sch = scheduled(text)
    sch.merge(loops(sch, "C")[1], loops(sch, "B")[1])
    assert [one.name for one in sch.get_child_blocks(loops(sch, "B")[0])] == ["C", "B"]
    check_same(sch, text)


# TVM 0.19 copies all 8 rows, of which an iteration of i has one.
COPIED_BACK = """
                    D_local = T.alloc_buffer((8, 3), scope="local")
                    for j0 in range(3):
                        with T.block("D_j0"):
                            vi, vj = T.axis.remap("SS", [i, j0])
                            T.reads(C[0:8, 0:3])
                            T.writes(D_local[0:8, 0:3])
                            D_local[vi, vj] = T.max(C[vi, vj], T.float32(0))
                    for j0 in range(3):
                        with T.block("D_local"):
                            vi, vj = T.axis.remap("SS", [i, j0])
                            T.reads(D_local[vi, vj])
                            T.writes(D[vi, vj])
                            D[vi, vj] = D_local[vi, vj]
"""


@pytest.mark.parametrize("part", [0, 1])
def test_cache_write_in_a_partition_copies_what_an_iteration_writes(part: int) -> None:
    sch = scheduled(MATMUL)
    made = sch.loop_partition(loops(sch, "D")[1], [3, None])
    if part:
        sch.cache_write("D_j1", 0, "local")
    else:
        sch.cache_write("D_j0", 0, "local")
        assert COPIED_BACK in sch.mod.script() + "\n"
        sch.split(made[0], [2, None])
    check_same(sch, MATMUL)


def test_copies_for_a_part_have_all_elements() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.loop_partition(sch.get_loops("C")[0], [2, None])
    sch.cache_read("C_i1", 0, "local")
    text = sch.mod.script()
    assert 'B_local = T.alloc_buffer((8, 8), scope="local")' in text
    assert "T.reads(B_local[2:8, 0:8])" in text
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    c = np.zeros_like(a)
    te_sched.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_allclose(c, a * 2 + 1)


def test_copies_in_loops_keep_loops_of_one_iteration() -> None:
    sch = tir.Schedule(from_source(GIVEN + STAGES))
    sch.reverse_compute_at("C", sch.get_loops("B")[1])
    sch.split(sch.get_loops("B")[0], [8, 1])
    sch.cache_write("B", 0, "local")
    assert "v0 = T.axis.spatial(8, i_0 + i_1 + ax0)" in sch.mod.script()


def test_copies_in_a_part_of_a_loop_use_no_loops_around_it() -> None:
    for copy in (
        lambda s: s.cache_write("B_j0", 0, "local"),
        lambda s: s.cache_read("B_j1", 0, "local"),
    ):
        sch = tir.Schedule(program(STAGES))
        sch.loop_partition(sch.get_loops("B")[1], [3, None])
        copy(sch)
        text = sch.mod.script()
        assert from_source(text).script() == text
        array = np.arange(64, dtype="float32").reshape(8, 8)
        result = np.zeros_like(array)
        te_sched.build(sch.mod)(array, result)
        np.testing.assert_array_equal(result, array * 2 + 1)


def test_a_part_of_a_loop_inside_of_reduction_loops_is_not_decomposed() -> None:
    """Each iteration of k would initialize again."""
    sch = tir.Schedule(program(MATMUL))
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i, j)
    sch.loop_partition(j, [2, None])
    with pytest.raises(te_sched.errors.ScheduleError, match="the reduction loop k is around it"):
        sch.decompose_reduction("C_j0", sch.get_loops("C_j0")[0])
