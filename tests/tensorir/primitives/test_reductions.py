"""Partial results of reductions: rfactor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import ReductionError, ScheduleError
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL, function

# What TVM 0.19 prints.
FACTORED = """
    C_rf = T.alloc_buffer((8, 8, 4))
    for i, j, k_0, k_1 in T.grid(8, 8, 2, 4):
        with T.block("C_rf"):
            vk_1, vi, vj, vk_0 = T.axis.remap("SSSR", [k_1, i, j, k_0])
            T.reads(A[vi, vk_0 * 4 + vk_1], B[vk_0 * 4 + vk_1, vj])
            T.writes(C_rf[vi, vj, vk_1])
            with T.init():
                C_rf[vi, vj, vk_1] = T.float32(0)
            C_rf[vi, vj, vk_1] = C_rf[vi, vj, vk_1] + PRODUCT
    for i, j, k_1 in T.grid(8, 8, 4):
        with T.block("C"):
            vk_1, vi, vj = T.axis.remap("RSS", [k_1, i, j])
            T.reads(C_rf[vi, vj, vk_1])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + C_rf[vi, vj, vk_1]
"""


def reduction(init: str, update: str, where: str = "", extent: int = 8) -> str:
    """A reduction of the rows of A into B."""
    return function(
        "A:8,8 B:8",
        f"""
for i, k in T.grid({extent}, 8):
    with T.block("B"):
        {where or "pass"}
        vi = T.axis.spatial(8, i)
        vk = T.axis.reduce(8, k)
        with T.init():
            B[vi] = {init}
        B[vi] = {update}
""",
    )


SUM = reduction("0.0", "B[vi] + A[vi, vk]")
ROWS = {
    "sum": (SUM, lambda a: a.sum(1)),
    "reversed sum": (reduction("0.0", "A[vi, vk] + B[vi]"), lambda a: a.sum(1)),
    "product": (reduction("1.0", "B[vi] * A[vi, vk]"), lambda a: a.prod(1)),
    "max": (reduction("0.5", "T.max(B[vi], A[vi, vk])"), lambda a: np.maximum(a.max(1), 0.5)),
    "guarded": (
        reduction("0.0", "B[vi] + A[vi, vk]", "T.where(i < 8)", 10),
        lambda a: a.sum(1),
    ),
}


def run(sch: Any, a: np.ndarray) -> np.ndarray:
    """What a schedule computes."""
    b = np.zeros(8, "float32")
    te_sched.build(sch.mod, target="llvm")(a, b)
    return b


def test_text_is_tvms() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    k_1 = sch.split(sch.get_loops("C")[2], [None, 4])[1]
    partial = sch.rfactor(k_1, -1)
    lines = sch.mod.script().splitlines()
    start = next(place for place, line in enumerate(lines) if "C_rf = " in line)
    found = "\n".join(line[4:] for line in lines[start : start + 17])
    product = "A[vi, vk_0 * 4 + vk_1] * B[vk_0 * 4 + vk_1, vj]"
    assert found.strip() == FACTORED.strip().replace("PRODUCT", product)
    assert sch.get(partial).name_hint == "C_rf"
    assert [loop.name for loop in sch.get_loops(sch.get_block("C"))] == ["i", "j", "k_1"]
    assert "  b6 = sch.rfactor(loop=l5, factor_axis=-1)" in str(sch.trace).splitlines()


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(("outer", "axis"), [(True, 0), (False, 1), (False, -2)])
def test_results(name: str, outer: bool, axis: int) -> None:
    text, expected = ROWS[name]
    sch = tir.Schedule(from_source(GIVEN + text))
    pair = sch.split(sch.get_loops("B")[1], [4, 2])
    sch.rfactor(pair[0 if outer else 1], axis)
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    np.testing.assert_allclose(run(sch, a), expected(a), rtol=1e-5)
    again = tir.Schedule(from_source(GIVEN + text))
    sch.trace.apply_to_schedule(again, False)
    assert again.mod.script() == sch.mod.script()


def test_stated_regions_have_the_new_dimension() -> None:
    sch = tir.Schedule(from_source(reduction("0.0", "B[vi] + A[vi, vk]", "T.writes(B[0:8])")))
    sch.rfactor(sch.get_loops(sch.get_block("B"))[1], 1)
    assert "T.writes(B_rf[0:8, vk])" in sch.mod.script()


def test_partial_results_in_parallel() -> None:
    sch = tir.Schedule(from_source(GIVEN + SUM))
    i, k = sch.get_loops("B")
    sch.reorder(k, i)
    partial = sch.rfactor(k, 0)
    sch.parallel(sch.get_loops(partial)[0])
    assert sch.get(partial).init is None
    a = np.random.default_rng(0).random((8, 8), dtype="float32")
    np.testing.assert_allclose(run(sch, a), a.sum(1), rtol=1e-5)


def test_a_start_that_counts_several_times_is_refused() -> None:
    text = reduction("1.0", "B[vi] + A[vi, vk]")
    sch = tir.Schedule(from_source(GIVEN + text))
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=r"its initial value is T.float32\(1\)"):
        sch.rfactor(sch.get_loops("B")[1], 0)
    assert sch.mod.script() == before
    sch.bind(sch.get_loops("B")[1], "threadIdx.x")
    with pytest.raises(ReductionError, match=r"its initial value is T.float32\(1\)"):
        te_sched.lower(sch.mod)


def test_partial_results_of_a_number() -> None:
    text = function(
        "A:8",
        """
B = T.alloc_buffer((), "float32")
for k in range(8):
    with T.block("B"):
        vk = T.axis.reduce(8, k)
        with T.init():
            B[()] = 0.0
        B[()] = B[()] + A[vk]
""",
    )
    sch = tir.Schedule(from_source(GIVEN + text))
    sch.rfactor(sch.get_loops("B")[0], 0)
    assert "B_rf = T.alloc_buffer((8,))" in sch.mod.script()
    result, partial = sch.get(sch.get_block("root")).alloc_buffers
    assert partial.elem_offset.dtype == result.elem_offset.dtype == "int64"  # as in TVM


def test_iterations_outside_of_a_domain_are_refused() -> None:
    sch = tir.Schedule(from_source(SUM))
    _, k_1 = sch.split(sch.get_loops("B")[1], [None, 3], disable_predication=True)
    with pytest.raises(ScheduleError, match="vk has values up to 8, and its domain ends at 7"):
        sch.rfactor(k_1, factor_axis=0)
