"""TVM's two files of a database: a line for each workload, a line for each record."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.errors import DeclarationError, TeSchedError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database.base import FAILED, TuningRecord, Workload
from te_sched.meta_schedule.database.memory import MemoryDatabase
from te_sched.signatures import checked_methods


@checked_methods(DeclarationError)
class JSONDatabase(MemoryDatabase):
    """A database in TVM's two files, to which each commit appends a line.

    TVM 0.19's JSONDatabase reads the files, and its files are read here. Only workloads that TVM's
    format cannot hold, such as those with infinite constants, are in te_sched's.

    A last line that was not written completely is ignored, and replaced by the next one. Programs
    that write into one database at the same time use `SQLiteDatabase`.

    Parameters
    ----------
    path_workload, path_tuning_record : the files; by default `database_workload.json` and
        `database_tuning_record.json` in `work_dir`.
    allow_missing : create files that do not exist.
    module_equality : as of `MemoryDatabase`.

    Raises
    ------
    DeclarationError for files that are missing, cannot be written, or have damaged lines.
    """

    def __init__(
        self,
        path_workload: str | os.PathLike[str] | None = None,
        path_tuning_record: str | os.PathLike[str] | None = None,
        *,
        work_dir: str | os.PathLike[str] | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ) -> None:
        super().__init__(module_equality)
        folder = (
            None if work_dir is None else Path(files.check_path(work_dir, "open", DeclarationError))
        )
        self.path_workload = _path(path_workload, folder, "database_workload.json")
        self.path_tuning_record = _path(path_tuning_record, folder, "database_tuning_record.json")
        for line in _lines(self.path_workload, allow_missing):
            self._add(_read(self.path_workload, line, Workload.from_json))
        for line in _lines(self.path_tuning_record, allow_missing):
            self.records.append(_read(self.path_tuning_record, line, self._record))

    def commit_workload(self, mod: IRModule) -> Workload:
        before = len(self.workloads)
        found = super().commit_workload(mod)
        if len(self.workloads) > before:
            _append(self.path_workload, found.as_json())
        return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        workload = self.commit_workload(record.workload.mod)
        record.workload = workload
        super().commit_tuning_record(record)
        number = next(n for n, one in enumerate(self.workloads) if one is workload)
        data = record.as_json()
        if record.error_msg is not None:  # TVM's files know a failure by its seconds
            data[1] = [FAILED]
        _append(self.path_tuning_record, [number, data])

    def _record(self, data: Any) -> TuningRecord:
        number, record = data
        return TuningRecord.from_json(record, self.workloads[number])


def _path(given: Any, folder: Path | None, name: str) -> str:
    if given is not None:
        return files.check_path(given, "open", DeclarationError)
    if folder is None:
        raise DeclarationError(
            "the database has no files",
            "",
            "give work_dir=, or path_workload= and path_tuning_record=",
        )
    return str(folder / name)


def _lines(path: str, allow_missing: bool) -> list[str]:
    """The lines of a file, which is created if it is missing; a last line without end goes."""
    if not os.path.exists(path):
        if not allow_missing:
            raise DeclarationError(
                f"cannot open {path!r}: there is no such file", "", "pass allow_missing=True"
            )
        with files.refusing(
            f"create {path!r}", "give a path in a folder that exists", DeclarationError
        ):
            Path(path).touch()
        return []
    text = files.read_text(path, "open", "give the files of a database", DeclarationError)
    whole, _, rest = text.rpartition("\n")
    if rest and _is_json(rest):  # the file of another program, without a last line end
        whole = text
        _append_text(path, "\n")
    elif rest:
        with files.refusing(f"write {path!r}", "make the file writable", DeclarationError):
            os.truncate(path, len(f"{whole}\n".encode()) if whole else 0)
    return [line for line in whole.splitlines() if line.strip()]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _read(path: str, line: str, reader: Any) -> Any:
    try:
        return reader(json.loads(line))
    except (ValueError, TypeError, IndexError, TeSchedError) as error:
        raise DeclarationError(
            f"a line of {path!r} is damaged: {line[:60]!r}",
            error.fault if isinstance(error, TeSchedError) else repr(error),
            "remove the line; the other lines are not affected",
        ) from error


def _append(path: str, data: Any) -> None:
    _append_text(path, json.dumps(data, separators=(",", ":")) + "\n")


def _append_text(path: str, text: str) -> None:
    with (
        files.refusing(
            f"write {path!r}", "free space on the disk, or give another path", DeclarationError
        ),
        open(path, "ab", buffering=0) as file,
    ):
        file.write(text.encode())
