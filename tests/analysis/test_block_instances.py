"""What `build` refuses of the instances of blocks: values outside of domains, and reductions that
add a value several times or lose their results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.analysis import check
from te_sched.errors import BuildError
from te_sched.script import tir as T


@T.prim_func
def row_sums(A: T.Buffer((6, 24), "float32"), B: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 24):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def windows(A: T.Buffer((64,), "float32"), B: T.Buffer((10,), "float32")):
    for i, k in T.grid(10, 3):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi * 2 + vk]


@T.prim_func
def repeated(A: T.Buffer((6, 24), "float32"), B: T.Buffer((6,), "float32")):
    for i, k, _again in T.grid(6, 24, 2):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def recomputed(A: T.Buffer((6, 24), "float32"), B: T.Buffer((6,), "float32")):
    for _again, i, k in T.grid(2, 6, 24):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def large(A: T.Buffer((2048, 2048), "float32"), B: T.Buffer((1,), "float32")):
    for i, k in T.grid(2048, 2048):
        with T.block("B"):
            vk = T.axis.reduce(2048 * 1024, (i * 2048 + k) // 2)
            with T.init():
                B[0] = T.float32(0)
            B[0] = B[0] + A[vk // 2048, vk % 2048]


def loops(sch: Any, name: str) -> Any:
    """The loops of a block."""
    return sch.get_loops(sch.get_block(name))


def sums(func: Any) -> bool:
    """Whether a program computes the sums of rows."""
    a = np.random.default_rng(0).random((6, 24), "float32")
    result = te_sched.nd.array(np.zeros(6, "float32"))
    te_sched.build(func)(te_sched.nd.array(a), result)
    return np.allclose(result.numpy(), a.sum(1), 1e-5)


def refused(func: Any, match: str) -> None:
    """`build` and `check` refuse a program with a reason."""
    with pytest.raises(BuildError, match=match):
        te_sched.build(func)
    assert match.split("(")[0] in str(check(func))


def test_values_outside_of_domains_are_refused() -> None:
    sch = tir.Schedule(windows)
    sch.split(loops(sch, "B")[1], [None, 2], disable_predication=True)
    refused(sch.mod, "iterator vk of block B leaves its domain")
    te_sched.build(sch.mod, verify=False)


def test_values_added_several_times_are_refused() -> None:
    sch = tir.Schedule(row_sums)
    outer, _ = sch.split(loops(sch, "B")[1], [3, 8])
    sch.split(outer, [2, 2])
    sch.split(loops(sch, "B")[2], [2, 2], disable_predication=True)
    refused(sch.mod, "block B adds some values of its reduction several times")


def test_loops_inside_of_a_reduction_that_repeat_it_are_refused() -> None:
    refused(repeated, "block B adds some values of its reduction several times")
    assert sums(recomputed)


def test_more_iterations_than_values_are_refused() -> None:
    refused(large, "block B adds some values of its reduction several times")


def test_reductions_initialised_in_each_part_are_refused() -> None:
    sch = tir.Schedule(row_sums)
    sch.loop_partition(loops(sch, "B")[1], [8, None])
    refused(sch.mod, "block B_k1 overwrites the results of the reduction B_k0")
    sch.decompose_reduction("B_k1", loops(sch, "B_k1")[0])
    refused(sch.mod, "block B_k1_init overwrites the results of the reduction B_k0")


def test_parts_of_results_are_not_overwritten() -> None:
    sch = tir.Schedule(row_sums)
    sch.loop_partition(loops(sch, "B")[0], [2, None])
    assert sums(sch.mod)
    sch = tir.Schedule(row_sums)
    sch.decompose_reduction("B", loops(sch, "B")[1])
    sch.loop_partition(loops(sch, "B_update")[1], [8, None])
    assert sums(sch.mod)


def test_conditions_of_groups_hold_for_their_blocks() -> None:
    sch = tir.Schedule(row_sums)
    sch.loop_partition(loops(sch, "B")[1], [8, None])
    sch.split(loops(sch, "B_k_common")[0], [None, 4])
    assert "leaves its domain" not in str(check(sch.mod))
