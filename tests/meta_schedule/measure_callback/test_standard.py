"""What is done with the results of a batch: they are recorded, learned, and removed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from te_sched import meta_schedule as ms
from te_sched import tir
from te_sched.meta_schedule.builder import BuilderResult
from te_sched.meta_schedule.database.base import FAILED
from te_sched.meta_schedule.measure_callback import (
    AddToDatabase,
    RemoveBuildArtifact,
    UpdateCostModel,
)
from te_sched.meta_schedule.runner import RunnerResult
from te_sched.tuning.artifacts import BUILD_PREFIX
from tests.meta_schedule.programs import LLVM, MODULE

INFOS = ms.ArgInfo.from_entry_func(MODULE)
CANDIDATES = [ms.MeasureCandidate(tir.Schedule(MODULE), INFOS) for _ in range(2)]
RESULTS = [RunnerResult([1.0, 3.0], None, "here"), RunnerResult(None, "crashed", "there")]


def scheduler(database: Any = None, model: Any = None, mod: Any = MODULE) -> Any:
    """What callbacks see of a scheduler: its second task has the module."""
    tasks = [SimpleNamespace(ctx=ms.TuneContext(one, target=LLVM)) for one in (None, mod)]
    return SimpleNamespace(database_=database, cost_model_=model, tasks_=tasks)


def test_all_candidates_are_recorded() -> None:
    database = ms.database.MemoryDatabase()
    AddToDatabase().apply(scheduler(database), 1, CANDIDATES, [], RESULTS)
    measured, failed = database.get_all_tuning_records()
    assert (measured.run_secs, measured.error_msg, measured.machine) == ([1.0, 3.0], None, "here")
    assert (failed.run_secs, failed.error_msg, failed.machine) == ([FAILED], "crashed", "there")
    assert measured.workload is failed.workload
    assert (measured.target, measured.args_info) == (LLVM, INFOS)


def test_without_a_database_or_a_module_nothing_is_recorded() -> None:
    AddToDatabase().apply(scheduler(None), 1, CANDIDATES, [], RESULTS)
    database = ms.database.MemoryDatabase()
    AddToDatabase().apply(scheduler(database), 0, CANDIDATES, [], RESULTS)
    assert len(database) == len(database.workloads) == 0


def test_the_model_learns_from_batches_with_candidates() -> None:
    calls: list[Any] = []
    model = SimpleNamespace(update=lambda *arguments: calls.append(arguments))
    known = scheduler(model=model)
    UpdateCostModel().apply(known, 1, CANDIDATES, [], RESULTS)
    UpdateCostModel().apply(known, 1, [], [], [])
    UpdateCostModel().apply(scheduler(), 1, CANDIDATES, [], RESULTS)
    assert calls == [(known.tasks_[1].ctx, CANDIDATES, RESULTS)]


def test_built_files_are_removed(tmp_path: Any) -> None:
    folder = tmp_path / f"{BUILD_PREFIX}1"
    folder.mkdir()
    (folder / "module.o").touch()
    built = [BuilderResult(None, "failed"), BuilderResult(str(folder / "module.o"), None)]
    RemoveBuildArtifact().apply(scheduler(), 1, CANDIDATES, built, RESULTS)
    assert not folder.exists()
