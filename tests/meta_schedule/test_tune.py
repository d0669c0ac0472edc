"""tune_tir and tune_tasks: what they return and write, older arguments, wrong arguments."""

import json
import math
import os
import subprocess
import sys

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from tests.meta_schedule.programs import (
    BUILDER,
    LLVM,
    MODULE,
    RUNNER,
    errors,
    matmul,
    space,
    tune,
)


def test_a_folder_has_the_files_of_tvm_and_a_log(tmp_path, capfd):
    tune(tmp_path, 3)
    lines = (tmp_path / "database_tuning_record.json").read_text().splitlines()
    assert [json.loads(one)[0] for one in lines] == [0] * 3
    names = {"database_tuning_record.json", "database_workload.json", "tuning.log"}
    assert names <= set(os.listdir(tmp_path))
    log = (tmp_path / "tuning.log").read_text()
    assert "task 0 (main): 3 trials, 0 failed, best" in log
    assert "Total latency (us)" in log
    assert capfd.readouterr().err == ""


def test_warnings_reach_those_who_have_set_up_no_log(tmp_path):
    program = "from tests.meta_schedule.programs import *; "
    call = f"tune({str(tmp_path)!r}, space=space(postprocs=[Reject()]))"
    done = subprocess.run(
        [sys.executable, "-c", program + call], capture_output=True, text=True, check=True
    )
    assert done.stderr == (
        "task main ends without a trial: no schedule of its space is valid and new\n"
    )


def _tune_two(folder, trials):
    module = IRModule({"first": matmul, "second": matmul.with_attr("note", 1)})
    return ms.tune_tir(
        module,
        LLVM,
        folder,
        trials,
        special_space={"first": space(), "second": space()},
        strategy="replay-trace",
        cost_model=None,
        builder=BUILDER,
        runner=RUNNER,
        measure_callbacks=ms.measure_callback.AddToDatabase(),
    )


def test_a_small_budget_reaches_all_tasks(tmp_path):
    found = {one.workload.shash for one in _tune_two(tmp_path, 4).get_all_tuning_records()}
    assert len(found) == 2


def test_tasks_beyond_the_budget_are_named(tmp_path, caplog):
    _tune_two(tmp_path, 1)
    (line,) = [one for one in caplog.messages if "without a trial" in one]
    assert line == "task second ends without a trial: other tasks had all of max_trials_global"


@pytest.mark.parametrize("kind", ["memory", "json"])
def test_other_databases_are_used(tmp_path, kind):
    assert errors(tune(tmp_path / "new", 2, database=kind)) == [None] * 2
    assert (tmp_path / "new" / "database_workload.json").exists() == (kind == "json")


def test_a_given_database_is_no_limit(tmp_path):
    database = ms.database.MemoryDatabase()
    for _ in range(2):
        assert tune(tmp_path, 2, database=database) is database
    assert len(database) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 0}, "max_trials_global is 0, expected a number of trials"),
        ({"num_trials_per_iter": 1.5}, r"num_trials_per_iter is 1\.5, expected a number"),
        ({"measure_callbacks": [3]}, "3 is not a callback"),
        ({"measure_callbacks": None}, "None is not a callback"),
        ({"database": "memory", "module_equality": "x"}, "'x' is not a module equality"),
        ({"folder": 3}, "cannot tune into 3"),
        ({"folder": "/proc/nowhere"}, "cannot create '/proc/nowhere'"),
    ],
)
def test_wrong_arguments_are_refused(tmp_path, options, message):
    with pytest.raises(DeclarationError, match=message):
        tune(**{"folder": tmp_path, **options})


@pytest.mark.parametrize(
    ("tasks", "weights", "message"),
    [
        ([3], [1.0], "element 0 of argument tasks of tune_tasks is 3, expected a TuneContext"),
        ("task", ["x"], "element 0 of argument task_weights of .* is 'x', expected a number"),
        ("task", [math.nan], "the weight of a task is nan"),
        ("task", [-1], "the weight of a task is -1"),
    ],
)
def test_tasks_and_weights_are_checked(tmp_path, tasks, weights, message):
    if tasks == "task":
        tasks = [
            ms.TuneContext(
                MODULE,
                target=LLVM,
                space_generator=space(),
                search_strategy="replay-trace",
            )
        ]
    with pytest.raises(DeclarationError, match=message):
        ms.tune_tasks(
            tasks=tasks,
            task_weights=weights,
            work_dir=tmp_path,
            max_trials_global=1,
            builder=BUILDER,
            runner=RUNNER,
        )


def test_parts_name_their_class_in_errors():
    with pytest.raises(DeclarationError, match="argument timeout_sec of LocalRunner is None"):
        ms.runner.LocalRunner(timeout_sec=None)
    with pytest.raises(DeclarationError, match="argument f_build of LocalBuilder is 3"):
        ms.builder.LocalBuilder(f_build=3)


def test_there_must_be_tasks(tmp_path):
    with pytest.raises(DeclarationError, match="there are no tasks to tune"):
        ms.tune_tasks(tasks=[], task_weights=[], work_dir=tmp_path, max_trials_global=1)
