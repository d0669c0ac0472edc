"""Folded buffers: rolling_buffer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tensorir.programs import ROLLED, function
from tests.tensorir.schedules import check_same, loops, scheduled

# What TVM 0.19 prints.
FOLDED = """
        B = T.alloc_buffer((3, 18))
        for i, j in T.grid(16, 16):
            for ax0, ax1 in T.grid(3, 3):
                with T.block("B"):
                    vi = T.axis.opaque(18, i + ax0)
                    vj = T.axis.spatial(18, j + ax1)
                    T.where((i < 1 or 2 <= ax0) and (j < 1 or 2 <= ax1))
                    T.reads(A[vi, vj])
                    T.writes(B[vi % 3, vj])
                    B[vi % 3, vj] = A[vi, vj] * T.float32(2)
"""
CASCADE = function(
    "A:18,18 C:16,16",
    """
B = T.alloc_buffer((18, 18), "float32")
for i, j in T.grid(18, 18):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(16, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + B[vi + 2, vj + 1]
""",
)
REDUCED = function(
    "A:40 C:12",
    """
X = T.alloc_buffer((40,), "float32")
B = T.alloc_buffer((26,), "float32")
for i in range(40):
    with T.block("X"):
        vi = T.axis.spatial(40, i)
        X[vi] = A[vi] * 2.0
for i, k in T.grid(26, 3):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + X[vi + vk]
for i, k in T.grid(12, 4):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] + B[vi * 2 + vk]
""",
)


def shape(sch: Any, name: str) -> list[int]:
    """The shape of the buffer that a block writes."""
    return [int(one) for one in sch.get(sch.get_block(name)).writes[0].buffer.shape]


def test_windows_of_different_sizes() -> None:
    sch = scheduled(CASCADE)
    sch.compute_at("B", loops(sch, "C")[1])
    sch.rolling_buffer("B", 0)
    assert shape(sch, "B") == [3, 18]
    assert "sch.rolling_buffer(block=b4, write_buffer_index=0)" in str(sch.trace)
    check_same(sch, CASCADE)


def test_prints_as_tvm() -> None:
    text = CASCADE.replace("vj + 1]", "vj + 2]")
    sch = scheduled(text)
    sch.compute_at("B", loops(sch, "C")[1])
    sch.rolling_buffer("B", 0)
    assert FOLDED in sch.mod.script()
    check_same(sch, text)


def test_outermost_loop_rolls() -> None:
    sch = scheduled(CASCADE)
    i, j = loops(sch, "C")
    sch.reorder(j, i)
    sch.compute_at("B", i)
    sch.rolling_buffer("B", 0)
    assert shape(sch, "B") == [18, 2]
    check_same(sch, CASCADE)


@pytest.mark.parametrize("factor", [1, 2, 4, 5, 6])
def test_tiles_and_reductions(factor: int) -> None:
    sch = scheduled(REDUCED)
    outer, _ = sch.split(loops(sch, "C")[0], [None, factor])
    sch.compute_at("B", outer)
    sch.compute_at("X", outer)
    sch.rolling_buffer("X", 0)
    assert shape(sch, "X") == [2 * factor + 4]
    sch.rolling_buffer("B", 0)
    assert shape(sch, "B") == [2 * factor + 2]
    check_same(sch, REDUCED)


def test_rolled_loops_stay_in_order() -> None:
    sch = scheduled(ROLLED["plain"])
    sch.rolling_buffer("B", 0)
    (outer,) = loops(sch, "C")
    sch.split(outer, [4, 4])
    assert [axis.kind for axis in sch.get(sch.get_block("C")).iter_vars] == ["Opaque"]
    check_same(sch, ROLLED["plain"])
