"""The default schedule of a task as one more candidate, so that tuning makes no graph slower.

What packs constants is not part of the times: a graph does it when it is built.
"""

from __future__ import annotations

from collections.abc import Sequence

from te_sched import dlight
from te_sched.codegen.target import Target
from te_sched.errors import TeSchedError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule.arg_info import ArgInfo
from te_sched.meta_schedule.database import Database
from te_sched.meta_schedule.database.base import TuningRecord
from te_sched.meta_schedule.tune_context import TuneContext
from te_sched.relax.transform.measure_schedules import timed_call
from te_sched.tir.schedule import Schedule
from te_sched.tuning.timing import least_in_turn


def keep_faster_defaults(database: Database, tasks: Sequence[TuneContext]) -> None:
    """Add the default schedules that are faster than all records of their tasks.

    Both are measured in turn. The seconds of the new record are those of the fastest one of the
    search, times the ratio of the two: other records were measured at other times.
    """
    for task in tasks:
        if task.mod is None:
            continue
        default = _default(task.mod, task.target)
        best = database.query_tuning_record(task.mod, task.target, task.task_name)
        if default is None:
            continue
        if best is None or not best.is_valid:
            (seconds,) = least_in_turn([timed_call(_function(default.mod))])
        else:
            taken = least_in_turn(
                [timed_call(_function(default.mod)), timed_call(_function(best.schedule().mod))]
            )
            if taken[0] >= taken[1]:
                continue
            seconds = best.mean * taken[0] / taken[1]
        workload = database.commit_workload(task.mod)
        infos = ArgInfo.from_entry_func(task.mod)
        record = TuningRecord(default.trace, workload, [seconds], task.target, infos)
        database.commit_tuning_record(record)


def _function(module: IRModule) -> PrimFunc:
    """The only function of a module."""
    func = next(iter(module.functions.values()))
    assert isinstance(func, PrimFunc)
    return func


def _default(module: IRModule, target: Target) -> Schedule | None:
    """The default schedule of a task; None without rules for its target."""
    func = next(iter(module.functions.values()))
    if not isinstance(func, PrimFunc):
        return None
    try:
        sch: Schedule | None = dlight.cpu.Default().apply(func, target, False)
        if sch is not None:
            replayed = Schedule(module)
            sch.trace.apply_to_schedule(replayed, remove_postproc=False)
    except TeSchedError:  # it is not a schedule that a database can keep
        return None
    return sch
