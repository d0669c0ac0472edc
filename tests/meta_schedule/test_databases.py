"""Databases: workloads, records, queries, files of TVM, several processes, damaged files."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import te_sched
from te_sched import ir, script, tir
from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.script import tir as T
from te_sched.target import Target
from tests.golden import tvm_json


@T.prim_func
def double(a: T.Buffer((8, 8), "float32"), c: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = a[vi, vj] * 2.0


MODULE = IRModule({"main": double})
LLVM = Target("llvm -num-cores=4")


def traced(mod=MODULE):
    sch = tir.Schedule(mod, seed=3)
    i, _ = sch.get_loops("c")
    sch.split(i, sch.sample_perfect_tile(i, n=2))
    return sch


def record(database, *seconds, target=LLVM, **more):
    sch = traced()
    found = ms.database.TuningRecord(
        sch.trace,
        database.commit_workload(MODULE),
        list(seconds),
        target,
        ms.ArgInfo.from_prim_func(double),
        **more,
    )
    database.commit_tuning_record(found)
    return sch


def databases(tmp_path):
    return [
        ms.database.MemoryDatabase(),
        ms.database.JSONDatabase(work_dir=tmp_path),
        ms.database.SQLiteDatabase(tmp_path / "tuning.db"),
    ]


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


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_file_is_read_again(tmp_path, kind):
    where = {"work_dir": tmp_path} if kind == "json" else {"path": tmp_path / "tuning.db"}
    sch = record(ms.database.create(kind, **where), 2.5e-7)
    again = ms.database.create(kind, **where)
    assert again.has_workload(MODULE)
    assert len(again) == 1
    assert again.query_schedule(MODULE, LLVM).mod.script() == sch.mod.script()
    assert again.get_all_tuning_records()[0].run_secs == [2.5e-7]


def test_constants_may_be_ignored():
    equality = ms.database.equality.ModuleEquality
    assert equality("structural").hash(MODULE) == equality("ignore-ndarray").hash(MODULE)
    with pytest.raises(DeclarationError, match="'exact' is not a module equality"):
        ms.database.MemoryDatabase("exact")


def test_the_last_line_may_be_unfinished(tmp_path):
    record(ms.database.JSONDatabase(work_dir=tmp_path), 1.0)
    path = tmp_path / "database_tuning_record.json"
    path.write_text(path.read_text() + "[0,[[[")
    record(ms.database.JSONDatabase(work_dir=tmp_path), 2.0)
    assert len(ms.database.JSONDatabase(work_dir=tmp_path)) == 2


def test_a_last_line_without_end_counts(tmp_path):
    record(ms.database.JSONDatabase(work_dir=tmp_path), 1.0)
    path = tmp_path / "database_tuning_record.json"
    path.write_text(path.read_text().rstrip("\n"))
    record(ms.database.JSONDatabase(work_dir=tmp_path), 2.0)
    assert len(ms.database.JSONDatabase(work_dir=tmp_path)) == 2


@pytest.mark.parametrize("line", ["[7, []]", "nothing", '["1", "?"]', "{}", "[0, [1, 2, 3, 4]]"])
def test_a_damaged_line_is_named(tmp_path, line):
    record(ms.database.JSONDatabase(work_dir=tmp_path), 1.0)
    path = tmp_path / "database_tuning_record.json"
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(
        DeclarationError, match=r"a line of .*database_tuning_record.json' is damag"
    ):
        ms.database.JSONDatabase(work_dir=tmp_path)


def test_files_that_do_not_exist(tmp_path):
    with pytest.raises(DeclarationError, match="there is no such file"):
        ms.database.JSONDatabase(work_dir=tmp_path, allow_missing=False)
    with pytest.raises(DeclarationError, match="cannot create"):
        ms.database.JSONDatabase(work_dir=tmp_path / "nowhere")
    with pytest.raises(DeclarationError, match="the database has no files"):
        ms.database.JSONDatabase()
    with pytest.raises(DeclarationError, match="cannot open the database"):
        ms.database.SQLiteDatabase(tmp_path / "nowhere" / "tuning.db")


def test_a_damaged_file_of_sqlite(tmp_path):
    path = tmp_path / "tuning.db"
    path.write_bytes(b"no database" * 500)
    with pytest.raises(DeclarationError, match="cannot open the database"):
        ms.database.SQLiteDatabase(path)


def test_a_file_of_a_later_version(tmp_path):
    database = ms.database.SQLiteDatabase(tmp_path / "tuning.db")
    database._connection.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(DeclarationError, match="has version 99, expected 1"):
        ms.database.SQLiteDatabase(tmp_path / "tuning.db")


_WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from test_databases import record
from te_sched import meta_schedule as ms
database = ms.database.SQLiteDatabase(sys.argv[1])
for number in range(int(sys.argv[3])):
    record(database, 1.0 + number)
    print(number, flush=True)
"""


