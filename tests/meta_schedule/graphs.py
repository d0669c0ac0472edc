"""A graph whose functions are tuned, and a database with a record of one of them."""

from __future__ import annotations

from te_sched import IRModule, relax, topi
from te_sched.meta_schedule import database, relax_integration
from te_sched.target import Target
from te_sched.tir import Schedule


def graph() -> IRModule:
    """Two equal additions and a ReLU."""
    x = relax.Var("x", relax.TensorStructInfo([8], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit_te(topi.add, x, x)
        y = builder.emit_te(topi.nn.relu, y)
        y = builder.emit_te(topi.add, y, y)
        builder.emit_func_output(y)
    return builder.get()


def vectorized(mod: IRModule) -> Schedule:
    """The schedule of the addition with its loop as vectors."""
    sch = Schedule(mod)
    sch.vectorize(sch.get_loops(sch.get_block("T_add"))[0])
    return sch


def record_addition(records: database.Database, target: Target) -> None:
    """Add a record of the addition of the graph."""
    tasks = relax_integration.extract_tasks(graph(), target)
    (mod,) = [one.mod for one in tasks if one.task_name == "add"]
    workload = records.commit_workload(mod)
    trace = vectorized(mod).trace
    records.commit_tuning_record(database.TuningRecord(trace, workload, [1e-6], target))
