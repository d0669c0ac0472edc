"""Copies in an order given by the iterators of a block: reindex_cache_read, reindex_cache_write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.ir import structural_equal
from tests.tensorir.programs import MATMUL, STAGES, program

# What TVM 0.19 prints.
READ = """
    for i, j in T.grid(8, 8):
        with T.block("B_local"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(B_local[vj, vi // 2, vi % 2])
            B_local[vj, vi // 2, vi % 2] = B[vi, vj]
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B_local[vj, vi // 2, vi % 2])
            T.writes(C[vi, vj])
            C[vi, vj] = B_local[vj, vi // 2, vi % 2] + T.float32(1)
"""
WRITTEN = """
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C_global[vj * 9 + vi])
            with T.init():
                C_global[vj * 9 + vi] = T.float32(0)
            C_global[vj * 9 + vi] = C_global[vj * 9 + vi] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(8, 8):
        with T.block("C_global"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C_global[vj * 9 + vi])
            T.writes(C[vi, vj])
            C[vi, vj] = C_global[vj * 9 + vi]
"""


def check_same(sch: Any, text: str) -> None:
    """A schedule computes what its program does, and its JSON replays."""
    results = []
    for module in (program(text), sch.mod):
        rng = np.random.default_rng(0)
        arrays = [rng.random((8, 8), dtype="float32") for _ in range(2 + (text is MATMUL))]
        te_sched.build(module, target="llvm")(*arrays)
        results.append(arrays[-1])
    np.testing.assert_allclose(*results, rtol=1e-6)
    again = tir.Schedule(program(text))
    sch.trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert structural_equal(again.mod, sch.mod)
    assert str(again.trace) == str(sch.trace)


def test_text_of_a_copy_that_is_read() -> None:
    sch = tir.Schedule(program(STAGES))
    sch.reindex_cache_read("C", 0, "local", lambda i, j: (j, i // 2, i % 2))
    assert READ in sch.mod.script().replace("\n    ", "\n") + "\n"
    assert (
        'b1 = sch.reindex_cache_read(block=b0, read_buffer_index=0, storage_scope="local", '
        "index_map=lambda i, j: (j, i // 2, i % 2,))"
    ) in str(sch.trace)
    check_same(sch, STAGES)


def test_text_of_a_copy_that_is_written() -> None:
    sch = tir.Schedule(program(MATMUL))
    sch.reindex_cache_write("C", 0, "global", lambda i, j, k: j * 9 + i)
    assert WRITTEN in sch.mod.script().replace("\n    ", "\n")
    check_same(sch, MATMUL)


def _split_unevenly(sch: Any) -> None:
    sch.split(sch.get_loops("B")[0], [None, 3])


def _compute_at(sch: Any) -> None:
    sch.compute_at("B", sch.get_loops("C")[0])


def _fuse(sch: Any) -> None:
    sch.fuse(*sch.get_loops("B"))


@pytest.mark.parametrize("before", [_split_unevenly, _compute_at, _fuse])
@pytest.mark.parametrize("name", ["reindex_cache_read", "reindex_cache_write"])
@pytest.mark.parametrize(
    "order", [lambda i, j: (j, i), lambda i, j: (i // 3, j, i % 3), lambda i, j: (i * 10 + j,)]
)
def test_results(before: Callable[[Any], None], name: str, order: Any) -> None:
    sch = tir.Schedule(program(STAGES))
    before(sch)
    getattr(sch, name)("B", 0, "global", order)
    check_same(sch, STAGES)


def test_the_loops_of_a_copy_are_those_on_which_it_depends() -> None:
    sch = tir.Schedule(program(MATMUL))
    copy = sch.reindex_cache_read("C", 1, "shared", lambda i, j, k: (j, k))
    assert [loop.name for loop in sch.get_loops(copy)] == ["j", "k"]
    check_same(sch, MATMUL)


def test_a_copy_has_the_condition_of_the_block() -> None:
    sch = tir.Schedule(program(STAGES))
    _split_unevenly(sch)
    copy = sch.reindex_cache_write("B", 0, "global", lambda i, j: (j, i))
    assert "T.where(i_0 * 3 + i_1 < 8)" in sch.mod.script().split('T.block("B_global")')[1]
    assert sch.get(copy).name_hint == "B_global"
