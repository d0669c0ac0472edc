"""The pass over graphs that applies what a search found."""

from __future__ import annotations

import os

from te_sched.codegen.target import Target
from te_sched.dlight.base import IS_SCHEDULED, named_as
from te_sched.errors import DeclarationError, TeSchedError, warn
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.ir.structural import structural_equal
from te_sched.meta_schedule.database import Database, JSONDatabase
from te_sched.meta_schedule.database.base import TuningRecord
from te_sched.meta_schedule.tune_context import normalized_module
from te_sched.tir.schedule import Schedule
from te_sched.tir.transform import ModulePass


class MetaScheduleApplyDatabase(ModulePass):
    """The pass that schedules functions by the fastest records of a database.

    Parameters
    ----------
    work_dir : the folder of the database; by default that of `with database:`.
    enable_warning : whether a warning names the functions without a record.
    """

    def __init__(
        self, work_dir: str | os.PathLike[str] | None = None, enable_warning: bool = False
    ) -> None:
        self.work_dir, self.enable_warning = work_dir, enable_warning

    def transform_module(self, mod: IRModule, *_: object) -> IRModule:
        """The module with scheduled functions, which have the attribute "tir.is_scheduled"."""
        database, target = self._database(), current_target(self.info.name)
        functions: dict[str, PrimFunc] = {}
        for name, func in mod.functions.items():
            if not isinstance(func, PrimFunc) or func.attrs.get(IS_SCHEDULED):
                continue
            new_func = _applied(database, func, target)
            if new_func is not None:
                functions[name] = new_func
            elif self.enable_warning:
                warn(f"the database has no record of {name} for {target}")
        return mod.with_functions(functions)

    def _database(self) -> Database:
        if self.work_dir is not None:
            return JSONDatabase(work_dir=str(self.work_dir))
        database = Database.current()
        if database is None:
            raise DeclarationError(
                "MetaScheduleApplyDatabase has no database",
                "",
                "give its folder, or use it inside of `with database:`",
            )
        return database


def current_target(name: str) -> Target:
    target = Target.current()
    if target is None:
        raise DeclarationError(
            f"{name} does not know the target", "", 'use it inside of `with Target("llvm"):`'
        )
    return target


def _applied(database: Database, func: PrimFunc, target: Target) -> PrimFunc | None:
    """The function scheduled by the fastest record of it; None if there is none that fits."""
    module = normalized_module(func)
    record = database.query_tuning_record(module, target, "main")
    if record is None:
        return None
    schedule = _replayed(record, module)
    if schedule is None:
        return None
    new_func: PrimFunc = schedule.mod["main"]
    return named_as(new_func, func).with_attr(IS_SCHEDULED, True)


def _replayed(record: TuningRecord, module: IRModule) -> Schedule | None:
    """A record applied to a module; None if it is of another one and does not fit."""
    if structural_equal(record.workload.mod, module):
        return record.schedule()  # blocks may have other names
    schedule = Schedule(module)
    try:
        record.trace.apply_to_schedule(schedule, remove_postproc=False)
    except TeSchedError:
        return None
    return schedule
