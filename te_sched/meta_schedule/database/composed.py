"""Databases that ask other databases, or a function of a schedule."""

from __future__ import annotations

from collections.abc import Callable

from te_sched.codegen.target import Target
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.database.base import Database, TuningRecord, Workload
from te_sched.meta_schedule.database.memory import MemoryDatabase
from te_sched.tir.schedule import Schedule


class _Union(Database):
    def __init__(self, *databases: Database) -> None:
        self.databases = databases

    def answers(
        self, mod: IRModule, target: Target, workload_name: str | None
    ) -> list[TuningRecord]:
        """What the databases answer, in their order."""
        records = [
            database.query_tuning_record(mod, target, workload_name) for database in self.databases
        ]
        return [record for record in records if record is not None]


class UnionDatabase(_Union):
    """The fastest record of several databases.

    >>> UnionDatabase(MemoryDatabase()).query_tuning_record(te_sched.IRModule(), "llvm") is None
    True
    """

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        answers = self.answers(mod, target, workload_name)
        return min(answers, key=lambda record: record.mean, default=None)


class OrderedUnionDatabase(_Union):
    """The record of the first of several databases that has one.

    >>> empty = OrderedUnionDatabase(MemoryDatabase(), MemoryDatabase())
    >>> empty.query_tuning_record(te_sched.IRModule(), "llvm") is None
    True
    """

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        return next(iter(self.answers(mod, target, workload_name)), None)


class ScheduleFnDatabase(MemoryDatabase):
    """A database of what a function schedules: it transforms a schedule and returns whether it did.

    Parameters
    ----------
    schedule_fn : a function of a Schedule of the module that is asked for.

    >>> database = ScheduleFnDatabase(lambda sch: True)
    >>> module = te_sched.IRModule({"main": matmul_relu})
    >>> list(database.query_schedule(module, "llvm").mod.functions)
    ['main']
    """

    def __init__(
        self, schedule_fn: Callable[[Schedule], bool], module_equality: str = "structural"
    ) -> None:
        super().__init__(module_equality)
        self._schedule_fn = schedule_fn

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        schedule = Schedule(mod)
        if not self._schedule_fn(schedule):
            return None
        return TuningRecord(schedule.trace, Workload(mod), None, Target(target))
