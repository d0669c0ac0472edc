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
from te_sched.analysis.programs import block_instances
from te_sched.errors import BuildError
from te_sched.script import from_source
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


@T.prim_func
def initialized_inside(A: T.Buffer((6, 24), "float32"), B: T.Buffer((6,), "float32")):
    for i, ko in T.grid(6, 4):
        with T.block("outer"):
            vi, vo = T.axis.remap("SR", [i, ko])
            with T.init():
                B[vi] = T.float32(0)
            for k in range(6):
                with T.block("inner"):
                    vj = T.axis.spatial((vi, vi + 1), vi)
                    vp = T.axis.reduce((vo, vo + 1), vo)
                    vk = T.axis.reduce(6, k)
                    with T.init():
                        B[vj] = T.float32(0)
                    B[vj] = B[vj] + A[vj, vp * 6 + vk]


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


def test_reductions_initialized_in_each_part_are_refused() -> None:
    sch = tir.Schedule(row_sums)
    sch.loop_partition(loops(sch, "B")[1], [8, None])
    refused(sch.mod, "block B_k1 overwrites the results of the reduction B_k0")
    sch.decompose_reduction("B_k1", loops(sch, "B_k1")[0])
    refused(sch.mod, "block B_k1_init overwrites the results of the reduction B_k0")


def test_a_part_of_a_reduction_that_is_blockized_and_begins_again_is_refused() -> None:
    sch = tir.Schedule(row_sums)
    _, second = sch.loop_partition(loops(sch, "B")[1], [8, None])
    sch.blockize(second)
    refused(sch.mod, "block B_k1_o overwrites the results of the reduction B_k0")


def test_a_reduction_that_is_initialized_inside_again_is_refused() -> None:
    refused(initialized_inside, "block inner sets what the reduction outer has accumulated")
    text = initialized_inside.script()
    again = text.rindex("with T.init():")
    end = text.index("\n", text.index("T.float32(0)", again))
    once = text[:again] + "pass" + text[end:]
    assert sums(from_source(once))


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


@T.prim_func
def halo(A: T.Buffer((10, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((10,), "float32")
    for o in range(4):
        for i, k in T.grid(4, 4):
            with T.block("B"):
                vi = T.axis.spatial(10, o * 2 + i)
                vk = T.axis.reduce(4, k)
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
        for i in range(2):
            with T.block("C"):
                vi = T.axis.spatial(8, o * 2 + i)
                C[vi] = B[vi] + B[vi + 2]


@T.prim_func
def doubled(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    for k, i in T.grid(4, 16):
        with T.block("B"):
            vi = T.axis.spatial(8, i // 2)
            vk = T.axis.reduce(4, k)
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@pytest.mark.parametrize("decomposed", [False, True])
def test_a_reduction_may_be_computed_several_times_from_its_begin(decomposed: bool) -> None:
    sch = tir.Schedule(halo)
    if decomposed:
        sch.decompose_reduction("B", sch.get_loops("B")[1])
    a, c = np.random.default_rng(0).random((10, 4), "float32"), np.zeros(8, "float32")
    te_sched.build(sch.mod)(a, c)
    sums = a.sum(axis=1)
    np.testing.assert_allclose(c, sums[:8] + sums[2:], rtol=1e-5)


def test_a_reduction_that_is_repeated_after_its_begin_is_refused() -> None:
    with pytest.raises(BuildError, match="adds some values of its reduction several times"):
        te_sched.build(doubled)


def test_a_reduction_that_is_initialized_once_is_not_repeated() -> None:
    sch = tir.Schedule(halo)
    sch.decompose_reduction("B", sch.get_loops("B")[0])
    with pytest.raises(BuildError, match="adds some values of its reduction several times"):
        te_sched.build(sch.mod)


def test_nested_loops_over_the_same_threads_are_refused() -> None:
    sch = tir.Schedule(row_sums)
    outer, inner = sch.split(loops(sch, "B")[0], [3, 3])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "blockIdx.x")
    with pytest.raises(
        BuildError,
        match=r"loops \w+ and \w+ around block B are bound to the same threads, blockIdx.x",
    ):
        te_sched.build(sch.mod, target="cuda")


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_of_a_part_of_a_reduction_are_not_overwritten(copies: int) -> None:
    sch = tir.Schedule(row_sums)
    sch.loop_partition(loops(sch, "B")[1], [8, None])
    block = sch.get_block("B_k0")
    for _ in range(copies):
        block = sch.cache_write(block, 0, "global")
    refused(sch.mod, "block B_k1 overwrites the results of the reduction B_k0")


UNITS = """
@T.prim_func
def main(A: T.Buffer((6, 24), "{dtype}"), B: T.Buffer((6,), "{dtype}")):
    for i, k, u in T.grid(6, 24, 7):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.where({condition})
            with T.init():
                B[vi] = T.{dtype}(0)
            B[vi] = B[vi] + A[vi, vk]
"""


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "float16"])
@pytest.mark.parametrize("condition", ["u < 1", "u == 3", "u * 2 + 1 > 12", "u < 1 and i < 9"])
def test_loops_of_one_iteration_repeat_nothing(condition: str, dtype: str) -> None:
    func = from_source(UNITS.format(condition=condition, dtype=dtype))
    a, b = np.arange(144).reshape(6, 24).astype(dtype) % 5, np.ones(6, dtype)
    te_sched.build(func)(a, b)
    np.testing.assert_array_equal(b, a.sum(axis=1, dtype=dtype))


@pytest.mark.parametrize("condition", ["u < 2", "u != 3", "u + k < 30"])
def test_loops_of_several_iterations_are_refused(condition: str) -> None:
    refused(
        from_source(UNITS.format(condition=condition, dtype="float32")),
        "block B adds some values of its reduction several times",
    )


@pytest.mark.parametrize("factors", [[7, None], [None, 7], [2, None, 3]])
def test_a_unit_loop_that_is_split_repeats_nothing(factors: list[int | None]) -> None:
    sch = tir.Schedule(row_sums)
    sch.split(sch.add_unit_loop("B"), factors)
    assert sums(sch.mod)
    sch.decompose_reduction("B", loops(sch, "B")[1])
    assert sums(sch.mod)


@T.prim_func
def fused(A: T.Buffer((64, 48), "float32"), B: T.Buffer((64, 48), "float32")):
    for f in range(3072):
        with T.block("B"):
            vi = T.axis.spatial(64, f // 48)
            vj = T.axis.spatial(48, f % 48)
            B[vi, vj] = A[vi, vj] + T.float32(1)


def test_bounds_of_loops_prove_domains_without_an_execution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(block_instances, "Execution", None)
    assert block_instances.judge_blocks(fused) == []
    monkeypatch.undo()
    values = np.arange(64 * 48, dtype="float32").reshape(64, 48)
    result = np.zeros_like(values)
    te_sched.build(fused)(values, result)
    np.testing.assert_array_equal(result, values + 1)
