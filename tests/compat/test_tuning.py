"""Searches of programs for TVM until 0.10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from te_sched import autotvm, te, tir
from te_sched import meta_schedule as ms
from te_sched.compat import tuning
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import tir_integration
from te_sched.target import Target

LLVM = Target("llvm -num-cores=2")


def tensors() -> list[te.Tensor]:
    A = te.placeholder((16, 16), name="A")
    return [A, te.compute((16, 16), lambda i, j: A[i, j] + 1.0, name="B")]


def test_tensors_are_tuned(tmp_path: Path) -> None:
    config = tuning.ReplayTraceConfig(num_trials_per_iter=2, num_trials_total=2)
    found = tuning.tune_te(tensors(), LLVM, config, tmp_path, num_threads=1)
    assert isinstance(found, tir.Schedule)
    assert "B" in str(found.mod)


def test_parts_of_the_space_may_be_functions(tmp_path: Path) -> None:
    seen: list[Any] = []

    def rules() -> list[Any]:
        seen.append("rules")
        return tuning.default_config.schedule_rules(None, LLVM)

    config = tuning.ReplayFuncConfig(2, max_trials_global=2)
    func = tuning.default_config.mod(te.create_prim_func(tensors()))["main"]
    found = tuning.tune_tir(func, LLVM, config, tmp_path, sch_rules=rules)
    assert seen == ["rules"]
    assert isinstance(found, tir.Schedule)


def test_defaults_stay_what_is_given() -> None:
    defaults = tuning.default_config
    target = defaults.target("llvm")
    assert defaults.schedule_rules([1], target) == [1]
    assert [type(one).__name__ for one in defaults.postproc(None, target)] == [
        type(one).__name__ for one in ms.Postproc.create("llvm")
    ]
    assert sum(defaults.mutator_probs(None, target).values()) == pytest.approx(1)


def test_options_of_a_strategy_reach_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(tir_integration, "tune_tasks", lambda **more: seen.append(more))
    monkeypatch.setattr(tir_integration, "compile_tir", lambda *_: None)
    config = tuning.EvolutionarySearchConfig(4, 8, population_size=16)
    tuning.tune_tir(te.create_prim_func(tensors()), LLVM, config, tmp_path)
    (task,) = seen[0]["tasks"]
    assert task.search_strategy.population_size == 16
    assert (seen[0]["max_trials_global"], seen[0]["max_trials_per_task"]) == (8, 8)


def test_newer_arguments_give_a_database(tmp_path: Path) -> None:
    func = te.create_prim_func(tensors())
    found = tuning.tune_tir(func, LLVM, tmp_path, 1, database="memory")
    assert isinstance(found, ms.Database)


def test_names_are_those_of_tvm(as_tvm: None) -> None:
    import tvm.meta_schedule as old
    from tvm.meta_schedule.search_strategy import ReplayTraceConfig
    from tvm.meta_schedule.tune import TuneConfig, tune_te

    assert old.tune_tir is tuning.tune_tir
    assert (ReplayTraceConfig, tune_te) == (tuning.ReplayTraceConfig, tuning.tune_te)
    assert TuneConfig is ms.TuneConfig
    assert old.default_config is tuning.default_config


def test_rejects_a_configuration_without_trials() -> None:
    with pytest.raises(DeclarationError, match="does not say how many candidates are measured"):
        tuning.ReplayTraceConfig(32)


def test_first_measure_option_has_the_options_of_a_runner() -> None:
    found = tuning.measure_option("local", number=5, n_parallel=1, timeout=20)
    assert isinstance(found["runner"], autotvm.LocalRunner)
    assert (found["runner"].timeout, found["builder"].n_parallel) == (20, 1)
    runner = autotvm.LocalRunner(number=3)
    assert tuning.measure_option(found["builder"], runner)["runner"] is runner
