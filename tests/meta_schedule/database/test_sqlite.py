"""Files of SQLite: those of other programs, damaged ones, and several processes."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database import SQLiteDatabase
from tests.meta_schedule.database.records import MODULE, double, record


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        (3, None, "argument path of SQLiteDatabase is 3"),
        ("nowhere/tuning.db", None, "cannot open the database"),
        ("tuning.db", b"no database" * 1000, r"cannot open the database .* is not a database"),
        ("notes.txt", b"my only copy", "file is not a database"),
    ],
)
def test_what_is_no_database_is_left_alone(
    path: Any, content: bytes | None, message: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / path).write_bytes(content)
    with pytest.raises(DeclarationError, match=message):
        SQLiteDatabase(tmp_path / path if isinstance(path, str) else path)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [content] * (content is not None)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("record SET content = '[0,'", "record"),
        ("record SET content = '{}'", "record"),
        ("record SET content = '[[[1],[2]],[1.0],null,null]'", "record"),
        ("record SET content = '[[1,2],[1.0],null,null]'", "record"),
        (f"record SET content = '{'[' * 100_000}'", "record"),
        ("record SET content = replace(content, 'llvm', 'abacus')", "record"),
        ("record SET workload = 77", "record"),
        ("workload SET module = '{}'", "workload"),
    ],
    ids=str.__len__,
)
def test_damaged_rows_are_refused(change: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "tuning.db"
    record(SQLiteDatabase(path), 1.0)
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        file.execute(f"UPDATE {change}")
    with pytest.raises(DeclarationError, match=rf"a {what} of the database .* is damaged"):
        SQLiteDatabase(path).get_all_tuning_records()


def test_a_file_of_a_later_version(tmp_path):
    database = SQLiteDatabase(tmp_path / "tuning.db")
    database._connection.execute("PRAGMA user_version=99")
    database.close()
    with pytest.raises(DeclarationError, match="has version 99, expected 1"):
        SQLiteDatabase(tmp_path / "tuning.db")


def test_the_fastest_records_of_a_workload_come_first() -> None:
    database = SQLiteDatabase(":memory:")
    for number, seconds in enumerate((3.0, 1e10, 1.0, 2.0, 1.0)):
        record(database, seconds, machine=str(number))
    other = database.commit_workload(IRModule({"main": double.with_attr("other", 1)}))
    own = database.commit_workload(MODULE)
    top = [(one.mean, one.machine) for one in database.get_top_k(own, 9)]
    assert top == [(1.0, "2"), (1.0, "4"), (2.0, "3"), (3.0, "0")]
    assert [one.machine for one in database.get_top_k(own, 1)] == ["2"]
    assert database.get_top_k(own, 0) == database.get_top_k(other, 9) == []


WRITER = """
import sys
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database import SQLiteDatabase
from tests.meta_schedule.database.records import record
database = SQLiteDatabase(sys.argv[1])
for number in range(100_000):
    record(database, 1.0 + number)
    print(number, flush=True)
"""


def test_processes_share_a_file_and_a_killed_one_loses_nothing_that_it_committed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "tuning.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        written = [int(writer.stdout.readline())]
        for _ in range(10):
            record(SQLiteDatabase(path), 0.5)
            written.append(int(writer.stdout.readline()))
        writer.kill()
    assert written == [*range(11)]
    seconds = [one.mean for one in SQLiteDatabase(path).get_all_tuning_records()]
    assert seconds.count(0.5) == 10
    others = [one for one in seconds if one != 0.5]
    assert others == [1.0 + number for number in range(len(others))]
    assert len(others) >= len(written)
    record(SQLiteDatabase(path), 2.0)
    assert len({one.workload for one in SQLiteDatabase(path).get_all_tuning_records()}) == 1


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
