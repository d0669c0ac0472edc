"""Operators and their schedules share a configuration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.autotvm.task import topi_integration
from te_sched.autotvm.task.dispatcher import ApplyConfig
from te_sched.autotvm.task.task import create
from te_sched.errors import TeSchedError
from tests.autotvm.task.scaled import scaled


@topi_integration.register_topi_schedule("tests/scaled.topi")
def schedule_scaled(cfg: Any, outs: list[te.Tensor]) -> Any:
    s = te.create_schedule([one.op for one in outs])
    axis = outs[0].op.axis[0]
    cfg.define_split("tile", axis, num_outputs=2)
    cfg["tile"].apply(s, outs[0], axis)
    return s


def test_an_operator_and_its_schedule_share_a_configuration() -> None:
    A = te.placeholder((8,), name="A")
    task = create("tests/scaled.topi", (A,), "llvm")
    assert len(task.config_space) == 4
    workload = ("tests/scaled.topi", ("TENSOR", (8,), "float32"))
    assert task.workload == workload
    B = scaled(A)
    assert topi_integration.get_workload([te.compute((8,), lambda i: B[i] + 1.0)]) == workload
    with ApplyConfig(task.config_space.get(2)):
        s = schedule_scaled([B])
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    te_sched.build(s, [A, B])(a, b)
    np.testing.assert_array_equal(b, a * 2)


def test_a_schedule_rejects_operators_of_other_tasks() -> None:
    A = te.placeholder((8,), name="A")
    with pytest.raises(TeSchedError, match=r"do not come from task tests/scaled\.topi"):
        schedule_scaled([te.compute((8,), lambda i: A[i], name="B")])


def test_workloads_are_found_by_the_name_of_their_task() -> None:
    B = scaled(te.placeholder((8,), name="A"))
    C = te.compute((8,), lambda i: scaled(B)[i] + B[i], name="C")
    assert topi_integration.get_workload(C, "tests/scaled.topi")[1] == ("TENSOR", (8,), "float32")
    assert topi_integration.get_workload(C, "tests/other.topi") is None
