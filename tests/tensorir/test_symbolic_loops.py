"""Loops of symbolic extents: conditions that always hold are not printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN

COPY = """
@T.prim_func
def main(x: T.handle, y: T.handle, n: T.int32):
    X = T.match_buffer(x, (n * 32,))
    Y = T.match_buffer(y, (n * 32,))
    for k in range(n * 32):
        with T.block("Y"):
            vk = T.axis.spatial(n * 32, k)
            Y[vk] = X[vk] + 1.0
"""
ROWS = """
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (4, n))
    C = T.match_buffer(b, (4, n))
    B = T.alloc_buffer((4, n))
    for f in range(n * 4):
        with T.block("B"):
            v0 = T.axis.spatial(4, f // n)
            v1 = T.axis.spatial(n, f % n)
            B[v0, v1] = A[v0, v1] * 2.0
    for f in range(n * 4):
        with T.block("C"):
            v0 = T.axis.spatial(4, f // n)
            v1 = T.axis.spatial(n, f % n)
            C[v0, v1] = B[v0, v1] + 1.0
"""


# As TVM 0.19: a product of a loop and a symbol keeps its condition.
@pytest.mark.parametrize(
    ("factors", "condition"),
    [
        ([None, 32], ""),
        ([None, 4, 8], ""),
        ([None, 3], "k_0 * 3 + k_1 < n * 32"),
        ([32, None], "k_0 * n + k_1 < n * 32"),
    ],
)
def test_split_loops_have_a_condition_if_it_may_not_hold(
    factors: list[Any], condition: str
) -> None:
    sch = tir.Schedule(from_source(GIVEN + COPY))
    sch.split(sch.get_loops("Y")[0], factors)
    text = sch.mod.script()
    assert f"T.where({condition})" in text if condition else "T.where" not in text
    x = np.arange(96, dtype="float32")
    y = np.zeros(96, "float32")
    te_sched.build(sch.mod, target="llvm")(x, y, 3)
    np.testing.assert_array_equal(y, x + 1)


def test_a_cache_is_moved_below_a_loop_of_symbolic_extent() -> None:
    sch = tir.Schedule(from_source(GIVEN + COPY))
    outer, _ = sch.split(sch.get_loops("Y")[0], [None, 32])
    sch.compute_at(sch.cache_read("Y", 0, "global"), outer)
    assert "T.where" not in sch.mod.script()
    x = np.arange(64, dtype="float32")
    y = np.zeros(64, "float32")
    te_sched.build(sch.mod, target="llvm")(x, y, 2)
    np.testing.assert_array_equal(y, x + 1)


def test_parts_of_a_fused_loop_of_symbolic_extent_are_in_their_domains() -> None:
    sch = tir.Schedule(from_source(GIVEN + ROWS))
    sch.reverse_compute_at("C", sch.get_loops("B")[0], preserve_unit_loops=True)
    text = sch.mod.script()
    assert "v0 = T.axis.spatial(4, f // n + ax0)" in text
    assert "T.where" not in text  # an iteration of f has n > 0
    a = np.random.default_rng(0).random((4, 5), dtype="float32")
    c = np.zeros((4, 5), "float32")
    te_sched.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_allclose(c, a * 2 + 1)


def test_loops_without_iterations_are_fused() -> None:
    source = """
@T.prim_func
def main(x: T.handle, n: T.int32):
    X = T.match_buffer(x, (n, 0, 3))
    for i, j, k in T.grid(n, 0, 3):
        with T.block("X"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            X[vi, vj, vk] = 1.0
"""
    sch = tir.Schedule(from_source(GIVEN + source))
    sch.fuse(*sch.get_loops("X"))
    function = te_sched.build(sch.mod, target="llvm")
    function(np.zeros((2, 0, 3), "float32"), 2)
