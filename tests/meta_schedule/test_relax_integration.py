"""Tuning the functions of a graph: its tasks, and applying records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from te_sched import IRModule, nd, relax, te, tir, topi
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import database, graph_tuning_passes, relax_integration
from te_sched.meta_schedule.default_gpu_schedule import DefaultGPUSchedule
from te_sched.meta_schedule.tune_context import normalized_module
from te_sched.target import Target
from te_sched.tir import Schedule


def graph() -> IRModule:
    """Two equal additions and a ReLU."""
    x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit_te(topi.add, x, x)
        y = builder.emit_te(topi.nn.relu, y)
        y = builder.emit_te(topi.add, y, y)
        builder.emit_func_output(y)
    return builder.get()


def test_tasks_are_the_functions_that_are_called_with_their_counts() -> None:
    tasks = relax_integration.extract_tasks(graph(), "llvm")
    assert {one.task_name: one.weight for one in tasks} == {"add": 2, "relu": 1}
    contexts, weights = relax_integration.extracted_tasks_to_tune_contexts(tasks, "", seed=1)
    assert [one.task_name for one in contexts] == [one.task_name for one in tasks]
    assert sorted(weights) == [1.0, 2.0]


def test_records_schedule_the_functions_that_they_fit() -> None:
    module, target = graph(), Target("llvm")
    (task,) = [
        one for one in relax_integration.extract_tasks(module, target) if one.task_name == "add"
    ]
    sch = Schedule(task.mod)
    sch.vectorize(sch.get_loops(sch.get_block("T_add"))[0])
    records = database.MemoryDatabase()
    workload = records.commit_workload(task.mod)
    records.commit_tuning_record(database.TuningRecord(sch.trace, workload, [1e-6], target))
    with records, target, pytest.warns(UserWarning, match="no record of relu"):
        applied = relax.transform.MetaScheduleApplyDatabase(enable_warning=True)(module)
    assert "T.vectorized" in str(applied["add"])
    assert "T.vectorized" not in str(applied["relu"])
    built = relax_integration.compile_relax(records, module, target)
    data = np.arange(-4, 4).astype("float32")
    found = relax.VirtualMachine(built, nd.cpu())["main"](nd.array(data)).numpy()
    np.testing.assert_allclose(found, 2 * np.maximum(2 * data, 0))


def test_functions_are_applied_as_their_pass_tunes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass that tunes functions records them as the pass that applies records looks them up."""

    def search(mod: Any, target: Target, folder: Path, trials: int, **options: Any) -> None:
        sch = Schedule(normalized_module(mod))
        sch.vectorize(sch.get_loops(sch.get_block("T_add"))[0])
        records = database.JSONDatabase(work_dir=str(folder))
        workload = records.commit_workload(normalized_module(mod))
        records.commit_tuning_record(database.TuningRecord(sch.trace, workload, [1e-6], target))
        tasks.append((options["task_name"], trials))

    tasks: list[tuple[str, int]] = []
    monkeypatch.setattr(graph_tuning_passes, "tune_tir", search)
    module = graph()
    module["relu"] = module["relu"].with_attr("tir.is_scheduled", True)
    with Target("llvm"):
        assert relax.transform.MetaScheduleTuneTIR(tmp_path, 3)(module) is module
        applied = relax.transform.MetaScheduleApplyDatabase(tmp_path)(module)
    assert tasks == [("add", 3)]
    assert "T.vectorized" in str(applied["add"])


@pytest.mark.parametrize("benchmark", [False, True])
def test_few_schedules_are_drawn(benchmark: bool) -> None:
    module = graph()
    n = tir.Var("n", "int64")
    A = te.placeholder((n,), name="A")
    module["symbolic"] = te.create_prim_func([A, te.compute((n,), lambda i: A[i] * 2.0)])
    with Target("llvm -num-cores=2"):
        drawn = relax.transform.FewShotTuning(valid_count=2, benchmark=benchmark)(module)
        again = relax.transform.FewShotTuning()(drawn)
    assert [name for name, one in drawn.functions_items() if one.attrs.get("tir.is_scheduled")] == [
        *("add", "relu")
    ]
    assert all(one is drawn[name] for name, one in again.functions_items())
    assert "T.parallel" in str(drawn["add"]) or "T.vectorized" in str(drawn["add"])
    data = np.arange(-4, 4).astype("float32")
    del drawn["symbolic"]
    built = relax.build(drawn, "llvm")
    found = relax.VirtualMachine(built, nd.cpu())["main"](nd.array(data)).numpy()
    np.testing.assert_allclose(found, 2 * np.maximum(2 * data, 0))


def test_loops_are_bound_to_threads_for_a_gpu() -> None:
    with Target("cuda"):
        bound = DefaultGPUSchedule()(graph())
    assert 'thread="threadIdx.x"' in str(bound["add"])
    with Target("llvm"):
        assert str(DefaultGPUSchedule()(graph())) == str(graph())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: relax_integration.extract_tasks(3, "llvm"), "3 is not a graph"),
        (
            lambda: relax_integration.tune_relax(graph(), None, "llvm", ".", 1, op_names=["conv"]),
            "the graph has no functions to tune",
        ),
        (lambda: relax.transform.MetaScheduleApplyDatabase()(graph()), "has no database"),
        (lambda: relax.transform.FewShotTuning(0), "valid_count is 0"),
        (lambda: relax.transform.FewShotTuning()(graph()), "does not know the target"),
        (
            lambda: relax.transform.MetaScheduleTuneTIR(".", 1)(graph()),
            "does not know the target",
        ),
    ],
)
def test_rejected(call: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        call()
