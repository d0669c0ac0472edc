"""Files of databases: those of other programs are left as they are."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database import JSONDatabase, SQLiteDatabase
from tests.meta_schedule.test_databases import MODULE, double, record

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


@pytest.mark.parametrize("version", [0, 1, 7])
def test_sqlite_database_leaves_the_database_of_another_program_alone(
    version: int, tmp_path: Path
) -> None:
    path = tmp_path / "app.db"
    with contextlib.closing(sqlite3.connect(path)) as app, app:
        app.execute("CREATE TABLE users (name TEXT)")
        app.execute(f"PRAGMA user_version={version}")
    before = path.read_bytes()
    with pytest.raises(DeclarationError, match="not a database of tuning records"):
        SQLiteDatabase(path)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["app.db"]


def test_sqlite_database_leaves_a_text_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("my only copy")
    with pytest.raises(DeclarationError, match="file is not a database"):
        SQLiteDatabase(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "my only copy"


def test_sqlite_database_rejects_brackets_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "tuning.sqlite"
    database = SQLiteDatabase(path)
    record(database, 0.1)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE record SET content = ?", ("[" * 100_000,))
    with pytest.raises(DeclarationError, match=r"a record of the database .* is damaged"):
        database.get_all_tuning_records()
