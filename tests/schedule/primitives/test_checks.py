"""What primitives demand of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te
from te_sched.errors import ScheduleError
from te_sched.ir.expr import IntImm
from te_sched.schedule.primitives import checks
from tests.schedule.programs import chain, product


def test_names_in_a_sentence() -> None:
    p = product()
    assert checks.names([p.k, p.C, p.C.op]) == "k, C, C"
    assert checks.names([]) == "none"


@pytest.mark.parametrize("value", [3, np.int64(3), IntImm(3), te.const(3, "int8")])
def test_integers_of_any_kind(value: Any) -> None:
    stage = chain().s.stages[1]
    assert checks.integer(value, "storage_align offset", stage) == 3
    made = checks.positive_integer(value, "factor", "split", stage, stage.op.axis[0])
    assert isinstance(made, IntImm)
    assert made.value == 3


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (True, "must be an integer, got True"),
        (0, "at least 1"),
        (4.0, "for example 4"),
        (float("inf"), "got inf"),
        ([4], r"factor of axis i must be an expression, got \[4\]"),
        (te.placeholder((1,), "int32", name="N")[0], "reads data"),
        (te.reduce_axis((0, 4), name="r"), r"^split factor of axis i is axis r\n"),
        (te.thread_axis((0, 4), "threadIdx.x"), r"^split factor of axis i is axis threadIdx\.x\n"),
    ],
)
def test_positive_integer_rejects(value: Any, why: str) -> None:
    stage = chain().s.stages[1]
    with pytest.raises(ScheduleError, match=why):
        checks.positive_integer(value, "factor", "split", stage, stage.op.axis[0])


def test_positive_integer_rejects_axes_of_the_stage() -> None:
    p = product()
    i, j = p.C.op.axis
    for factor, read in ((j, "j"), (j * 2, "j"), (j * i, "i")):
        with pytest.raises(ScheduleError, match=f"reads axis {read} of the same stage"):
            p.s[p.C].split(i, factor=factor)
    p.s[p.C].split(i, factor=te.var("n"))


def test_positive_integer_knows_how_far_an_axis_counts() -> None:
    p = chain()
    stage, axis = p.s[p.C], p.C.op.axis[0]
    with pytest.raises(ScheduleError, match="at most 2147483647"):
        checks.positive_integer(2**31, "factor", "split", stage, axis)


def test_leaves_are_found_by_place() -> None:
    p = product()
    assert checks.leaf_position(p.s[p.C], p.k, "unroll") == 2
    p.s[p.C].split(p.k, 4)
    with pytest.raises(ScheduleError, match="<-- comes from k"):
        checks.leaf_position(p.s[p.C], p.k, "unroll")


@pytest.mark.parametrize("scope", ["shared", "shared.dyn", "wmma.matrix_a", "global"])
def test_scopes_may_have_tags(scope: str) -> None:
    assert checks.check_scope(scope, "set_scope", "") == scope


@pytest.mark.parametrize("scope", ["", "sharde", 3])
def test_scopes_that_are_none(scope: Any) -> None:
    with pytest.raises(ScheduleError, match="unknown storage scope"):
        checks.check_scope(scope, "set_scope", "")
    assert checks.check_scope("", "set_scope", "", is_empty_allowed=True) == ""


def test_truth_values() -> None:
    assert checks.flag(1, "create_group include_inputs") is True
    with pytest.raises(ScheduleError, match="must be True or False"):
        checks.flag(np.zeros(3), "create_group include_inputs")
