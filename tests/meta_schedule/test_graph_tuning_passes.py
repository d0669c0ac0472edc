"""Passes that search for schedules of the functions of a graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, te, tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import database, graph_tuning_passes
from te_sched.meta_schedule.builder import BuilderResult
from te_sched.meta_schedule.tune_context import normalized_module
from te_sched.target import Target
from tests.meta_schedule.graphs import graph, vectorized
from tests.meta_schedule.here import BuilderHere, RunnerHere

LLVM = Target("llvm -num-cores=2")


def test_functions_are_applied_as_their_pass_tunes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pass that tunes functions records them as the pass that applies records looks them up."""

    def search(mod: Any, target: Target, folder: Path, trials: int, **options: Any) -> None:
        sch = vectorized(normalized_module(mod))
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
def test_few_schedules_are_drawn(benchmark: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_tuning_passes, "LocalBuilder", BuilderHere)
    monkeypatch.setattr(graph_tuning_passes, "LocalRunner", RunnerHere)
    module = graph()
    n = tir.Var("n", "int64")
    A = te.placeholder((n,), name="A")
    module["symbolic"] = te.create_prim_func([A, te.compute((n,), lambda i: A[i] * 2.0)])
    with LLVM:
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


def two_functions() -> te_sched.IRModule:
    functions = {}
    for name, factor in (("first", 2.0), ("second", 3.0)):
        A = te.placeholder((8,), name="A")
        B = te.compute((8,), lambda i, A=A, factor=factor: A[i] * factor, name="B")
        functions[name] = te.create_prim_func([A, B]).with_attr("global_symbol", name)
    return te_sched.IRModule(functions)


def interrupted(monkeypatch: pytest.MonkeyPatch, trial: Callable[[], Any]) -> tuple[int, int]:
    """How many searches begin, and how many parts are closed, if Ctrl-C ends the first one."""
    searches, closed = [], []

    def interrupt(inputs: Any) -> Any:
        searches.append(inputs)
        raise KeyboardInterrupt

    runner, builder = RunnerHere(), BuilderHere()
    runner.run, builder.build = interrupt, built_nowhere
    for part, name in ((builder, "LocalBuilder"), (runner, "LocalRunner")):
        part.close = lambda part=part: closed.append(part)
        monkeypatch.setattr(graph_tuning_passes, name, lambda part=part: part)
    trial()
    return len(searches), len({*closed})


def built_nowhere(inputs: list[Any]) -> list[BuilderResult]:
    return [BuilderResult("/nowhere/module.o", None) for _ in inputs]


def test_ctrl_c_ends_the_pass_that_tunes_all_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module = two_functions()

    def trial() -> None:
        with LLVM:
            assert relax.transform.MetaScheduleTuneTIR(tmp_path, 2)(module) is module

    assert interrupted(monkeypatch, trial) == (1, 2)
    assert ["was interrupted" in one for one in caplog.messages] == [True]


def test_ctrl_c_ends_the_pass_that_measures_a_few_schedules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trial() -> None:
        with LLVM, pytest.raises(KeyboardInterrupt):
            relax.transform.FewShotTuning(2, benchmark=True)(two_functions())

    assert interrupted(monkeypatch, trial) == (1, 2)


def test_the_pass_that_tunes_a_graph_hands_on_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(
        graph_tuning_passes, "tune_relax", lambda *args, **options: calls.append((args, options))
    )
    module = graph()
    with LLVM:
        for trials in (0, 7):
            made = relax.transform.MetaScheduleTuneIRMod({"w": 1}, "folder", trials, 3, ["add"])
            assert made(module) is module
    assert calls == [((module, {"w": 1}, LLVM, "folder", 7, 3, ["add"]), {"database": "json"})]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: relax.transform.FewShotTuning(0), "valid_count is 0"),
        (lambda: relax.transform.FewShotTuning()(graph()), "does not know the target"),
        (lambda: relax.transform.MetaScheduleTuneTIR(".", 1)(graph()), "does not know the target"),
    ],
)
def test_rejected(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        call()
