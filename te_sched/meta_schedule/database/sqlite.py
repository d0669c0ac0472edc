"""A database in one SQLite file, which several processes may use at once.

The file is in WAL mode: what was committed survives the death of a process at any moment, and
readers do not wait for writers.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from te_sched import files
from te_sched.errors import DeclarationError, TeSchedError
from te_sched.ir.serialization import load_json, save_json
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database.base import FAILED, Database, TuningRecord, Workload
from te_sched.meta_schedule.database.equality import ModuleEquality
from te_sched.signatures import checked_methods

_FORMAT = 1
_NAMED = 4  # tables of another program that an error names
_WAIT = 60.0  # seconds that a process waits for another one's commit
_TABLES = """
CREATE TABLE workload (id INTEGER PRIMARY KEY, hash TEXT NOT NULL, module TEXT NOT NULL);
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    workload INTEGER NOT NULL REFERENCES workload,
    mean REAL,  -- NULL for failures
    content TEXT NOT NULL,  -- JSON: trace, seconds, target, arguments
    error TEXT,
    machine TEXT
);
CREATE INDEX workload_hash ON workload (hash);
CREATE INDEX record_mean ON record (workload, mean);
"""
_SELECT = "SELECT workload, content, error, machine FROM record "


@checked_methods(DeclarationError)
class SQLiteDatabase(Database):
    """A database in a file of SQLite.

    Parameters
    ----------
    path : the file, which is created if it does not exist; ":memory:" for none.
    module_equality : as of `MemoryDatabase`.

    Raises
    ------
    DeclarationError for a file that is damaged, of a later version, or cannot be written.

    >>> len(SQLiteDatabase(":memory:"))
    0
    """

    def __init__(
        self, path: str | os.PathLike[str], *, module_equality: str = "structural"
    ) -> None:
        self.path = files.check_path(path, "open", DeclarationError)
        self._equality = ModuleEquality(module_equality)
        self._lock = threading.RLock()
        self._workloads: dict[int, Workload] = {}
        with self._asking("open"):
            self._connection = sqlite3.connect(
                self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
            self._check_ours()
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._prepare()

    def close(self) -> None:
        """Close the file; the database cannot be used afterwards."""
        self._connection.close()

    def has_workload(self, mod: IRModule) -> bool:
        with self._asking("read"):
            return self._number(mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        with self._asking("write"), self._transaction():
            return self._workload(self._committed(mod))

    def commit_tuning_record(self, record: TuningRecord) -> None:
        with self._asking("write"), self._transaction():
            self._connection.execute(
                "INSERT INTO record (workload, mean, content, error, machine) "
                "VALUES (?, ?, ?, ?, ?)",
                (
                    self._committed(record.workload.mod),
                    record.mean if record.is_valid else None,
                    json.dumps(record.as_json()),
                    record.error_msg,
                    record.machine,
                ),
            )

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        if top_k < 0:
            raise DeclarationError(f"cannot give {top_k} records", "", "ask for 0 or more")
        with self._asking("read"):
            return self._records(
                "WHERE workload = ? AND mean < ? ORDER BY mean, id LIMIT ?",
                (self._number(workload.mod), FAILED, top_k),
            )

    def get_all_tuning_records(self) -> list[TuningRecord]:
        with self._asking("read"):
            return self._records("ORDER BY id", ())

    def __len__(self) -> int:
        with self._asking("read"):
            (count,) = self._connection.execute("SELECT count(*) FROM record").fetchone()
            return int(count)

    def _check_ours(self) -> None:
        """Raise DeclarationError for a file of another program or of a later version."""
        self._connection.execute("BEGIN")  # both are of one moment
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        rows = self._connection.execute("SELECT name FROM sqlite_master").fetchall()
        self._connection.execute("COMMIT")
        names = {name for (name,) in rows}
        is_new = not names and not version
        if is_new or ({"workload", "record"} <= names and version == _FORMAT):
            return
        self._connection.close()
        if {"workload", "record"} <= names and version > _FORMAT:
            raise DeclarationError(
                f"the database {self.path!r} has version {version}, expected {_FORMAT}",
                "a later te_sched wrote it",
                "use that te_sched, or give another file",
            )
        tables = ", ".join(sorted(map(str, names))[:_NAMED])
        raise DeclarationError(
            f"{self.path!r} is not a database of tuning records",
            f"it is another program's, with {tables}" if names else f"its version is {version}",
            "give a file that does not exist",
        )

    def _prepare(self) -> None:
        """Create the tables of a new file."""
        with self._transaction():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in _TABLES.split(";"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version={_FORMAT}")

    def _hash(self, mod: IRModule) -> str:
        return f"{self._equality.hash(mod):016x}"

    def _number(self, mod: IRModule) -> int | None:
        """The number of the workload of a module; None if it has none."""
        cursor = self._connection.execute(
            "SELECT id FROM workload WHERE hash = ? ORDER BY id", (self._hash(mod),)
        )
        for (number,) in cursor.fetchall():
            stored_mod = self._workload(number).mod
            if stored_mod is mod or self._equality.equal(stored_mod, mod):
                return int(number)
        return None

    def _committed(self, mod: IRModule) -> int:
        """The number of the workload of a module, which is added if it is new."""
        number = self._number(mod)
        if number is None:
            cursor = self._connection.execute(
                "INSERT INTO workload (hash, module) VALUES (?, ?)",
                (self._hash(mod), save_json(mod)),
            )
            number = int(cursor.lastrowid or 0)
            self._workloads[number] = Workload(mod)
        return number

    def _workload(self, number: int) -> Workload:
        if number not in self._workloads:
            row = self._connection.execute(
                "SELECT module FROM workload WHERE id = ?", (number,)
            ).fetchone()
            if row is None:
                raise self._damaged("record", f"its workload, {number}, is missing")
            try:
                self._workloads[number] = Workload(load_json(row[0]))
            except TeSchedError as error:
                raise self._damaged("workload", error.summary) from error
        return self._workloads[number]

    def _records(self, condition: str, values: tuple[Any, ...]) -> list[TuningRecord]:
        records = []
        for number, content, error, machine in self._connection.execute(
            _SELECT + condition, values
        ).fetchall():
            workload = self._workload(number)
            try:
                record = TuningRecord.from_json(json.loads(content), workload)
            except (ValueError, RecursionError, TeSchedError) as failure:
                why = failure.summary if isinstance(failure, TeSchedError) else str(failure)
                raise self._damaged("record", why) from failure
            record.error_msg, record.machine = error, machine
            records.append(record)
        return records

    def _damaged(self, what: str, why: str) -> DeclarationError:
        return DeclarationError(
            f"a {what} of the database {self.path!r} is damaged", why, "tune into another file"
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing of what is written inside; transactions may be nested."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            self._workloads.clear()
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _asking(self, verb: str) -> Iterator[None]:
        """One thread at a time; errors of SQLite become te_sched's."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise DeclarationError(
                    f"cannot {verb} the database {self.path!r}: {error}",
                    "",
                    "check the disk and the file; if it is damaged, tune into another file and "
                    "copy what can be read with dump_pruned",
                ) from error
