"""Workloads and records as JSON, and what every database answers."""

import threading

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.target import Target
from tests.meta_schedule.database.records import LLVM, MODULE, databases, record


def test_the_fastest_record_is_found_and_replayed(tmp_path):
    for database in databases(tmp_path):
        record(database, 3.0, 4.0)
        sch = record(database, 1.0, 2.0)
        found = database.query_tuning_record(MODULE, LLVM)
        assert [one.value for one in found.run_secs] == [1.0, 2.0]
        assert database.query_schedule(MODULE, LLVM).mod.script() == sch.mod.script()
        assert database.query(MODULE, LLVM, kind="ir_module").script() == sch.mod.script()


def test_failures_are_kept_and_never_found(tmp_path):
    for database in databases(tmp_path):
        record(database, 1e10)
        record(database, 0.5, error_msg="computes something else")
        assert len(database) == 2
        assert database.query_tuning_record(MODULE, LLVM) is None
    assert database.get_all_tuning_records()[1].error_msg == "computes something else"


def test_records_of_another_kind_of_target_are_not_answers(tmp_path):
    for database in databases(tmp_path):
        record(database, 1.0, target=Target("cuda"))
        record(database, 3.0, target=LLVM)
        record(database, 2.0, target=Target("llvm -num-cores=8"))
        assert database.query_tuning_record(MODULE, LLVM).mean == 3.0
        assert database.query_tuning_record(MODULE, Target("llvm")).mean == 2.0


def test_threads_share_a_database(tmp_path):
    for database in databases(tmp_path):
        workers = [
            threading.Thread(target=lambda db=database: [record(db, 1.0) for _ in range(5)])
            for _ in range(2)
        ]
        for one in workers:
            one.start()
        for one in workers:
            one.join()
        assert len(database) == 10


def test_the_best_of_each_workload_and_target_is_copied():
    full, best = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    for seconds in (3.0, 1.0, 2.0):
        record(full, seconds, machine="a machine")
    record(full, 0.5, error_msg="wrong result")
    record(full, 4.0, target=Target("cuda"))
    full.dump_pruned(best)
    copied = [(one.mean, one.machine, one.target) for one in best.get_all_tuning_records()]
    assert copied == [(1.0, "a machine", LLVM), (4.0, None, Target("cuda"))]


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_file_is_read_again(tmp_path, kind):
    where = {"work_dir": tmp_path} if kind == "json" else {"path": tmp_path / "tuning.db"}
    sch = record(ms.database.create(kind, **where), 2.5e-7)
    again = ms.database.create(kind, **where)
    assert again.has_workload(MODULE)
    assert len(again) == 1
    assert again.query_schedule(MODULE, LLVM).mod.script() == sch.mod.script()
    assert again.get_all_tuning_records()[0].run_secs == [2.5e-7]


def test_the_current_database():
    outer, inner = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    with outer:
        with inner:
            assert ms.Database.current() is inner
        assert ms.Database.current() is outer
    assert ms.Database.current() is None


@pytest.mark.parametrize(
    "given", [3, ["1"], ["1", 5], ["1", "!"], ["1", "aaaa"], ["1", "AAAAAAAAAAB7fQ=="]]
)
def test_what_is_no_workload(given):
    with pytest.raises(DeclarationError, match=r"describe a workload|is damaged|cannot load"):
        ms.database.Workload.from_json(given)


@pytest.mark.parametrize(
    "given", [3, [1, 2], [3, [1.0], None, None], [[[], []], ["x"], None, None]]
)
def test_what_is_no_record(given):
    with pytest.raises(DeclarationError, match="does not describe"):
        ms.database.TuningRecord.from_json(given, ms.database.Workload(MODULE))


def test_wrong_questions(tmp_path):
    for database in databases(tmp_path):
        with pytest.raises(DeclarationError, match="cannot give -1 records"):
            database.get_top_k(database.commit_workload(MODULE), -1)
        with pytest.raises(DeclarationError, match="'module' is not a kind of answer"):
            database.query(MODULE, LLVM, kind="module")
        with pytest.raises(DeclarationError, match="argument mod of commit_workload is 3"):
            database.commit_workload(3)
