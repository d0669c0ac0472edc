"""TVM's two files of a database: a line for each workload, a line for each record."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.errors import DeclarationError, TeSchedError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database.base import FAILED, TuningRecord, Workload
from te_sched.meta_schedule.database.memory import MemoryDatabase
from te_sched.signatures import checked_methods
from te_sched.tuning.record_lines import is_torn, line_end_of

# Of lines, also of those that end there.
_BEGIN_OF_WORKLOAD = re.compile(r'\s*\[\s*("(-?\d|-?$)|$)')
_BEGIN_OF_RECORD = re.compile(r"\s*\[\s*(\d+\s*(,\s*(\[|$)|$)|$)")


@checked_methods(DeclarationError)
class JSONDatabase(MemoryDatabase):
    """A database in TVM's two files, to which each commit appends a line.

    TVM 0.19's JSONDatabase reads the files, and its files are read here. Only workloads that TVM's
    format cannot hold, such as those with infinite constants, are in te_sched's.

    Lines that were not written completely are ignored; the next one replaces such a last line.
    Opening a file does not change it. Programs that write into one database at the same time use
    `SQLiteDatabase`.

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
        if os.path.realpath(self.path_workload) == os.path.realpath(self.path_tuning_record):
            raise DeclarationError(
                f"workloads and records are in one file: {self.path_workload!r}",
                "",
                "give two files, or use SQLiteDatabase",
            )
        workloads = _Lines(self.path_workload, _BEGIN_OF_WORKLOAD, allow_missing)
        records = _Lines(self.path_tuning_record, _BEGIN_OF_RECORD, allow_missing)
        self._files = {file.path: file for file in (workloads, records)}
        self._numbered: list[Workload] = []  # the workload of each line
        for line in workloads.read():
            workload = _read(self.path_workload, line, Workload.from_json)
            self._numbered.append(super().commit_workload(workload.mod))
        for line in records.read():
            self.records.append(_read(self.path_tuning_record, line, self._record))
        for file in self._files.values():
            file.create()

    def commit_workload(self, mod: IRModule) -> Workload:
        before = len(self.workloads)
        workload = super().commit_workload(mod)
        if len(self.workloads) > before:
            self._numbered.append(workload)
            self._append(self.path_workload, workload.as_json())
        return workload

    def commit_tuning_record(self, record: TuningRecord) -> None:
        super().commit_tuning_record(record)
        workload = self.commit_workload(record.workload.mod)
        number = next(n for n, other in enumerate(self._numbered) if other is workload)
        data = record.as_json()
        if record.error_msg is not None:  # TVM's files know a failure by its seconds
            data[1] = [FAILED]
        self._append(self.path_tuning_record, [number, data])

    def _append(self, path: str, data: Any) -> None:
        self._files[path].append(json.dumps(data, separators=(",", ":")))

    def _record(self, data: Any) -> TuningRecord:
        number, record = data
        return TuningRecord.from_json(record, self._numbered[number])


def _path(path: Any, folder: Path | None, name: str) -> str:
    if path is not None:
        return files.check_path(path, "open", DeclarationError)
    if folder is None:
        raise DeclarationError(
            "the database has no files",
            "",
            "give work_dir=, or path_workload= and path_tuning_record=",
        )
    return str(folder / name)


class _Lines:
    """A file of lines of JSON. Reading changes nothing: a last line that was not written completely
    is cut off when the next one is written, if the file is what was read then.
    """

    def __init__(self, path: str, begin: re.Pattern[str], allow_missing: bool) -> None:
        self.path = path
        self._begin = begin  # of each line
        self._size = 0  # of the file when it was read, in bytes
        self._whole: int | None = None  # the bytes before a torn last line
        if not allow_missing and not os.path.exists(path):
            raise DeclarationError(
                f"cannot open {path!r}: there is no such file", "", "pass allow_missing=True"
            )

    def read(self) -> list[str]:
        """The whole lines; none of a file that is missing."""
        if not os.path.exists(self.path):
            return []
        text = files.read_text(self.path, "open", "give the files of a database", DeclarationError)
        self._size = len(text.encode())
        last = text.rpartition("\n")[2]
        if is_torn(last, self._begin):
            self._whole = self._size - len(last.encode())
        lines = [line for line in text.splitlines() if line.strip()]
        return [line for line in lines if not is_torn(line, self._begin)]

    def create(self) -> None:
        """Create the file if it is missing."""
        if not os.path.exists(self.path):
            help = "give a path in a folder that exists"
            with files.refusing(f"create {self.path!r}", help, DeclarationError):
                Path(self.path).touch()

    def append(self, line: str) -> None:
        """Write a line."""
        help = "free space on the disk, or give another path"
        with (
            files.refusing(f"write {self.path!r}", help, DeclarationError),
            open(self.path, "ab+", buffering=0) as file,
        ):
            if self._whole is not None and os.path.getsize(self.path) == self._size:
                file.truncate(self._whole)
            self._whole = None
            file.write(line_end_of(file) + f"{line}\n".encode())


def _read(path: str, line: str, reader: Any) -> Any:
    try:
        return reader(json.loads(line))
    except (ValueError, TypeError, IndexError, RecursionError, TeSchedError) as error:
        why = error.fault if isinstance(error, TeSchedError) else repr(error)
        raise _damaged(path, line, why) from None


def _damaged(path: str, line: str, why: str) -> DeclarationError:
    return DeclarationError(
        f"a line of {path!r} is damaged: {line[:60]!r}",
        why,
        "remove the line; the other lines are not affected",
    )
