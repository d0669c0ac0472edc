"""A workload, its records, and databases of each kind, for the tests of databases."""

from te_sched import meta_schedule as ms
from te_sched import tir
from te_sched.ir.stmt import IRModule
from te_sched.script import tir as T
from te_sched.target import Target


@T.prim_func
def double(a: T.Buffer((8, 8), "float32"), c: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = a[vi, vj] * 2.0


MODULE = IRModule({"main": double})
LLVM = Target("llvm -num-cores=4")


def traced(mod=MODULE):
    sch = tir.Schedule(mod, seed=3)
    i, _ = sch.get_loops("c")
    sch.split(i, sch.sample_perfect_tile(i, n=2))
    return sch


def record(database, *seconds, target=LLVM, **more):
    sch = traced()
    found = ms.database.TuningRecord(
        sch.trace,
        database.commit_workload(MODULE),
        list(seconds),
        target,
        ms.ArgInfo.from_prim_func(double),
        **more,
    )
    database.commit_tuning_record(found)
    return sch


def databases(tmp_path):
    return [
        ms.database.MemoryDatabase(),
        ms.database.JSONDatabase(work_dir=tmp_path),
        ms.database.SQLiteDatabase(tmp_path / "tuning.db"),
    ]
