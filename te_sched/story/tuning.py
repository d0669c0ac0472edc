"""Reports of searches for schedules: from what a database has of one program to a page."""

from __future__ import annotations

import os
from pathlib import Path

from te_sched import files
from te_sched.codegen.target import Target
from te_sched.errors import CallError, DeclarationError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.database import Database, JSONDatabase, SQLiteDatabase
from te_sched.meta_schedule.tune import FILE
from te_sched.meta_schedule.tune_context import normalized_module
from te_sched.meta_schedule.tuning import Trials, Tuned
from te_sched.story.model import PAGE_MARK
from te_sched.story.page_tuning import tuning_html


class TuningReport:
    """A search for schedules of one program, as a page: `tuning_report` makes it."""

    def __init__(self, trials: Trials, name: str) -> None:
        self.trials, self.name = trials, name

    def html(self) -> str:
        """The page: one self-contained HTML file."""
        return tuning_html(self.trials, self.name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Raises
        ------
        CallError if it cannot be written.
        """
        files.write(path, self.html(), "save a page as", mark=PAGE_MARK)


def tuning_report(
    search: Tuned | Database | str | os.PathLike[str],
    mod: IRModule | PrimFunc | None = None,
    target: Target | str | None = None,
    *,
    name: str = "",
) -> TuningReport:
    """A report of a search: the best time over the trials, the spread, failures, the best program.

    Parameters
    ----------
    search : what `te_sched.tune` returned, a database, or the folder (`work_dir`) of one.
    mod : the program, if the database has several.
    target : by default that of the first record.
    name : of the program, for the title.

    Raises
    ------
    DeclarationError if the database does not have the program, or has several and none is named.
    CallError for a folder without a database.
    """
    if isinstance(search, Tuned):
        return TuningReport(search.trials, name or search.name)
    database = search if isinstance(search, Database) else _opened(search)
    chosen = Trials(
        database,
        _only_module(database) if mod is None else normalized_module(mod),
        None if target is None else Target(target),
    )
    if not chosen.candidates and chosen.unscheduled is None:
        raise DeclarationError(
            "the database has no records of the program",
            "",
            "give the module and the target as they were tuned",
        )
    return TuningReport(chosen, name or next(iter(chosen.module.functions)))


def _opened(folder: str | os.PathLike[str]) -> Database:
    """The database of a folder."""
    path = Path(files.check_path(folder, "read a search from"))
    if (path / FILE).is_file():
        return SQLiteDatabase(path / FILE)
    if (path / "database_workload.json").is_file():
        return JSONDatabase(work_dir=path)
    raise CallError(
        f"{str(path)!r} has no database of a search",
        f"it has neither {FILE} nor database_workload.json",
        "give the work_dir of a search",
    )


def _only_module(database: Database) -> IRModule:
    workloads = {
        id(record.workload): record.workload.mod for record in database.get_all_tuning_records()
    }
    if len(workloads) != 1:
        raise DeclarationError(
            f"the database has records of {len(workloads)} programs",
            "",
            "say which: tuning_report(database, module)" if workloads else "tune a program first",
        )
    return next(iter(workloads.values()))
