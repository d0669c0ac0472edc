"""Default schedules beside what a search found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import IRModule, nd, te, topi
from te_sched.meta_schedule import database, default_schedules
from te_sched.meta_schedule.tune_context import TuneContext
from te_sched.target import Target
from te_sched.tir import Schedule

LLVM = Target("llvm")
X, W = (
    np.random.default_rng(0).uniform(-1, 1, shape).astype("float32")
    for shape in ((24, 48), (48, 40))
)


def _task(target: Target = LLVM) -> Any:
    a, b = te.placeholder(X.shape, name="A"), te.placeholder(W.shape, name="B")
    func = te.create_prim_func([a, b, topi.nn.relu(topi.nn.matmul(a, b))])
    module = IRModule({"main": func.with_attr("layout_free_buffers", [1])})
    return TuneContext(module, target=target, task_name="main")


def _with_record(task: Any, seconds: float) -> database.MemoryDatabase:
    """A database with a record of loops as they are."""
    records = database.MemoryDatabase()
    workload = records.commit_workload(task.mod)
    trace = Schedule(task.mod).trace
    records.commit_tuning_record(database.TuningRecord(trace, workload, [seconds], LLVM))
    return records


def test_default_schedule_is_kept_where_a_search_found_nothing_faster() -> None:
    task = _task()
    records = _with_record(task, 1e-3)
    default_schedules.keep_faster_defaults(records, [task])
    found = records.query_tuning_record(task.mod, LLVM, "main")
    assert found is not None
    assert found.mean < 1e-3
    scheduled = found.schedule().mod
    assert "T.vectorized" in str(scheduled)
    out = nd.empty((24, 40))
    te_sched.build(scheduled, target="llvm")["main"](nd.array(X), nd.array(W), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(X @ W, 0), rtol=1e-5, atol=1e-5)


def test_default_schedule_is_the_record_of_a_task_without_any() -> None:
    task, records = _task(), database.MemoryDatabase()
    default_schedules.keep_faster_defaults(records, [task])
    assert len(records) == 1


@pytest.mark.parametrize(("taken", "count"), [([2.0, 1.0], 1), ([1.0, 4.0], 2)])
def test_default_schedule_is_measured_beside_the_fastest(
    monkeypatch: Any, taken: list[float], count: int
) -> None:
    monkeypatch.setattr(default_schedules, "least_in_turn", lambda calls: taken)
    task = _task()
    records = _with_record(task, 1e-3)
    default_schedules.keep_faster_defaults(records, [task])
    assert len(records) == count
    assert min(one.mean for one in records.get_all_tuning_records()) == 1e-3 / (count**2)


def test_other_targets_have_no_default_schedule() -> None:
    records = database.MemoryDatabase()
    default_schedules.keep_faster_defaults(records, [_task(Target("cuda -arch=sm_80"))])
    assert len(records) == 0
