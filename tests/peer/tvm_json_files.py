"""The files of tests/golden/tvm_json, as live TVM 0.19 writes them, without blanks.

python -m tests.peer.tvm_json_files     write them
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import tvm
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.database import JSONDatabase, TuningRecord
from tvm.script import from_source

from tests.golden.tvm_json import FOLDER, PRODUCT, PROGRAMS


def files() -> dict[str, str]:
    """The texts of the files by name."""
    found = {}
    for name, source in PROGRAMS.items():
        module = from_source(source, check_well_formed=False)
        found[f"{name}.json"] = json.dumps(json.loads(tvm.ir.save_json(module)))
        found[f"{name}.txt"] = module.script()
    return found | _database()


def _database() -> dict[str, str]:
    """Two records of a product of matrices: one of a schedule, one that could not be measured."""
    module = from_source(PRODUCT)
    with tempfile.TemporaryDirectory() as folder:
        database = JSONDatabase(work_dir=folder)
        workload = database.commit_workload(module)
        for inner, seconds in ((4, 0.25), (2, 1e10)):
            schedule = tvm.tir.Schedule(module)
            i, j, k = schedule.get_loops("C")
            _, i_1 = schedule.split(
                i, schedule.sample_perfect_tile(i, 2, decision=[8 // inner, inner])
            )
            schedule.reorder(k, i_1)
            schedule.vectorize(j)
            record = TuningRecord(
                schedule.trace,
                workload,
                [seconds],
                tvm.target.Target("llvm -mtriple=x86_64-unknown-linux-gnu -num-cores=2"),
                ArgInfo.from_prim_func(module["main"]),
            )
            database.commit_tuning_record(record)
        names = ("database_workload.json", "database_tuning_record.json")
        found = {name: (Path(folder) / name).read_text() for name in names}
    return found | {"scheduled.txt": schedule_of(found).script()}


def schedule_of(found: dict[str, str]) -> tvm.IRModule:
    """The best schedule of the database."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in found.items():
            (Path(folder) / name).write_text(text)
        database = JSONDatabase(work_dir=folder)
        return database.query_ir_module(from_source(PRODUCT), tvm.target.Target("llvm"), "main")


if __name__ == "__main__":
    for name, text in files().items():
        (FOLDER / name).write_text(text)
