"""Blocks of loops, and of several blocks: blockize."""

from __future__ import annotations

import pytest

from te_sched.errors import ScheduleError
from tests.tensorir.programs import BLOCKIZED, MATMUL
from tests.tensorir.schedules import check_same, loops, scheduled

# What TVM 0.19 prints, with `va_o * 2 + (2 + va_o * 2 - 1 + 1 - va_o * 2)` simplified: that text
# would not be the same after it is read.
TOGETHER = """
        for m in range(4):
            with T.block("outer_B_C_"):
                va_o = T.axis.spatial(4, m)
                vb_o = T.axis.spatial(1, 0)
                T.reads(B[va_o * 2:va_o * 2 + 2, 0:8], A[va_o * 2:va_o * 2 + 2, 0:8])
                T.writes(C[va_o * 2:va_o * 2 + 2, 0:8], B[va_o * 2:va_o * 2 + 2, 0:8])
                for i, j in T.grid(2, 8):
                    with T.block("B"):
                        va_i, vb_i = T.axis.remap("SS", [i, j])
                        T.reads(A[va_o * 2 + va_i, vb_i])
                        T.writes(B[va_o * 2 + va_i, vb_i])
                        B[va_o * 2 + va_i, vb_i] = A[va_o * 2 + va_i, vb_i] * T.float32(2)
                for i, j in T.grid(8, 2):
                    with T.block("C"):
                        vi_i, vj_i = T.axis.remap("SS", [j, i])
                        T.reads(B[va_o * 2 + vi_i, vj_i])
                        T.writes(C[va_o * 2 + vi_i, vj_i])
                        C[va_o * 2 + vi_i, vj_i] = B[va_o * 2 + vi_i, vj_i] + T.float32(1)
"""
# TVM 0.19 drops loop i, and prints `vi_o = T.axis.spatial(1, 0)`.
IN_A_PARTITION = """
                with T.block("D_j1_partition"):
                    T.reads()
                    T.writes()
                    with T.block("D_j1_o"):
                        vi_o = T.axis.spatial(8, i)
                        vj_o = T.axis.spatial(1, 0)
                        T.reads(C[0:8, 3:8])
                        T.writes(D[0:8, 3:8])
                        for j1 in range(3, 8):
                            with T.block("D_j1"):
                                vj_i = T.axis.spatial((3, 8), j1)
                                T.reads(C[0:8, 3:8])
                                T.writes(D[0:8, 3:8])
                                D[vi_o, vj_i] = T.max(C[vi_o, vj_i], T.float32(0))
"""


def test_blocks_together_print_as_tvm() -> None:
    sch = scheduled(BLOCKIZED["two"])
    sch.blockize(["B", "C"])
    assert TOGETHER in sch.mod.script() + "\n"
    assert "b2 = sch.blockize(target=[b0, b1], preserve_unit_iters=True)" in str(sch.trace)
    assert sch.trace.as_json()[0][-1] == ["Blockize", [["b0", "b1"]], [1], ["b2"]]
    check_same(sch, BLOCKIZED["two"])


@pytest.mark.parametrize("keeps_units", [True, False])
@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("two", ["B", "C"]),
        ("reduction", ["B", "R"]),
        ("three", ["B", "C"]),
        ("three", ["C", "R"]),
        ("three", ["B", "C", "R"]),
        ("in one loop", ["B", "C"]),
        ("conditions", ["B", "C"]),
        ("outer conditions", ["B", "C"]),
        ("units", ["B", "C"]),
    ],
)
def test_blocks_together_compute_the_same(name: str, blocks: list[str], keeps_units: bool) -> None:
    sch = scheduled(BLOCKIZED[name])
    tile = sch.blockize(blocks, preserve_unit_iters=keeps_units)
    assert [one.name for one in sch.get_child_blocks(tile)] == blocks
    check_same(sch, BLOCKIZED[name])


def test_a_reduction_in_a_block_of_blocks_keeps_its_init() -> None:
    sch = scheduled(BLOCKIZED["reduction"])
    sch.blockize(["B", "R"])
    assert sch.get(sch.get_block("R")).init is not None  # TVM 0.19 drops it


def test_blocks_that_do_not_depend_on_each_other_take_the_order_given() -> None:
    sch = scheduled(BLOCKIZED["independent"])
    tile = sch.blockize(["C", "B"])
    assert [one.name for one in sch.get_child_blocks(tile)] == ["C", "B"]
    check_same(sch, BLOCKIZED["independent"])


def test_unit_iterators_are_constants_if_they_are_not_kept() -> None:
    sch = scheduled(BLOCKIZED["units"])
    sch.blockize(loops(sch, "B")[1], preserve_unit_iters=False)
    assert str(sch.get(sch.get_block("B")).writes) == "(B[vi_o * 2 + vi_i, 0],)"
    check_same(sch, BLOCKIZED["units"])


def test_blockize_in_a_partition_keeps_the_loops_around_it() -> None:
    sch = scheduled(MATMUL)
    _, second = sch.loop_partition(loops(sch, "D")[1], [3, None])
    sch.blockize(second)
    assert IN_A_PARTITION in sch.mod.script() + "\n"
    check_same(sch, MATMUL)


@pytest.mark.parametrize("place", [0, 1])
def test_blockize_of_loops_that_do_not_start_at_zero(place: int) -> None:
    sch = scheduled(BLOCKIZED["from one"])
    tile = sch.blockize(loops(sch, "B")[place])
    axis = sch.get(tile if place else sch.get_block("B")).iter_vars[0]
    assert (int(axis.dom.min), int(axis.dom.extent)) == (1, 3)
    check_same(sch, BLOCKIZED["from one"])


def test_iterations_outside_of_a_domain_are_refused() -> None:
    sch = scheduled(MATMUL)
    _, inner = sch.split(loops(sch, "D")[1], [None, 3], disable_predication=True)
    with pytest.raises(ScheduleError, match="vj has values up to 8, and its domain ends at 7"):
        sch.blockize(inner)
