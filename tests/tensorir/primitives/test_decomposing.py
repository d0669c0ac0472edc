"""Constants of padding, written by a block of their own: decompose_padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from te_sched.tir import Schedule
from tests.tensorir.programs import GIVEN, PADDING, function
from tests.tensorir.schedules import check_same, loops, scheduled

# What TVM 0.19 prints.
DIRECT = """
        for i in range(12):
            with T.block("B_pad_const"):
                vi = T.axis.spatial(12, i)
                T.reads()
                T.writes(B[vi])
                B[vi] = T.float32(3)
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi])
                T.writes(B[vi + 2])
                B[vi + 2] = A[vi]
"""
SPLIT = """
        for i_0 in range(3):
            for i_1 in range(5):
                with T.block("B_pad_const"):
                    vi = T.axis.spatial(12, i_0 * 5 + i_1)
                    T.where(i_0 * 5 + i_1 < 12)
                    T.reads()
                    T.writes(B[vi])
                    B[vi] = T.float32(3)
            for i_1 in range(5):
                with T.block("B"):
                    vi = T.axis.spatial(8, i_0 * 5 + i_1 - 2)
                    T.where(2 <= i_0 * 5 + i_1 and i_0 < 2 and i_0 * 5 + i_1 < 12)
                    T.reads(A[vi])
                    T.writes(B[vi + 2])
                    B[vi + 2] = A[vi]
"""
IMAGE = function(
    "A:1,6,7 D:1,8,10 C:1,4,5",
    """
B = T.alloc_buffer((1, 8, 10), "float32")
for n, i, j in T.grid(1, 8, 10):
    with T.block("B"):
        vn, vi, vj = T.axis.remap("SSS", [n, i, j])
        B[vn, vi, vj] = T.if_then_else(
            vi >= 1 and not (7 <= vi) and T.likely(1 < vj and vj < 9), A[vn, vi - 1, vj - 2], 0.0
        )
for n, i, j, a, b in T.grid(1, 4, 5, 2, 2):
    with T.block("C"):
        vn, vi, vj, va, vb = T.axis.remap("SSSRR", [n, i, j, a, b])
        with T.init():
            C[vn, vi, vj] = 0.0
        C[vn, vi, vj] = C[vn, vi, vj] + B[vn, vi * 2 + va, vj * 2 + vb]
""",
)
SYMBOLIC = """
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int32")
    C = T.match_buffer(c, (n + T.int64(5),), "int32")
    for i in range(n + T.int64(5)):
        with T.block("C"):
            vi = T.axis.spatial(n + T.int64(5), i)
            C[vi] = T.if_then_else(T.int64(2) <= vi and vi < n + T.int64(2), A[vi - T.int64(2)], 7)
"""


def test_prints_as_tvm() -> None:
    sch = scheduled(PADDING["plain"])
    made = sch.decompose_padding("B", loops(sch, "B")[0])
    assert made.name == "B_pad_const"
    assert DIRECT in sch.mod.script()
    assert "b3 = sch.decompose_padding(block=b2, loop=l1)" in str(sch.trace)
    check_same(sch, PADDING["plain"])


def test_split_loops_print_as_tvm() -> None:
    sch = scheduled(PADDING["plain"])
    sch.split(loops(sch, "B")[0], [None, 5])
    sch.decompose_padding("B", loops(sch, "B")[1])
    assert SPLIT in sch.mod.script()
    check_same(sch, PADDING["plain"])


def test_loops_of_other_blocks_stay() -> None:
    sch = scheduled(PADDING["beside"])
    sch.decompose_padding("B", loops(sch, "B")[0])
    assert [int(sch.get(loops(sch, name)[0]).extent) for name in "BC"] == [12, 12]
    check_same(sch, PADDING["beside"])


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("moves", ["", "fuse", "reorder", "split", "parallel"])
def test_images(place: int, moves: str) -> None:
    sch = scheduled(IMAGE)
    block = sch.get_block("B")
    if moves == "fuse":
        sch.fuse(*sch.get_loops(block)[1:])
    elif moves == "reorder":
        sch.reorder(*sch.get_loops(block)[::-1])
    elif moves == "split":
        sch.split(sch.get_loops(block)[2], [None, 4])
    elif moves == "parallel":
        sch.parallel(sch.get_loops(block)[1])
    around = sch.get_loops(block)
    sch.decompose_padding(block, around[min(place, len(around) - 1)])
    check_same(sch, IMAGE)


@pytest.mark.parametrize("place", range(5))
def test_tiles_that_overlap(place: int) -> None:
    sch = scheduled(IMAGE)
    sch.split(loops(sch, "C")[1], [2, 2])
    sch.compute_at("B", loops(sch, "C")[2])
    assert sch.can_decompose_padding("B", loops(sch, "B")[place])
    sch.decompose_padding("B", loops(sch, "B")[place])
    check_same(sch, IMAGE)


def test_what_cannot_be_decomposed() -> None:
    sch = scheduled(PADDING["plain"])
    (loop,) = loops(sch, "C")
    assert not sch.can_decompose_padding("C", loop)
    assert "can_decompose" not in str(sch.trace)


@pytest.mark.parametrize("size", [0, 1, 6])
def test_symbolic_sizes(size: int) -> None:
    sch: Any = Schedule(from_source(GIVEN + SYMBOLIC))
    sch.decompose_padding("C", loops(sch, "C")[0])
    data = np.arange(size, dtype="int32")
    result = te_sched.nd.array(np.zeros(size + 5, "int32"))
    te_sched.build(sch.mod, target="llvm")(te_sched.nd.array(data), result)
    np.testing.assert_array_equal(result.numpy(), np.pad(data, (2, 3), constant_values=7))


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("8 <= vi and vi < 4", "its condition never holds"),
        ("n <= vi and vi < n", "its condition never holds"),
        ("vi < n and n + 2 <= vi", "does not bound iterator vi"),
    ],
)
def test_decompose_padding_rejects_conditions_without_a_range(condition: str, why: str) -> None:
    text = f"""
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (16,))
    B = T.match_buffer(b, (16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.if_then_else({condition}, A[vi], T.float32(0))
"""
    sch = Schedule(from_source(text))
    with pytest.raises(ScheduleError, match=why):
        sch.decompose_padding("B", sch.get_loops("B")[0])
