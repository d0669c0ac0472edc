"""Files of JSON: those of TVM, damaged and unfinished lines, and the files of other programs."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import te_sched
from te_sched import ir, script
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database import JSONDatabase
from te_sched.target import Target
from tests.golden import tvm_json
from tests.meta_schedule.database.records import MODULE, double, record

OTHER = IRModule({"main": double.with_attr("other", 1)})
FOREIGN = [b"my only copy", b"notes\nmore\n", b"[1, 2", b"{}", b'{"a": 1}\n', b'["name", "Ada"]\n']


@pytest.mark.parametrize("content", FOREIGN)
@pytest.mark.parametrize("which", ["path_workload", "path_tuning_record"])
def test_json_database_leaves_the_file_of_another_program_alone(
    content: bytes, which: str, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_bytes(content)
    first = notes if which == "path_workload" else tmp_path / "workload"
    second = notes if which != "path_workload" else tmp_path / "record"
    with pytest.raises(DeclarationError, match="is damaged"):
        JSONDatabase(first, second)
    assert notes.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_json_database_changes_a_file_only_to_write_a_line(tmp_path: Path) -> None:
    database = JSONDatabase(work_dir=tmp_path)
    database.commit_workload(MODULE)
    path = Path(database.path_workload)
    whole = path.read_bytes()
    path.write_bytes(whole + b'["12')
    reopened = JSONDatabase(work_dir=tmp_path)
    assert path.read_bytes() == whole + b'["12'
    reopened.commit_workload(OTHER)
    assert path.read_bytes().startswith(whole + b'["')
    assert len(JSONDatabase(work_dir=tmp_path).workloads) == 2


def test_json_database_ignores_torn_lines_of_other_programs(tmp_path: Path) -> None:
    database = JSONDatabase(work_dir=tmp_path)
    record(database, 0.1)
    path = Path(database.path_tuning_record)
    line = path.read_bytes()
    path.write_bytes(line + b"[0, [[\n" + line + b"[0,")
    assert len(JSONDatabase(work_dir=tmp_path).get_all_tuning_records()) == 2


def test_json_database_cuts_off_nothing_that_was_written_meanwhile(tmp_path: Path) -> None:
    database = JSONDatabase(work_dir=tmp_path)
    database.commit_workload(MODULE)
    path = Path(database.path_workload)
    whole = path.read_bytes()
    path.write_bytes(whole[:40])
    first = JSONDatabase(work_dir=tmp_path)
    path.write_bytes(whole.rstrip())
    first.commit_workload(OTHER)
    assert path.read_bytes().startswith(whole)


def test_json_database_rejects_one_file_for_both(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="workloads and records are in one file"):
        JSONDatabase(tmp_path / "a.json", tmp_path / "b" / ".." / "a.json")
    assert not any(tmp_path.iterdir())


def test_json_database_rejects_brackets_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "database_workload.json").write_text("[" * 100_000 + "\n")
    with pytest.raises(DeclarationError, match="RecursionError"):
        JSONDatabase(work_dir=tmp_path)


def test_the_last_line_may_be_unfinished(tmp_path):
    record(JSONDatabase(work_dir=tmp_path), 1.0)
    path = tmp_path / "database_tuning_record.json"
    path.write_text(path.read_text() + "[0,[[[")
    record(JSONDatabase(work_dir=tmp_path), 2.0)
    assert len(JSONDatabase(work_dir=tmp_path)) == 2


def test_a_last_line_without_end_counts(tmp_path):
    record(JSONDatabase(work_dir=tmp_path), 1.0)
    path = tmp_path / "database_tuning_record.json"
    path.write_text(path.read_text().rstrip("\n"))
    record(JSONDatabase(work_dir=tmp_path), 2.0)
    assert len(JSONDatabase(work_dir=tmp_path)) == 2


@pytest.mark.parametrize("line", ["[7, []]", "nothing", '["1", "?"]', "{}", "[0, [1, 2, 3, 4]]"])
def test_a_damaged_line_is_named(tmp_path, line):
    record(JSONDatabase(work_dir=tmp_path), 1.0)
    path = tmp_path / "database_tuning_record.json"
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(
        DeclarationError, match=r"a line of .*database_tuning_record.json' is damag"
    ):
        JSONDatabase(work_dir=tmp_path)


def test_files_that_do_not_exist(tmp_path):
    with pytest.raises(DeclarationError, match="there is no such file"):
        JSONDatabase(work_dir=tmp_path, allow_missing=False)
    with pytest.raises(DeclarationError, match="cannot create"):
        JSONDatabase(work_dir=tmp_path / "nowhere")
    with pytest.raises(DeclarationError, match="the database has no files"):
        JSONDatabase()


def test_files_of_tvm_are_imported():
    database = JSONDatabase(
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
    record(JSONDatabase(work_dir=tmp_path), 1.0)
    database = JSONDatabase(work_dir=tmp_path)
    assert database.has_workload(MODULE)
    line = (tmp_path / "database_workload.json").read_text()
    rows = json.loads(base64.b64decode(json.loads(line)[1])[8:])
    assert rows["attrs"] == {"tvm_version": "0.19.0"}
    assert ir.structural_equal(ir.load_json(json.dumps(rows)), MODULE)


def test_workloads_that_tvm_cannot_hold_are_kept(tmp_path):
    infinite = script.from_source(tvm_json.PRODUCT.replace("T.float32(0)", 'T.float32("inf")'))
    JSONDatabase(work_dir=tmp_path).commit_workload(infinite)
    assert JSONDatabase(work_dir=tmp_path).has_workload(infinite)


def test_failures_stay_failures_in_files(tmp_path):
    record(JSONDatabase(work_dir=tmp_path), 1.0, error_msg="wrong result")
    (found,) = JSONDatabase(work_dir=tmp_path).get_all_tuning_records()
    assert not found.is_valid


def test_equal_workloads_of_a_file_are_one(tmp_path):
    for seconds in (2.0, 1.0):
        record(JSONDatabase(work_dir=tmp_path), seconds)
    for name, old, new in (("workload", "", ""), ("tuning_record", "[0,", "[1,")):
        path = tmp_path / f"database_{name}.json"
        first = path.read_text().splitlines(keepends=True)[0]
        path.write_text(path.read_text() + first.replace(old, new, 1))
    database = JSONDatabase(work_dir=tmp_path)
    assert len(database.workloads) == 1
    top = database.get_top_k(database.commit_workload(MODULE), 9)
    assert [one.mean for one in top] == [1.0, 2.0, 2.0]


def test_only_one_line_replaces_an_unfinished_one(tmp_path):
    JSONDatabase(work_dir=tmp_path).commit_workload(MODULE)
    path = tmp_path / "database_workload.json"
    whole = path.read_text()
    JSONDatabase(work_dir=tmp_path).commit_workload(OTHER)
    length = len(path.read_text()) - len(whole)
    path.write_text(whole + '["12'.ljust(length, "3"))  # as long as the line that replaces it
    database = JSONDatabase(work_dir=tmp_path)
    for module in (OTHER, IRModule({"other": double})):
        database.commit_workload(module)
    assert len(JSONDatabase(work_dir=tmp_path).workloads) == 3
