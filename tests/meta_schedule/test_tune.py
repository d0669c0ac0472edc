"""Searches: what they return and write, wrong arguments, and processes that end before them."""

import contextlib
import json
import math
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from te_sched import meta_schedule as ms
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.meta_schedule.tune import FILE
from tests.meta_schedule.here import BuilderHere, RunnerHere
from tests.meta_schedule.programs import (
    LLVM,
    MODULE,
    Miscompile,
    errors,
    inner,
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
        builder=BuilderHere(),
        runner=RunnerHere(),
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
            builder=BuilderHere(),
            runner=RunnerHere(),
        )


def test_parts_name_their_class_in_errors():
    with pytest.raises(DeclarationError, match="argument timeout_sec of LocalRunner is None"):
        ms.runner.LocalRunner(timeout_sec=None)
    with pytest.raises(DeclarationError, match="argument f_build of LocalBuilder is 3"):
        ms.builder.LocalBuilder(f_build=3)


def test_there_must_be_tasks(tmp_path):
    with pytest.raises(DeclarationError, match="there are no tasks to tune"):
        ms.tune_tasks(tasks=[], task_weights=[], work_dir=tmp_path, max_trials_global=1)


def test_candidates_that_compute_something_else_are_never_chosen(tmp_path):
    database = tune(tmp_path, 12, space=space(postprocs=[Miscompile()]))
    for one in database.get_all_tuning_records():
        is_wrong = one.error_msg is not None and "computes something else" in one.error_msg
        assert is_wrong == (inner(one.trace) >= 8)
        assert one.is_valid != is_wrong
    best = database.query_tuning_record(MODULE, LLVM)
    assert inner(best.trace) < 8


def test_the_other_tasks_of_a_folder_do_not_count(tmp_path):
    tune(tmp_path, 2)
    other = ms.tune_context.normalized_module(MODULE["main"].with_attr("note", 1))
    database = ms.tune_tir(
        other,
        LLVM,
        tmp_path,
        2,
        space=space(),
        strategy="replay-trace",
        cost_model=None,
        builder=BuilderHere(),
        runner=RunnerHere(),
    )
    assert len(database) == 4
    assert database.query_tuning_record(other, LLVM) is not None


def test_a_user_of_threads_may_tune(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(tune(tmp_path, 1)))
    thread.start()
    thread.join()
    assert errors(found[0]) == [None]


def traces(database):
    return [str(one.trace_json()) for one in database.get_all_tuning_records()]


TUNE = """
import sys
from te_sched.meta_schedule.measure_callback import AddToDatabase
from tests.meta_schedule.here import BuilderHere, RunnerThatHangs
from tests.meta_schedule.programs import tune
parts = {"runner": RunnerThatHangs(int(sys.argv[3]))}
if sys.argv[4] == "local":
    parts.update(builder="local", measure_callbacks=[AddToDatabase()])
tune(sys.argv[1], int(sys.argv[2]), num_trials_per_iter=4, **parts)
"""


def tuning(folder, trials, hangs_after, builder="here", **environment):
    """A process that tunes, and hangs when some candidates were measured."""
    arguments = [str(folder), str(trials), str(hangs_after), builder]
    return subprocess.Popen(
        [sys.executable, "-c", TUNE, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(folder), **environment},
    )


def wait_for(folder, count, process):
    """Wait until the database of a folder has some records."""
    address = f"file:{folder / FILE}?mode=ro"
    records = 0
    while records < count and process.poll() is None:
        time.sleep(0.05)
        with contextlib.suppress(sqlite3.Error), sqlite3.connect(address, uri=True) as connection:
            (records,) = connection.execute("SELECT count(*) FROM record").fetchone()
    assert process.poll() is None


def children(process):
    """The processes that the threads of a process have started."""
    files = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(one) for file in files for one in file.read_text().split()]


def test_a_killed_search_goes_on(tmp_path):
    process = tuning(tmp_path, 24, hangs_after=6)
    wait_for(tmp_path, 4, process)
    process.kill()
    process.communicate()
    before = traces(ms.database.SQLiteDatabase(tmp_path / FILE))
    assert len(before) == 4
    after = traces(tune(tmp_path, 24, num_trials_per_iter=4))
    assert after[:4] == before
    assert len(set(after)) == 24
    assert len(tune(tmp_path, 24)) == 24


def test_ctrl_c_ends_in_good_order(tmp_path):
    """Workers end, and files that no callback removes are removed."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = tuning(tmp_path, 49, 6, "local", TMPDIR=str(temporary))
    wait_for(tmp_path, 4, process)
    workers = children(process)
    assert any(temporary.iterdir())
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "tuning was interrupted after 4 of 49 trials" in printed
    assert workers
    assert not any(os.path.exists(f"/proc/{one}") for one in workers)
    assert not any(temporary.iterdir())
    assert ms.database.JSONDatabase(work_dir=tmp_path).query_schedule(MODULE, LLVM) is not None


def test_two_processes_tune_into_one_database(tmp_path):
    process = tuning(tmp_path, 12, 12)
    wait_for(tmp_path, 1, process)
    tune(tmp_path, 12, num_trials_per_iter=2)
    _, printed = process.communicate(timeout=120)
    assert process.returncode == 0, printed
    database = ms.database.SQLiteDatabase(tmp_path / FILE)
    assert len(database) >= 12
    assert errors(database) == [None] * len(database)


def test_a_full_disk_keeps_what_was_written(tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(DeclarationError, match="cannot write the database"):
            tune(tmp_path, 49, num_trials_per_iter=4)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    database = ms.database.SQLiteDatabase(tmp_path / FILE)
    assert 0 < len(database) < 49
    before = traces(database)
    assert traces(tune(tmp_path, len(before) + 1))[:-1] == before
