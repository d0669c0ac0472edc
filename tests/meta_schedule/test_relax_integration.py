"""Tuning the functions of a graph: its tasks, and the graph with what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import database, relax_integration
from te_sched.target import Target
from tests.meta_schedule.graphs import graph, record_addition
from tests.meta_schedule.here import BuilderHere, RunnerHere


def test_tasks_are_the_functions_that_are_called_with_their_counts() -> None:
    tasks = relax_integration.extract_tasks(graph(), "llvm")
    assert {one.task_name: one.weight for one in tasks} == {"add": 2, "relu": 1}
    contexts, weights = relax_integration.extracted_tasks_to_tune_contexts(tasks, "", seed=1)
    assert [one.task_name for one in contexts] == [one.task_name for one in tasks]
    assert sorted(weights) == [1.0, 2.0]


def test_graphs_are_compiled_with_their_records() -> None:
    module, records = graph(), database.MemoryDatabase()
    record_addition(records, Target("llvm"))
    built = relax_integration.compile_relax(records, module, Target("llvm"))
    data = np.arange(-4, 4).astype("float32")
    found = relax.VirtualMachine(built, nd.cpu())["main"](nd.array(data)).numpy()
    np.testing.assert_allclose(found, 2 * np.maximum(2 * data, 0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: relax_integration.extract_tasks(3, "llvm"), "3 is not a graph"),
        (
            lambda: relax_integration.tune_relax(graph(), None, "llvm", ".", 1, op_names=["conv"]),
            "the graph has no functions to tune",
        ),
    ],
)
def test_rejected(call: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        call()


def test_an_interrupted_search_measures_no_default_schedules(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(self: RunnerHere, runner_inputs: Any) -> Any:
        raise KeyboardInterrupt

    measured: list[Any] = []
    monkeypatch.setattr(RunnerHere, "run", interrupted)
    monkeypatch.setattr(relax_integration, "keep_faster_defaults", lambda *a: measured.append(a))
    here = {"builder": BuilderHere(), "runner": RunnerHere(), "cost_model": None}
    found = relax_integration.tune_relax(graph(), None, "llvm", tmp_path, 1, **here)
    assert (len(found), measured) == (0, [])