def _writer(path, count):
    here = os.path.dirname(__file__)
    command = [sys.executable, "-c", _WRITER, str(path), here, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_into_one_file(tmp_path):
    path = tmp_path / "tuning.db"
    writers = [_writer(path, 20) for _ in range(2)]
    assert [one.wait(60) for one in writers] == [0, 0]
    database = ms.database.SQLiteDatabase(path)
    assert len(database) == 40
    assert len({one.workload.shash for one in database.get_all_tuning_records()}) == 1


def test_a_killed_process_loses_nothing_that_was_committed(tmp_path):
    path = tmp_path / "tuning.db"
    writer = _writer(path, 100_000)
    for _ in range(5):
        seen = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert len(ms.database.SQLiteDatabase(path)) > seen
    record(ms.database.SQLiteDatabase(path), 1.0)


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


def test_the_best_of_each_workload_is_copied(tmp_path):
    full, small = ms.database.MemoryDatabase(), ms.database.JSONDatabase(work_dir=tmp_path)
    for seconds in (3.0, 1.0, 2.0):
        record(full, seconds)
    full.dump_pruned(small)
    assert [one.mean for one in small.get_all_tuning_records()] == [1.0]


def test_several_databases_answer_together():
    slow, fast = ms.database.MemoryDatabase(), ms.database.MemoryDatabase()
    record(slow, 2.0)
    record(fast, 1.0)
    both = ms.database.UnionDatabase(slow, fast)
    assert both.query_tuning_record(MODULE, LLVM).mean == 1.0
    first = ms.database.create("ordered_union", slow, fast)
    assert first.query_tuning_record(MODULE, LLVM).mean == 2.0
    with pytest.raises(DeclarationError, match=r"argument databases of .*UnionDatabase is 3"):
        ms.database.UnionDatabase(3)


def test_a_function_of_a_schedule_is_a_database():
    def split(sch):
        if sch.get_loops("c"):
            sch.split(sch.get_loops("c")[0], [2, 4])
        return True

    database = ms.database.create(split)
    assert "i_0" in database.query_ir_module(MODULE, LLVM).script()
    assert ms.database.create(lambda sch: False).query_schedule(MODULE, LLVM) is None
    with pytest.raises(DeclarationError, match=r"schedule_fn of .*ScheduleFnDatabase is 3"):
        ms.database.ScheduleFnDatabase(3)


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


def test_files_of_tvm_are_imported():
    database = ms.database.JSONDatabase(
        *[tvm_json.FOLDER / f"database_{name}.json" for name in ("workload", "tuning_record")]
    )
    product = script.from_source(tvm_json.PRODUCT)
    assert database.has_workload(product)
    assert [one.is_valid for one in database.get_all_tuning_records()] == [True, False]
    found = database.query_ir_module(product, Target("llvm"))
    expected = script.from_source((tvm_json.FOLDER / "scheduled.txt").read_text())
    assert found.script() == expected.script()
    a, b = (np.random.default_rng(0).random((8, 8), "float32") for _ in "ab")
    c = te_sched.nd.array(np.zeros((8, 8), "float32"))
    te_sched.build(found, target="llvm")(te_sched.nd.array(a), te_sched.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def test_workloads_are_written_as_those_of_tvm(tmp_path):
    record(ms.database.JSONDatabase(work_dir=tmp_path), 1.0)
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    assert database.has_workload(MODULE)
    line = (tmp_path / "database_workload.json").read_text()
    rows = json.loads(base64.b64decode(json.loads(line)[1])[8:])
    assert rows["attrs"] == {"tvm_version": "0.19.0"}
    assert ir.structural_equal(ir.load_json(json.dumps(rows)), MODULE)


def test_workloads_that_tvm_cannot_hold_are_kept(tmp_path):
    infinite = script.from_source(tvm_json.PRODUCT.replace("T.float32(0)", 'T.float32("inf")'))
    ms.database.JSONDatabase(work_dir=tmp_path).commit_workload(infinite)
    assert ms.database.JSONDatabase(work_dir=tmp_path).has_workload(infinite)


def test_failures_stay_failures_in_files(tmp_path):
    record(ms.database.JSONDatabase(work_dir=tmp_path), 1.0, error_msg="wrong result")
    (found,) = ms.database.JSONDatabase(work_dir=tmp_path).get_all_tuning_records()
    assert not found.is_valid
