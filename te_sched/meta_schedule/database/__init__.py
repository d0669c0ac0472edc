"""Databases, by TVM's names."""

from __future__ import annotations

import sys
from typing import Any

from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.meta_schedule.component import made
from te_sched.meta_schedule.database.base import Database as Database
from te_sched.meta_schedule.database.base import PyDatabase as PyDatabase
from te_sched.meta_schedule.database.base import TuningRecord as TuningRecord
from te_sched.meta_schedule.database.base import Workload as Workload
from te_sched.meta_schedule.database.composed import OrderedUnionDatabase as OrderedUnionDatabase
from te_sched.meta_schedule.database.composed import ScheduleFnDatabase as ScheduleFnDatabase
from te_sched.meta_schedule.database.composed import UnionDatabase as UnionDatabase
from te_sched.meta_schedule.database.json_files import JSONDatabase as JSONDatabase
from te_sched.meta_schedule.database.memory import MemoryDatabase as MemoryDatabase
from te_sched.meta_schedule.database.sqlite import SQLiteDatabase as SQLiteDatabase
from te_sched.public_members import is_function
from te_sched.signatures import check_arguments

_DATABASES = {
    "json": JSONDatabase,
    "memory": MemoryDatabase,
    "sqlite": SQLiteDatabase,
    "union": UnionDatabase,
    "ordered_union": OrderedUnionDatabase,
}


def create(kind: Any = "json", *args: Any, **kwargs: Any) -> Database:
    """A database by its name, or of a function of a schedule; a database is returned as it is.

    >>> type(create("memory")).__name__
    'MemoryDatabase'
    """
    if is_function(kind) and not isinstance(kind, Database):
        return ScheduleFnDatabase(kind, *args, **kwargs)
    return made(Database, "kind of database", _DATABASES, kind, args, kwargs)


Database.create = staticmethod(create)  # type: ignore[attr-defined]

__all__ = [
    "Database",
    "JSONDatabase",
    "MemoryDatabase",
    "OrderedUnionDatabase",
    "PyDatabase",
    "SQLiteDatabase",
    "ScheduleFnDatabase",
    "TuningRecord",
    "UnionDatabase",
    "Workload",
    "create",
]

check_arguments(sys.modules[__name__])

_tell_of_absent_names(__name__)
