"""Tune tasks: the parts of a search put together, with a database in a folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.errors import DeclarationError, repr_of
from te_sched.meta_schedule import builder as builders
from te_sched.meta_schedule import cost_model as cost_models
from te_sched.meta_schedule import database as databases
from te_sched.meta_schedule import measure_callback as callbacks
from te_sched.meta_schedule import runner as runners
from te_sched.meta_schedule.database import (
    Database,
    JSONDatabase,
    MemoryDatabase,
    SQLiteDatabase,
)
from te_sched.meta_schedule.log_file import LOGGER, logging_to
from te_sched.meta_schedule.task_scheduler import TaskScheduler
from te_sched.meta_schedule.tune_context import TuneContext
from te_sched.meta_schedule.watching import CountUnbuilt, Watched
from te_sched.progress import Count
from te_sched.signatures import checked_as, is_index, is_sequence

FILE = "tuning.sqlite"
# The parameters that `check_trials` checks.
TRIALS = ("max_trials_global", "max_trials_per_task", "num_trials_per_iter")

# The lists of `noting_interrupts` around a search.
_SEARCHES: ContextVar[tuple[list[Database], ...]] = ContextVar("searches", default=())


@contextmanager
def noting_interrupts() -> Iterator[list[Database]]:
    """A list that gets the databases of searches inside that Ctrl-C ends: they return in good
    order, and the caller must not begin the next one.

    >>> with noting_interrupts() as interrupted:
    ...     pass
    >>> interrupted
    []
    """
    stopped_searches: list[Database] = []
    token = _SEARCHES.set((*_SEARCHES.get(), stopped_searches))
    try:
        yield stopped_searches
    finally:
        _SEARCHES.reset(token)


@checked_as(DeclarationError, but=("work_dir", *TRIALS), again=False)
def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = "sqlite",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    module_equality: str = "structural",
) -> Database:
    """Search for schedules of tasks, and keep what was measured in a database.

    What was measured is in the database, also if the search is ended, by whatever means; Ctrl-C
    ends it in good order. The same call goes on from there, until a database in `work_dir` has
    `max_trials_global` records.

    Parameters
    ----------
    tasks, task_weights : contexts, and how much the latency of each counts.
    work_dir : a folder for the database and a log, created if it does not exist.
    max_trials_global, max_trials_per_task : how many candidates are measured, of all tasks and of
        each.
    num_trials_per_iter : how many candidates are measured at once, before the cost model learns.
    builder, runner, cost_model, task_scheduler : parts, or their names. The processes of a builder
        or a runner that is given are kept for the next call.
    database : "sqlite", a file that several processes may use, from which TVM's two files are
        written at the end; "json", which writes TVM's two files alone; "memory"; or a database.
    measure_callbacks : "default", a callback or a list of callbacks.

    Returns
    -------
    The database.
    """
    check_trials("max_trials_global", max_trials_global)
    if max_trials_per_task is not None:
        check_trials("max_trials_per_task", max_trials_per_task)
    check_trials("num_trials_per_iter", num_trials_per_iter)
    if not tasks:
        raise DeclarationError("there are no tasks to tune", "", "give at least one TuneContext")
    folder = made_folder(work_dir)
    record_database = _database(database, folder, module_equality)
    before = _measured(record_database, tasks)
    goes_on = isinstance(database, str)
    left = max_trials_global - before if goes_on else max_trials_global
    if left <= 0:
        return record_database
    scheduler = TaskScheduler.create(task_scheduler)
    options = {
        "task_weights": task_weights,
        "max_trials_per_task": left if max_trials_per_task is None else max_trials_per_task,
        "num_trials_per_iter": num_trials_per_iter,
        "measure_callbacks": _callbacks(measure_callbacks),
        "cost_model": cost_models.create(cost_model),
        "database": record_database,
    }
    is_interrupted = _search(
        scheduler, tasks, left, builder, runner, folder / "tuning.log", options
    )
    if isinstance(record_database, SQLiteDatabase) and record_database.path == str(folder / FILE):
        export(record_database, folder)
    if is_interrupted:
        LOGGER.warning(
            "tuning was interrupted after %d of %d trials%s",
            _measured(record_database, tasks) - before,
            left,
            ": the database has them, the same call goes on"
            if goes_on
            else ", which are kept in memory",
        )
    return record_database


def _search(
    scheduler: TaskScheduler,
    tasks: Sequence[TuneContext],
    trials: int,
    builder: Any,
    runner: Any,
    log: Path,
    options: dict[str, Any],
) -> bool:
    """Measure candidates of tasks, as the progress shows; whether the user interrupted it.

    The processes of a builder and of a runner that are given by name end with the search.
    """
    parts = builders.create(builder), runners.create(runner)
    own = [part for part in parts if part is not builder and part is not runner]
    try:
        with logging_to(log), Count(_what(tasks, trials), trials, is_long=True) as bar:
            measuring = parts[1]
            if bar.is_shown:
                measuring = Watched(parts[1], bar, has_one_task=len(tasks) == 1)
                watched = [CountUnbuilt(measuring), *options["measure_callbacks"]]
                options = {**options, "measure_callbacks": watched}
            scheduler.tune(
                tasks, max_trials_global=trials, builder=parts[0], runner=measuring, **options
            )
    except KeyboardInterrupt:
        for noted in _SEARCHES.get():
            noted.append(options["database"])
        return True
    finally:
        for part in own:
            part.close()
    return False


def _what(tasks: Sequence[TuneContext], trials: int) -> str:
    """The name of a search; one trial only measures."""
    named = tasks[0].task_name if len(tasks) == 1 else f"{len(tasks)} tasks"
    return f"{'tuning' if trials > 1 else 'measuring'} {named}"


def check_trials(name: str, count: Any) -> None:
    """Refuse what is not a number of trials."""
    if not is_index(count) or count < 1:
        raise DeclarationError(
            f"{name} is {repr_of(count)}, expected a number of trials",
            "",
            "give 1 or more, in 64 bits",
        )


def made_folder(work_dir: Any) -> Path:
    """The folder of a search, which is created if it does not exist."""
    folder = Path(files.check_path(work_dir, "tune into", DeclarationError))
    with files.refusing(
        f"create {str(folder)!r}", "give a folder that can be written", DeclarationError
    ):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _measured(database: Database, tasks: Sequence[TuneContext]) -> int:
    """How many records of tasks a database has, for their targets."""
    wanted = [
        (database.commit_workload(task.mod).shash, task.target)
        for task in tasks
        if task.mod is not None and database.has_workload(task.mod)
    ]
    return sum(
        any(record.workload.shash == shash and record.is_of(target) for shash, target in wanted)
        for record in database.get_all_tuning_records()
    )


def export(database: Database, folder: Path) -> None:
    """Write all workloads and records of a database as TVM's two files."""
    names = ("database_workload.json", "database_tuning_record.json")
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as unfinished:
        paths = [Path(unfinished, name) for name in names]
        destination = JSONDatabase(*paths)
        for record in database.get_all_tuning_records():
            destination.commit_tuning_record(record)
        for path in paths:
            path.replace(folder / path.name)


def _database(database: Any, folder: Path, module_equality: str) -> Database:
    if database == "sqlite":
        return SQLiteDatabase(folder / FILE, module_equality=module_equality)
    if database == "json":
        return JSONDatabase(work_dir=folder, module_equality=module_equality)
    if database == "memory":
        return MemoryDatabase(module_equality)
    return databases.create(database)


def _callbacks(choice: Any) -> list[Any]:
    if isinstance(choice, str):
        return list(callbacks.create(choice))
    callback_list = list(choice) if is_sequence(choice) else [choice]
    for callback in callback_list:
        if not isinstance(callback, callbacks.MeasureCallback):
            raise DeclarationError(
                f"{repr_of(callback)} is not a callback", "", "derive from PyMeasureCallback"
            )
    return callback_list


__all__ = ["tune_tasks"]
_tell_of_absent_names(__name__)
