"""Copies of buffers in the order of a block's iterators: reindex."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.ir import structural_equal
from te_sched.script import from_source
from tests.tensorir.programs import BLOCKIZED, GIVEN, MATMUL, OTHERS, REINDEXED, function
from tests.tensorir.schedules import check_same, loops, scheduled

CONVOLUTION = GIVEN + function(
    "A:10,4 W:3,4 C:8,2",
    """
for h, f, r, c in T.grid(8, 2, 3, 4):
    with T.block("C"):
        vh, vf, vr, vc = T.axis.remap("SSRR", [h, f, r, c])
        with T.init():
            C[vh, vf] = 0.0
        C[vh, vf] = C[vh, vf] + A[vh + vr, vc] * W[vr, vc]
""",
)


@pytest.mark.parametrize("places", [["A"], ["W"], ["C"], ["A", "W", "C"], [("read", 0)]])
def test_results(places: list[object]) -> None:
    sch = tir.Schedule(from_source(CONVOLUTION))
    for one in places:
        sch.reindex("C", one)
    rng = np.random.default_rng(0)
    a, w = rng.random((10, 4), dtype="float32"), rng.random((3, 4), dtype="float32")
    c = np.zeros((8, 2), "float32")
    te_sched.build(sch.mod, target="llvm")(a, w, c)
    expected = np.stack([(a[h : h + 3] * w).sum() for h in range(8)])
    np.testing.assert_allclose(c, np.stack([expected, expected], 1), rtol=1e-5)


def test_copies_have_the_order_of_the_iterators() -> None:
    sch = tir.Schedule(from_source(CONVOLUTION))
    copy = sch.get(sch.reindex("C", "A"))
    assert copy.name_hint == "A_reindex_reindex"
    assert [int(one) for one in copy.writes[0].buffer.shape] == [8, 3, 4]
    back = sch.get(sch.reindex("C", ("write", 0)))
    assert back.name_hint == "C_reindex"
    assert [one.name_hint for one in map(sch.get, sch.get_child_blocks("root"))] == [
        *("A_reindex_reindex", "C", "C_reindex")
    ]


def test_traces_write_the_place_of_the_buffer() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.reindex("C", "B")
    sch.reindex("C", "C")
    text = str(sch.trace)
    assert 'b1 = sch.reindex(block=b0, buffer=("read", 1))' in text
    assert 'buffer=("write", 0))' in text
    kinds = [one for one in sch.trace.as_json()[0] if one[0] == "ReIndex"]
    assert [one[2] for one in kinds] == [[1, 0], [0, 1]]
    again = tir.Schedule(from_source(GIVEN + MATMUL))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)
    assert str(again.trace) == text


FOLDED = GIVEN + function(
    "A:8,1 C:8,8",
    """
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj // 8]
""",
)


def test_iterators_on_which_no_index_depends_are_no_indices_of_the_copy() -> None:
    sch = tir.Schedule(from_source(FOLDED))
    copy = sch.get(sch.reindex("C", "A"))
    assert (str(copy.reads), str(copy.writes)) == ("(A[v0, 0],)", "(A_reindex[v0],)")


# What TVM 0.19 prints.
FROM_ONE = """
        B_reindex = T.alloc_buffer((4, 8))
        for i in range(1, 4):
            for j in range(2, 8):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(B_reindex[vi, vj])
                    B_reindex[vi, vj] = A[vi, vj] * T.float32(2)
        for ax0 in range(1, 4):
            for ax1 in range(2, 8):
                with T.block("B_reindex"):
                    v0, v1 = T.axis.remap("SS", [ax0, ax1])
                    T.reads(B_reindex[v0, v1])
                    T.writes(B[v0, v1])
                    B[v0, v1] = B_reindex[v0, v1]
"""


def test_iterators_need_not_begin_at_zero() -> None:
    sch = scheduled(BLOCKIZED["from one"])
    sch.reindex("B", ("write", 0))
    assert FROM_ONE in sch.mod.script() + "\n"
    check_same(sch, BLOCKIZED["from one"])


@pytest.mark.parametrize("kind", ["read", "write"])
def test_an_updated_buffer_is_copied_before_and_after(kind: str) -> None:
    sch = scheduled(OTHERS["accumulated"])
    made = sch.reindex("B", (kind, 0))  # TVM 0.19 copies once, and loses the result or the start
    names = [one.name for one in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["B_reindex_reindex", "B", "B_reindex"]
    assert made.name == names[0 if kind == "read" else 2]
    check_same(sch, OTHERS["accumulated"])


def test_the_update_of_a_reduction_is_copied_in_the_loops_of_its_initialization() -> None:
    sch = scheduled(MATMUL)
    sch.decompose_reduction("C", loops(sch, "C")[2])
    sch.reindex("C_update", ("write", 0))
    assert [one.name for one in sch.get_child_blocks(loops(sch, "C_init")[1])] == [
        *("C_init", "C_reindex_reindex", "C_update", "C_reindex")
    ]
    check_same(sch, MATMUL)


@pytest.mark.parametrize(("block", "kind"), [("C", "read"), ("B", "write")])
def test_copies_are_next_to_blocks_in_the_same_loops(block: str, kind: str) -> None:
    sch = scheduled(REINDEXED["tiles"])
    copy = sch.reindex(block, (kind, 0))
    blocks = [one.name for one in sch.get_child_blocks(loops(sch, "B")[0])]
    assert blocks == ["B", copy.name, "C"]  # TVM 0.19 copies before or after loop i
    check_same(sch, REINDEXED["tiles"])


@pytest.mark.parametrize("kind", ["read", "write"])
def test_iterators_of_the_block_around_are_indices(kind: str) -> None:
    sch = scheduled(MATMUL)
    sch.blockize(loops(sch, "D")[1])
    copy = sch.get(sch.reindex("D", (kind, 0)))
    assert str((copy.reads, copy.writes)[kind == "write"][0]) == (
        "D[vi_o, v0]" if kind == "write" else "C[vi_o, v0]"
    )
    check_same(sch, MATMUL)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("part", [0, 1])
def test_blocks_in_partitions(kind: str, part: int) -> None:
    sch = scheduled(MATMUL)
    sch.loop_partition(loops(sch, "D")[1], [3, None])
    sch.reindex(f"D_j{part}", (kind, 0))
    check_same(sch, MATMUL)


def test_copies_have_the_scope_of_the_buffer() -> None:
    sch = tir.Schedule(from_source(GIVEN + CONVOLUTION))
    sch.cache_read("C", 0, "shared")
    copy = sch.get(sch.reindex("C", ("read", 0)))
    assert copy.writes[0].buffer.scope() == "shared"


def test_a_copy_that_sums_read_may_have_elements_several_times() -> None:
    """Only a copy that is updated must have one place for each element."""
    text = GIVEN + function(
        "A:4,3 C:8",
        """
for i, k in T.grid(8, 3):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0.0
        C[vi] = C[vi] + A[T.min(vi, 3), vk]
""",
    )
    sch = tir.Schedule(from_source(text))
    sch.reindex_cache_read("C", 0, "global", lambda i, k: (i // 2, k, i % 2))
    a, c = np.arange(12, dtype="float32").reshape(4, 3), np.zeros(8, "float32")
    te_sched.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_array_equal(c, a.sum(1)[[0, 1, 2, 3, 3, 3, 3, 3]])
