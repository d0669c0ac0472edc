"""Loops that are split, fused and reordered, also of symbolic extents and of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES, function, program
from tests.tensorir.schedules import check_same, scheduled

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


UPDATE = """
from tvm.script import tir as T
@T.prim_func
def main(X: T.Buffer((4, 16), "int32"), Y: T.Buffer((4,), "int32")):
    for i, j in T.grid(4, 16):
        with T.block("Y"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                Y[vi] = 0
            Y[vi] = {value}
"""


def split_reduction(value: str) -> tuple[tir.Schedule, list]:
    schedule = tir.Schedule(te_sched.script.from_source(UPDATE.format(value=value)))
    i, j = schedule.get_loops("Y")
    return schedule, [i, *schedule.split(j, [4, 4])]


@pytest.mark.parametrize(
    "value", ["Y[vi] * 2 + X[vi, vj]", "X[vi, vj] - Y[vi]", "Y[vi] * vj + X[vi, vj]", "X[vi, vj]"]
)
def test_an_update_that_depends_on_the_order_keeps_its_reduction_loops(value):
    schedule, (i, outer, inner) = split_reduction(value)
    schedule.reorder(outer, i)  # rows change places, not values
    before = schedule.mod.script()
    with pytest.raises(ScheduleError, match="cannot reorder the reduction loops of block Y"):
        schedule.reorder(inner, outer)
    assert schedule.mod.script() == before


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Y[vi] - X[vi, vj]", lambda x: -x.sum(1)),
        ("T.max(Y[vi], X[vi, vj])", lambda x: np.maximum(x.max(1), 0)),
        ("Y[vi] + X[vi, vj] * vj", lambda x: (x * np.arange(16)).sum(1)),
    ],
)
def test_updates_that_commute_are_reordered_and_right(value, expected):
    schedule, (_, outer, inner) = split_reduction(value)
    schedule.reorder(inner, outer)
    x = np.random.default_rng(0).integers(-9, 9, (4, 16), "int32")
    y = np.zeros(4, "int32")
    te_sched.build(schedule.mod, target="llvm")(x, y)
    np.testing.assert_array_equal(y, expected(x))


def test_blocks_of_several_statements_are_not_judged():
    source = UPDATE.format(value="X[vi, vj]\n            Y[vi] = Y[vi] + 1")
    schedule = tir.Schedule(te_sched.script.from_source(source))
    i, j = schedule.get_loops("Y")
    schedule.reorder(j, i)


def test_reduction_loops_of_a_count_are_reordered() -> None:
    sch = tir.Schedule(
        program(
            function(
                "B:8",
                """
for i, k, l in T.grid(8, 3, 5):
    with T.block("B"):
        vi, vk, vl = T.axis.remap("SRR", [i, k, l])
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + 1.0
""",
            )
        )
    )
    _, k, l = sch.get_loops("B")  # noqa: E741
    sch.reorder(l, k)
    result = np.zeros(8, "float32")
    te_sched.build(sch.mod)(result)
    np.testing.assert_array_equal(result, np.full(8, 15, "float32"))


def updated_by_a_loop(value: str) -> tir.Schedule:
    """B is updated in 3 iterations of j, which no iterator of its block has."""
    return tir.Schedule(program(OTHERS["updated by a loop"].replace("B[vi] + A[vi]", value)))


@pytest.mark.parametrize(
    ("value", "factors"),
    [
        ("B[vi] + A[vi]", [1, 3]),
        ("B[vi] + A[vi]", [3, None]),
        ("A[vi] * 2.0", [2, 2]),
        ("T.max(A[vi], B[vi])", [2, 2]),
    ],
)
def test_loops_without_iterators_are_split(value: str, factors: list[int | None]) -> None:
    sch = updated_by_a_loop(value)
    sch.split(sch.get_loops("B")[0], factors, disable_predication=True)
    array, result = np.arange(8, dtype="float32"), np.ones(8, "float32")
    te_sched.build(sch.mod)(array, result)
    expected = {"B": array * 3 + 1, "A": array * 2, "T": np.maximum(array, 1)}[value[0]]
    np.testing.assert_array_equal(result, expected)


def test_more_iterations_of_an_update_are_refused() -> None:
    sch = updated_by_a_loop("B[vi] + A[vi]")
    with pytest.raises(ScheduleError, match=r"cannot split loop j .* they repeat block B"):
        sch.split(sch.get_loops("B")[0], [2, 2], disable_predication=True)
    sch.split(sch.get_loops("B")[0], [2, 2])
    array, result = np.arange(8, dtype="float32"), np.ones(8, "float32")
    te_sched.build(sch.mod)(array, result)
    np.testing.assert_array_equal(result, array * 3 + 1)


def test_a_fused_loop_of_one_iteration_is_its_value() -> None:
    sch = tir.Schedule(program(STAGES.replace("8", "1")))
    sch.fuse(sch.get_loops("C")[0])
    assert "vi = T.axis.spatial(1, 0)" in sch.mod.script()


def test_reordered_and_fused_loops_compute_the_same() -> None:
    sch = scheduled(MATMUL)
    i, j, k = sch.get_loops("C")
    k_0, k_1 = sch.split(k, [None, 3])
    sch.reorder(k_1, i)
    fused = sch.fuse(k_1, j)
    assert [loop.name for loop in sch.get_loops("C")] == ["k_1_j_fused", "k_0", "i"]
    assert (sch.get(fused).extent, sch.get(k_0).extent) == (24, 3)
    check_same(sch, MATMUL)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sch.split(i, [None, None])", "2 split factors of loop i are None"),
        ("sch.split(i, [2, 2])", "have the product 4, and it has 8 iterations"),
        ("sch.split(i, [])", "split factors of loop i must be a list"),
        ("sch.fuse()", "fuse needs a loop, got none"),
        ("sch.fuse(i, k)", "cannot fuse loops i and k"),
        ("sch.fuse(j, i)", "cannot fuse loops j and i"),
        ("sch.reorder(i, i)", "loop i is given twice to reorder"),
        ("sch.reorder(i, sch.get_loops('D')[0])", "is not inside of i \\(around block D"),
    ],
)
def test_loops_reject(code: str, message: str) -> None:
    sch = scheduled(MATMUL)
    i, j, k = sch.get_loops("C")
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": sch, "i": i, "j": j, "k": k})
    assert sch.mod.script() == before


def test_unit_loops_are_around_a_block_or_loop() -> None:
    sch = scheduled(STAGES)
    sch.add_unit_loop("B")
    sch.add_unit_loop(sch.get_loops("C")[0])
    extents = [[int(sch.get(loop).extent) for loop in sch.get_loops(name)] for name in "BC"]
    assert extents == [[8, 8, 1], [1, 8, 8]]
