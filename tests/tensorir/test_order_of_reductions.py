"""Reordered reduction loops of blocks whose update depends on the order of its values."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.errors import ScheduleError

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


def split(value: str) -> tuple[tir.Schedule, list]:
    schedule = tir.Schedule(te_sched.script.from_source(UPDATE.format(value=value)))
    i, j = schedule.get_loops("Y")
    return schedule, [i, *schedule.split(j, [4, 4])]


@pytest.mark.parametrize(
    "value", ["Y[vi] * 2 + X[vi, vj]", "X[vi, vj] - Y[vi]", "Y[vi] * vj + X[vi, vj]", "X[vi, vj]"]
)
def test_an_update_that_depends_on_the_order_keeps_its_reduction_loops(value):
    schedule, (i, outer, inner) = split(value)
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
    schedule, (_, outer, inner) = split(value)
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
