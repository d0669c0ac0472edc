"""Programs and databases as JSON: te_sched reads what TVM 0.19 saves, TVM what te_sched saves."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tvm
from tvm.script import from_source as their_source

from te_sched import ir, script, tir
from te_sched import meta_schedule as ms
from te_sched.target import Target
from tests.golden import tvm_json
from tests.peer import tvm_json_files
from tests.peer.differential import tensorir
from tests.peer.differential.outcome import normal
from tests.sampling import IS_CAMPAIGN

CORPUS = json.loads((tvm_json.FOLDER.parent / "tensorir" / "programs.json").read_text())


def exchanged(source: str) -> None:
    """TVM's program is printed the same here, and te_sched's by TVM."""
    theirs = their_source(source, check_well_formed=False)
    read = ir.load_json(tvm.ir.save_json(theirs))
    assert normal(read.script()) == normal(theirs.script())
    assert ir.structural_equal(read, script.from_source(theirs.script()))
    for ours in (read, script.from_source(source)):
        back = tvm.ir.load_json(ir.save_tvm_json(ours))
        assert normal(back.script()) == normal(theirs.script())
        tvm.ir.assert_structural_equal(back, theirs)
        assert tvm.ir.structural_hash(back) == tvm.ir.structural_hash(theirs)


@pytest.mark.parametrize("name", [*CORPUS] if IS_CAMPAIGN else [*CORPUS][::9])
def test_scheduled_and_lowered_programs_are_exchanged(name: str) -> None:
    exchanged(CORPUS[name]["scheduled"])
    exchanged(CORPUS[name]["lowered"])


@pytest.mark.parametrize("number", range(3000, 3100 if IS_CAMPAIGN else 3008))
def test_random_programs_are_exchanged(number: int) -> None:
    exchanged(tensorir.generate(number))


def test_files_are_what_tvm_writes() -> None:
    for name, text in tvm_json_files.files().items():
        stored = (tvm_json.FOLDER / name).read_text()
        if name == "graph.json":  # whose functions are in the order of addresses
            assert ir.structural_equal(ir.load_json(stored), ir.load_json(text))
        else:
            assert stored == text


@pytest.mark.parametrize("name", tvm_json.PROGRAMS)
def test_tvm_loads_the_programs_of_the_files(name: str) -> None:
    ours = ir.load_json((tvm_json.FOLDER / f"{name}.json").read_text())
    theirs = tvm.ir.load_json(ir.save_tvm_json(ours))
    assert theirs.script() == (tvm_json.FOLDER / f"{name}.txt").read_text()


def test_tvm_loads_databases(tmp_path: Any) -> None:
    product = script.from_source(tvm_json.PRODUCT)
    database = ms.database.JSONDatabase(work_dir=tmp_path)
    schedule = tir.Schedule(product)
    i, j, _ = schedule.get_loops("C")
    schedule.split(i, schedule.sample_perfect_tile(i, 2, decision=[2, 4]))
    schedule.vectorize(j)
    target = Target("llvm -num-cores=2")
    for seconds, message in ((1.0, None), (0.5, "wrong result")):
        database.commit_tuning_record(
            ms.database.TuningRecord(
                schedule.trace,
                database.commit_workload(product),
                [seconds],
                target,
                ms.ArgInfo.from_prim_func(product["main"]),
                error_msg=message,
            )
        )
    theirs = tvm.meta_schedule.database.JSONDatabase(work_dir=str(tmp_path))
    module = their_source(tvm_json.PRODUCT)
    assert (len(theirs), theirs.has_workload(module)) == (2, True)
    found = theirs.query_tuning_record(module, tvm.target.Target("llvm -num-cores=2"), "main")
    assert [float(one) for one in found.run_secs] == [1.0]
    best = theirs.query_ir_module(module, tvm.target.Target("llvm -num-cores=2"), "main")
    assert normal(best.script()) == normal(schedule.mod.script())
