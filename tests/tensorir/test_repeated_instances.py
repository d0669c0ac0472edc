"""Blocks of which instances are repeated, counted or without readers, and that compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import TeSchedError
from tests.tensorir.programs import function, program

FILL = """
for i in range(8):
    with T.block("start"):
        vi = T.axis.spatial(8, i)
        B[vi] = 0.0
"""


def updated(value: str) -> str:
    """B begins with 0; rows 4 to 7 of A update it twice."""
    return function(
        "A:8,4 B:8",
        FILL
        + f"""
for i, j, k in T.grid(2, 8, 4):
    with T.block("B"):
        vi = T.axis.spatial(8, i * 4 + j)
        vk = T.axis.reduce(4, k)
        T.where(i * 4 + j < 8)
        B[vi] = {value}
""",
    )


@pytest.mark.parametrize("name", ["max", "min"])
def test_repeated_extrema_are_built(name: str) -> None:
    array = np.random.default_rng(0).standard_normal((8, 4)).astype("float32")
    result = np.zeros(8, "float32")
    te_sched.build(program(updated(f"T.{name}(B[vi], A[vi, vk])")))(array, result)
    expected = getattr(array, name)(1)
    np.testing.assert_array_equal(result, getattr(np, f"{name}imum")(expected, 0))


@pytest.mark.parametrize("value", ["B[vi] + A[vi, vk]", "T.max(B[vi], B[vi] + A[vi, vk])"])
def test_repeated_updates_are_refused(value: str) -> None:
    with pytest.raises(TeSchedError, match="several times"):
        te_sched.build(program(updated(value)))


def test_results_of_reductions_may_be_overwritten_by_other_values() -> None:
    func = program(
        function(
            "A:8,4 B:8",
            """
for i, k in T.grid(8, 4):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 0.0
        B[vi] = B[vi] + A[vi, vk]
"""
            + FILL,
        )
    )
    result = np.ones(8, "float32")
    te_sched.build(func)(np.ones((8, 4), "float32"), result)
    np.testing.assert_array_equal(result, np.zeros(8))
