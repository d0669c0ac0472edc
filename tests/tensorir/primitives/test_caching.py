"""Copies of buffers in other memory: cache_read, cache_inplace; and of indices: cache_index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.ir import structural_equal
from tests.tensorir.programs import STAGES, function, program

UPDATED = function(
    "A:8,8 C:8,8",
    """
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        BODY
""",
)
INPLACE = """
    C_local = T.alloc_buffer((8, 8), scope="local")
    for i, j in T.grid(8, 8):
        for ax0, ax1 in T.grid(1, 8):
            with T.block("C_local"):
                v0 = T.axis.spatial(8, i + ax0)
                v1 = T.axis.spatial(8, ax1)
                T.reads(C[v0, v1])
                T.writes(C_local[v0, v1])
                C_local[v0, v1] = C[v0, v1]
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C_local[vi, 0:8], A[vi, vj])
            T.writes(C_local[vi, 0:8])
            for l in range(8):
                C_local[vi, l] = C_local[vi, l] + A[vi, vj]
        for ax0, ax1 in T.grid(1, 8):
            with T.block("C_local"):
                v0 = T.axis.spatial(8, i + ax0)
                v1 = T.axis.spatial(8, ax1)
                T.reads(C_local[v0, v1])
                T.writes(C[v0, v1])
                C[v0, v1] = C_local[v0, v1]
"""


def updated(body: str) -> str:
    """A program whose block updates C."""
    return UPDATED.replace("BODY", body)


ROWS = updated("for l in range(8):\n                C[vi, l] = C[vi, l] + A[vi, vj]")
BODIES = {
    "rows": ROWS,
    "elements": updated("C[vi, vj] = C[vi, vj] + A[vi, vj]"),
    "mirrored": updated("C[vi, vj] = C[vi, 7 - vj] + A[vi, vj]"),
    "of others": updated("C[vi, vj] = C[0, vj] + A[vi, vj]"),
}


def _shape(text: str) -> tuple[int, int]:
    return (4, 4) if "A: T.Buffer((4,4,)" in text else (8, 8)


def check_same(sch: Any, text: str) -> None:
    """A schedule computes what its program does, and its JSON replays."""
    results = []
    for module in (program(text), sch.mod):
        rng = np.random.default_rng(0)
        a, c = rng.random(_shape(text), dtype="float32"), rng.random((8, 8), dtype="float32")
        te_sched.build(module, target="llvm")(a, c)
        results.append(c)
    np.testing.assert_array_equal(*results)
    again = tir.Schedule(program(text))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)


def test_text_of_a_copy_in_place() -> None:
    sch = tir.Schedule(program(ROWS))
    before, after = sch.cache_inplace("C", 0, "local")
    assert INPLACE in "\n".join(line[4:] for line in sch.mod.script().splitlines()) + "\n"
    assert [sch.get(one).reads[0].buffer.name for one in (before, after)] == ["C", "C_local"]
    assert (
        'b1, b2 = sch.cache_inplace(block=b0, read_buffer_index=0, storage_scope="local")'
    ) in str(sch.trace)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("factor", [None, 3, 4])
def test_results_in_place(name: str, factor: int | None) -> None:
    sch = tir.Schedule(program(BODIES[name]))
    if factor:
        sch.split(sch.get_loops("C")[0], [None, factor])
    sch.cache_inplace("C", "C", "local")
    check_same(sch, BODIES[name])


LATER = function(
    "A:8,8 C:8,8",
    """
