"""The workloads and records of a database in memory, in their order."""

from __future__ import annotations

import pytest

from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database import MemoryDatabase, TuningRecord, Workload
from tests.meta_schedule.database.records import LLVM, MODULE, double, record
from tests.meta_schedule.database.test_equality import changed

OTHER = IRModule({"main": double.with_attr("other", 1)})


def test_equal_modules_are_one_workload() -> None:
    database = MemoryDatabase()
    first = database.commit_workload(MODULE)
    assert database.commit_workload(IRModule({"main": double})) is first
    assert not database.has_workload(OTHER)
    assert database.commit_workload(OTHER) is not first
    assert [one.mod for one in database.workloads] == [MODULE, OTHER]


@pytest.mark.parametrize(("count", "seconds"), [(0, []), (2, [1.0, 2.0]), (9, [1.0, 2.0, 3.0])])
def test_the_fastest_come_first(count: int, seconds: list[float]) -> None:
    database = MemoryDatabase()
    for number in (3.0, 1e10, 1.0, 2.0):
        record(database, number)
    top = database.get_top_k(Workload(MODULE), count)
    assert [one.mean for one in top] == seconds
    assert database.get_top_k(Workload(OTHER), 1) == []


def test_records_of_an_equal_workload_are_those_of_the_database() -> None:
    database = MemoryDatabase("ignore-ndarray")
    own = database.commit_workload(changed())
    database.commit_tuning_record(
        TuningRecord([[], []], Workload(changed("[1, 2]", "[3, 4]")), [1.0])
    )
    assert len(database.get_top_k(own, 1)) == 1


def test_a_record_adds_its_workload_and_may_be_in_several_databases() -> None:
    first, second = MemoryDatabase(), MemoryDatabase()
    made = TuningRecord([[], []], Workload(MODULE), [1.0])
    for database in (first, second):
        database.commit_tuning_record(made)
    assert [one.query_tuning_record(MODULE, LLVM).mean for one in (first, second)] == [1.0] * 2
    for database in (first, second):
        (record,) = database.get_all_tuning_records()
        assert record.workload is database.commit_workload(MODULE)
