"""Which scopes are stage pipelines, and that blocks of those alone are moved."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched import tir
from te_sched.tensorir.stage_pipeline import why_not_pipeline
from tests.tensorir.programs import MATMUL, OTHERS, STAGES, function, program


def reason(text: str, name: str) -> str:
    """Why the scope of a block is no stage pipeline."""
    sch = tir.Schedule(program(text))
    return why_not_pipeline(sch, sch.get_block(name).key)


def test_producers_before_their_consumers_are_a_pipeline() -> None:
    for text, name in ((MATMUL, "C"), (STAGES, "B"), (OTHERS["window"], "C")):
        assert reason(text, name) == ""


def test_write_after_read_is_none() -> None:
    assert reason(OTHERS["overwritten"], "D") == "block X writes A after B reads it"


def test_half_of_a_buffer_does_not_cover_it() -> None:
    assert reason(OTHERS["half"], "C") == (
        "block C reads more of B than is written before in the loops around it"
    )


SCALAR = function(
    "A:8 B:8",
    """
S = T.alloc_buffer((), "float32")
for i in range(8):
    with T.block("S"):
        vi = T.axis.spatial(8, i)
        {}S[()] = A[vi]
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = S[()]
""",
)


def test_a_buffer_without_dimensions_is_covered_unless_a_condition_skips_it() -> None:
    assert reason(SCALAR.format(""), "B") == ""
    where = "T.where(i > 3)\n            "
    assert reason(SCALAR.format(where), "B").startswith("block B reads more of S than is written")


def test_blocks_in_tiles_that_do_not_divide_their_extents_are_a_pipeline() -> None:
    sch = tir.Schedule(program(STAGES))
    for name in ("B", "C"):
        i, j = sch.get_loops(sch.get_block(name))
        sch.split(j, [None, 3])
        sch.split(i, [None, 5])
    key = sch.get_block("B").key
    assert why_not_pipeline(sch, key) == ""
    sch.compute_at("B", sch.get_loops(sch.get_block("C"))[0])
    assert why_not_pipeline(sch, key) == ""


def test_partial_results_of_uneven_tiles_are_covered() -> None:
    sch = tir.Schedule(program(MATMUL))
    _, inner = sch.split(sch.get_loops("C")[2], [None, 3])
    partial = sch.rfactor(inner, 0)
    assert why_not_pipeline(sch, partial.key) == ""


ROWS = function(
    "A:8,8 B:8",
    """
S = T.alloc_buffer((8,), "float32")
for i, k in T.grid(8, 8):
    with T.block("S"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            S[vi] = 0.0
        S[vi] = S[vi] + A[vi, vk]
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = S[vi] * 2.0
""",
)


def test_elements_that_fill_a_buffer_with_gaps_are_covered_by_a_block_alike() -> None:
    text = function(
        "A:30 B:30",
        """
S = T.alloc_buffer((8, 4), "float32")
for i in range(30):
    with T.block("S"):
        vi = T.axis.spatial(30, i)
        S[vi // 4, vi % 4] = A[vi]
for i in range(30):
    with T.block("B"):
        vi = T.axis.spatial(30, i)
        B[vi] = S[vi // 4, vi % 4]
""",
    )
    assert reason(text, "B") == ""
    more = text.replace("range(30)", "range(29)", 1)
    assert reason(more, "B") == (
        "block B reads more of S than is written before in the loops around it"
    )


def test_producers_move_below_loops_of_consumers_whole() -> None:
    sch = tir.Schedule(program(ROWS))
    sch.reverse_compute_at("S", sch.get_loops("B")[0])
    assert [one.name for one in sch.get_loops("S")] == ["i", "ax0", "ax1"]
    assert "for ax0, ax1 in T.grid(8, 8):" in sch.mod.script()
    a = np.random.default_rng(0).random((8, 8), "float32")
    result = te_sched.nd.array(np.zeros(8, "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(a), result)
    np.testing.assert_allclose(result.numpy(), a.sum(1) * 2, 1e-5)


UNEVEN = function(
    "A:4,8 C:4,8",
    """
B = T.alloc_buffer((4, 8), "float32")
for j, i in T.grid(4, 8):
    with T.block("B"):
        vj, vi = T.axis.remap("SS", [j, i])
        B[vj, vi] = A[vj, vi]
for r, j, i in T.grid(4, 4, 8):
    with T.block("C"):
        vj, vi, vr = T.axis.remap("SSR", [j, i, r])
        with T.init():
            C[vj, vi] = T.float32(0)
        C[vj, vi] = C[vj, vi] + B[vj, (vi + vr) // 2]
""",
)


def test_copies_of_different_sizes_are_covered_in_each_case() -> None:
    sch = tir.Schedule(program(UNEVEN))
    r, _j, _i = sch.get_loops("C")
    sch.compute_at("B", r)
    sch.fuse(*sch.get_loops("B")[1:])
    assert why_not_pipeline(sch, sch.get_block("B").key) == ""
    outer, inner = sch.split(r, [2, 2])
    sch.fuse(outer, inner)
    assert why_not_pipeline(sch, sch.get_block("B").key) == ""