for o in range(TIMES):
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(8, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = C[vi, vj] * 0.5
""",
)


@pytest.mark.parametrize(("times", "loops"), [("1", 2), ("3", 3)])
def test_reads_before_a_write_are_cached_before_it(times: str, loops: int) -> None:
    text = LATER.replace("TIMES", times)
    sch = tir.Schedule(program(text))
    copy = sch.cache_read("C", "A", "local", ["C"])
    assert len(sch.get_loops(copy)) == loops
    check_same(sch, text)


@pytest.mark.parametrize("times", ["1", "3"])
@pytest.mark.parametrize("in_order", [False, True])
def test_results_that_earlier_blocks_read_are_copied_back_after_they_are_written(
    times: str, in_order: bool
) -> None:
    """In the loop whose next iteration reads them."""
    text = LATER.replace("TIMES", times)
    sch = tir.Schedule(program(text))
    if in_order:
        sch.reindex_cache_write("D", 0, "local", lambda i, j: (j, i))
    else:
        sch.cache_write("D", "A", "local")
    check_same(sch, text)


LATE = function(
    "A:8 C:8",
    """
B = T.alloc_buffer((8,))
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = A[vi] * B[vi]
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = C[vi] * 0.5
""",
)


def test_memory_without_values_is_cached_after_it_is_written() -> None:
    sch = tir.Schedule(program(LATE))
    sch.cache_read("C", "B", "local")
    names = [sch.get(one).name_hint for one in sch.get_child_blocks("root")]
    assert names == ["C", "B", "B_local"]
    with pytest.raises(te_sched.BuildError, match="buffer B_local is read before it is written"):
        te_sched.build(sch.mod)


RESIZED = function(
    "A:4,4 C:8,8",
    """
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi // 4 + vj // 4, vj // 2] + A[vj // 2, T.max(vi // 2 - 1, 0)]
""",
)
# What TVM 0.19 prints, which has `strides=(1,)` of index_var_0, too.
INDEXED = """
    index_var_0 = T.alloc_buffer((8, 8), "int32")
    index_var_1 = T.alloc_buffer((8,), "int32", strides=(1,))
    index_var_2 = T.alloc_buffer((8,), "int32", strides=(1,))
    for ax0, ax1 in T.grid(8, 8):
        with T.block("index_0"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads()
            T.writes(index_var_0[v0, v1])
            index_var_0[v0, v1] = v0 // 4 + v1 // 4
    for ax0 in range(8):
        with T.block("index_1"):
            v0 = T.axis.spatial(8, ax0)
            T.reads()
            T.writes(index_var_1[v0])
            index_var_1[v0] = T.max(v0 // 2 - 1, 0)
    for ax0 in range(8):
        with T.block("index_2"):
            v0 = T.axis.spatial(8, ax0)
            T.reads()
            T.writes(index_var_2[v0])
            index_var_2[v0] = v0 // 2
"""
LOADS = "A[index_var_0[vi, vj], index_var_2[vj]] + A[index_var_2[vj], index_var_1[vi]]"


def test_text_of_cached_indices() -> None:
    sch = tir.Schedule(program(RESIZED))
    made = sch.cache_index("C", "global")
    text = "\n".join(line[4:] for line in sch.mod.script().splitlines())
    assert INDEXED in text
    assert f"C[vi, vj] = {LOADS}" in text
    assert [sch.get(one).name_hint for one in made] == ["index_0", "index_1", "index_2"]
    assert "b1, b2, b3 = sch.cache_index(" in str(sch.trace)


@pytest.mark.parametrize(("least", "chosen"), [(0, 3), (1, 3), (2, 1)])
def test_results_of_cached_indices(least: int, chosen: int) -> None:
    sch = tir.Schedule(program(RESIZED))
    sch.split(sch.get_loops("C")[0], [None, 3])
    assert len(sch.cache_index("C", "global", least)) == chosen
    check_same(sch, RESIZED)


def test_divisions_by_iterators_are_not_cached() -> None:
    text = updated("C[vi, vj] = T.if_then_else(vj > 0, A[vi, vi // vj], A[vi, vj // 2])")
    sch = tir.Schedule(program(text))
    made = [str(sch.get(one).body.value) for one in sch.cache_index("C", "global")]
    assert made == ["v0 > 0", "v0 // 2"]


def test_cached_indices_are_computed_before_the_loops_of_their_block() -> None:
    text = STAGES.replace("B[vi, vj] + 1.0", "B[7 - vi, vj] + 1.0")
    sch = tir.Schedule(program(text))
    sch.split(sch.get_loops("C")[1], [2, 4])
    sch.cache_index("C", "global")
    assert [sch.get(one).name_hint for one in sch.get_child_blocks("root")] == ["B", "index_0", "C"]
    check_same(sch, text)


@pytest.mark.parametrize("in_order", [False, True])
def test_results_are_copied_back_before_their_first_reader(in_order: bool) -> None:
    text = function(
        "A:8,8 C:8,8",
        """
B = T.alloc_buffer((8, 8), "float32")
D = T.alloc_buffer((8, 8), "float32")
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = A[vi, vj] + 1.0
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] - D[vi, vj]
""",
    )
    sch = tir.Schedule(program(text))
    if in_order:
        sch.reindex_cache_write("B", 0, "local", lambda i, j: (j, i))
    else:
        sch.cache_write("B", 0, "local")
    names = [sch.get(one).name_hint for one in sch.get_child_blocks("root")]
    assert names == ["B", "D", "B_local", "C"]
    check_same(sch, text)


VIEWED = function(
    "A:8,8 C:8,8",
    """
B = T.alloc_buffer((8, 8), "float32")
for i, j in T.grid(8, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        D = T.match_buffer(B[vi, vj], (), offset_factor=1)
        D[()] = A[vi, vj] * 2.0
for i, j in T.grid(8, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        E = T.match_buffer(B[vi, vj], (), offset_factor=1)
        C[vi, vj] = E[()] + 1.0
""",
)


def test_the_dtype_of_views_is_set() -> None:
    sch = tir.Schedule(program(VIEWED))
    sch.unsafe_set_dtype("B", 0, "float64")
    text = sch.mod.script()
    assert 'D[()] = T.Cast("float64", A[vi, vj] * T.float32(2))' in text
    assert 'C[vi, vj] = T.Cast("float32", E[()]) + T.float32(1)' in text
    check_same(sch, VIEWED)


@pytest.mark.parametrize(
    "copied",
    [
        lambda sch: sch.cache_read("D", 0, "local"),
        lambda sch: sch.cache_write("C", 0, "local"),
        lambda sch: sch.set_scope("C", 0, "shared"),
        lambda sch: sch.reindex("D", ("read", 0)),
        lambda sch: sch.reindex_cache_read("D", 0, "local", lambda i, j: (j, i)),
    ],
)
def test_copies_keep_the_groups_of_dimensions(copied: Any) -> None:
    A = te.placeholder((8, 8), name="A")
    C = te.compute((8, 8), lambda i, j: A[i, j] * 2.0, name="C")
    D = te.compute((8, 8), lambda i, j: C[i, j], name="D")
    sch = tir.Schedule(te.create_prim_func([A, D]))
    sch.set_axis_separator("C", ("write", 0), [1])
    copied(sch)
    made = [line for line in sch.mod.script().splitlines() if "alloc_buffer" in line]
    assert made
    assert all("axis_separators=[1]" in line for line in made)
