"""Records of a database are applied to the functions of a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from te_sched import IRModule
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import database
from te_sched.meta_schedule.graph_passes import MetaScheduleApplyDatabase, current_target
from te_sched.script import from_source
from te_sched.target import Target
from tests.meta_schedule.graphs import graph, record_addition

LLVM = Target("llvm")


def recorded() -> database.MemoryDatabase:
    records = database.MemoryDatabase()
    record_addition(records, LLVM)
    return records


def test_functions_with_a_record_are_scheduled() -> None:
    module = graph()
    with recorded(), LLVM, pytest.warns(UserWarning, match="no record of relu for llvm"):
        applied = MetaScheduleApplyDatabase(enable_warning=True)(module)
    assert "T.vectorized" in applied["add"].script()
    assert applied["add"].attrs["tir.is_scheduled"]
    assert [name for name in module.functions if applied[name] is not module[name]] == ["add"]


def test_functions_that_are_scheduled_already_stay() -> None:
    module, records = graph(), recorded()
    records.query_tuning_record = lambda *_: records.records[0]  # type: ignore[method-assign]
    module["add"] = module["add"].with_attr("tir.is_scheduled", True)
    with records, LLVM:
        assert MetaScheduleApplyDatabase()(module)["add"] is module["add"]


def test_the_database_may_be_a_folder(tmp_path: Path) -> None:
    record_addition(database.JSONDatabase(work_dir=tmp_path), LLVM)
    with database.MemoryDatabase(), LLVM:
        applied = MetaScheduleApplyDatabase(tmp_path)(graph())
    assert "T.vectorized" in applied["add"].script()


@pytest.mark.parametrize(("block", "fits"), [("T_add", True), ("T_other", False)])
def test_a_record_of_another_function_is_applied_where_it_fits(block: str, fits: bool) -> None:
    """A database may take functions for one workload that are not equal."""
    records = recorded()
    records.query_tuning_record = lambda *_: records.records[0]  # type: ignore[method-assign]
    text = graph()["add"].script().replace("T_add", block).replace("+", "-")
    func: Any = from_source(text)
    with records, LLVM:
        applied = MetaScheduleApplyDatabase()(IRModule({"add": func}))
    assert (applied["add"] is not func) == fits
    assert ("T.vectorized" in applied["add"].script()) == fits


def test_without_a_database_or_a_target_it_is_rejected() -> None:
    with LLVM, pytest.raises(DeclarationError, match="has no database"):
        MetaScheduleApplyDatabase()(graph())
    with pytest.raises(DeclarationError, match="A pass does not know the target"):
        current_target("A pass")
    with LLVM:
        assert current_target("A pass") == LLVM
