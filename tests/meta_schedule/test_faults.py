"""Faults of candidates, spaces, disks and processes: each costs what it touches, and no more."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched.errors import BuildError, DeclarationError
from te_sched.meta_schedule.runner import local_runner
from te_sched.meta_schedule.tune import FILE
from te_sched.script import from_source
from te_sched.worker_pool import scratch_folder
from tests.meta_schedule.programs import (
    BUILDER,
    LLVM,
    MODULE,
    QUICK,
    RUNNER,
    Miscompile,
    Reject,
    abort_first,
    complain,
    errors,
    hang,
    inner,
    need_memory,
    space,
    tune,
)

TUNE = """
import sys
from tests.meta_schedule.programs import tune
tune(sys.argv[1], int(sys.argv[2]), num_trials_per_iter=int(sys.argv[3]))
"""


def runner(**options):
    return ms.runner.LocalRunner(evaluator_config=QUICK, **options)


def tuning(folder, trials, each, **options):
    """A process that tunes."""
    program = [sys.executable, "-c", TUNE, str(folder), str(trials), str(each)]
    return subprocess.Popen(program, stderr=subprocess.PIPE, text=True, **options)


def recorded(folder):
    """How many records the database of a folder has now."""
    try:
        with sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM record").fetchone()[0]
    except sqlite3.Error:
        return 0


def wait_for(folder, count, process):
    while recorded(folder) < count and process.poll() is None:
        time.sleep(0.05)
    assert process.poll() is None


def traces(database):
    return [str(one.trace_json()) for one in database.get_all_tuning_records()]


def test_candidates_that_crash_cost_themselves(tmp_path):
    database = tune(tmp_path, 4, runner=runner(f_run_evaluator=abort_first))
    found = errors(database)
    assert [one is None for one in found] == [True, False, True, False]
    assert "ended with signal SIGABRT" in found[1]
    assert database.query_tuning_record(MODULE, LLVM) is not None


def test_candidates_that_hang_are_ended(tmp_path):
    found = errors(tune(tmp_path, 2, runner=runner(f_run_evaluator=hang, timeout_sec=1)))
    assert found == ["LocalRunner: Timeout, killed after 1 seconds"] * 2


def test_candidates_that_need_memory_are_refused(tmp_path):
    limited = runner(f_run_evaluator=need_memory, memory_limit=4 << 30)
    assert all(
        "needed more memory than the limit" in one
        for one in errors(tune(tmp_path, 2, runner=limited))
    )


@pytest.mark.parametrize("part", ["f_build", "f_export"])
def test_builders_that_raise_cost_their_candidates(tmp_path, part, caplog):
    builder = ms.builder.LocalBuilder(max_workers=1, **{part: complain})
    found = errors(tune(tmp_path, 2, builder=builder))
    assert all("a fault of the user's function" in one for one in found)
    assert "candidates are not checked: LocalBuilder: An exception" in caplog.text


def test_candidates_that_compute_something_else_are_never_chosen(tmp_path):
    database = tune(tmp_path, 12, space=space(postprocs=[Miscompile()]))
    for one in database.get_all_tuning_records():
        is_wrong = one.error_msg is not None and "computes something else" in one.error_msg
        assert is_wrong == (inner(one.trace) >= 8)
        assert one.is_valid != is_wrong
    best = database.query_tuning_record(MODULE, LLVM)
    assert inner(best.trace) < 8


def test_an_unscheduled_program_that_fails_is_reported(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(ms.runner.local_runner, "save_reference", complain)
    assert errors(tune(tmp_path, 1)) == [None]
    assert "the unscheduled program failed, candidates are not checked" in caplog.text


class Runner(ms.runner.PyRunner):
    """Measures nothing: calls a function, now or for each result."""

    def __init__(self, function, is_late=False):
        self.function, self.is_late = function, is_late

    def run(self, inputs):
        """What the function returns, or futures of it."""
        if not self.is_late:
            return self.function(inputs)
        return [ms.runner.RunnerFuture(lambda: True, lambda: self.function(inputs)) for _ in inputs]


class Callback(ms.measure_callback.PyMeasureCallback):
    """Calls a function."""

    def __init__(self, function):
        self.function = function

    def apply(self, *arguments):
        """What the function returns."""
        self.function()


def interrupt(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "options",
    [
        {"runner": Runner(complain)},
        {"runner": Runner(complain, is_late=True)},
        {"runner": Runner(interrupt)},
        {"runner": Runner(lambda inputs: inputs)},
        {"measure_callbacks": Callback(complain)},
        {"measure_callbacks": Callback(interrupt)},
    ],
)
def test_a_search_that_is_cut_short_removes_what_was_built(tmp_path, options):
    with scratch_folder() as folder:
        before = set(os.listdir(folder))
        with contextlib.suppress(ValueError, DeclarationError):
            assert len(tune(tmp_path, 2, **options)) == 0
        assert set(os.listdir(folder)) <= before


def test_what_was_built_without_the_usual_callbacks_is_removed_at_the_end(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = (
        "import sys\nfrom tests.meta_schedule.programs import tune\n"
        "tune(sys.argv[1], 1, measure_callbacks=[])"
    )
    program = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(program, check=True, env={**os.environ, "TMPDIR": str(temporary)})
    assert not any(temporary.iterdir())


class Builder(ms.builder.PyBuilder):
    """Returns something else than results."""

    def __init__(self, found):
        self.found = found

    def build(self, inputs):
        """What it was made with."""
        return self.found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"builder": Builder([])},
            r"Builder returned \[\], expected a list of 3 BuilderResults",
        ),
        ({"builder": Builder([None] * 3)}, r"returned \[None, None, None\], expected a list of 3"),
        ({"runner": Runner(lambda inputs: None)}, "returned None, expected a list of 2 RunnerFut"),
        ({"runner": Runner(lambda inputs: "fast", True)}, "'fast', expected a RunnerResult"),
    ],
)
def test_parts_that_return_something_else_are_refused(tmp_path, options, message):
    with pytest.raises(DeclarationError, match=message):
        tune(tmp_path, 2, **options)


def test_spaces_without_schedules_are_refused(tmp_path):
    with pytest.raises(DeclarationError, match="the space of task 'main' has no schedules"):
        tune(tmp_path, space=space(lambda sch: []))


def test_spaces_that_raise_end_the_call(tmp_path):
    with pytest.raises(ValueError, match="a fault of the user's function"):
        tune(tmp_path, space=space(complain))


@pytest.mark.parametrize("strategy", ["replay-trace", "replay-func", "evolutionary"])
def test_spaces_without_valid_schedules_are_reported(tmp_path, strategy, caplog):
    database = tune(tmp_path, space=space(postprocs=[Reject()]), strategy=strategy)
    assert ms.tir_integration.compile_tir(database, MODULE, LLVM) is None
    assert "task main ends without a trial" in caplog.text


def test_exhausted_spaces_end_an_evolutionary_search(tmp_path):
    database = tune(tmp_path, 100, num_trials_per_iter=64, strategy="evolutionary")
    assert len(database) == len(set(traces(database))) == 49


def test_a_killed_search_goes_on(tmp_path):
    process = tuning(tmp_path, 24, 4, stdout=subprocess.PIPE)
    wait_for(tmp_path, 4, process)
    process.kill()
    process.communicate()
    before = traces(ms.database.SQLiteDatabase(tmp_path / FILE))
    assert len(before) < 24
    after = traces(tune(tmp_path, 24, num_trials_per_iter=4))
    assert after[: len(before)] == before
    assert len(set(after)) == 24
    assert len(tune(tmp_path, 24)) == 24


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
        builder=BUILDER,
        runner=RUNNER,
    )
    assert len(database) == 4
    assert database.query_tuning_record(other, LLVM) is not None


def children(process):
    """The processes that the threads of a process have started."""
    files = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(one) for file in files for one in file.read_text().split()]


def test_ctrl_c_ends_in_good_order(tmp_path):
    process = tuning(tmp_path, 49, 4)
    wait_for(tmp_path, 4, process)
    workers = children(process)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "tuning was interrupted after" in printed
    assert "of 49 trials" in printed
    assert workers
    assert not any(os.path.exists(f"/proc/{one}") for one in workers)
    assert ms.database.JSONDatabase(work_dir=tmp_path).query_schedule(MODULE, LLVM) is not None


def test_ctrl_c_keeps_what_was_measured_of_a_batch(tmp_path):
    measured = []

    class Interrupted(ms.runner.PyRunner):
        def run(self, inputs):
            def fail():
                raise KeyboardInterrupt

            result = ms.runner.RunnerResult([1.0], None)
            first = ms.runner.RunnerFuture(lambda: True, lambda: result)
            return [first, *(ms.runner.RunnerFuture(lambda: False, fail) for _ in inputs[1:])]

        def close(self):
            measured.append("closed")

    database = tune(tmp_path, 4, runner=Interrupted())
    assert [one.run_secs for one in database.get_all_tuning_records()] == [[1.0]]
    assert "closed" in measured


def test_two_processes_tune_into_one_database(tmp_path):
    processes = [tuning(tmp_path, 12, 4) for _ in range(2)]
    for one in processes:
        _, printed = one.communicate(timeout=120)
        assert one.returncode == 0, printed
    database = ms.database.SQLiteDatabase(tmp_path / FILE)
    assert len(database) >= 12
    assert errors(database) == [None] * len(database)


FULL = """
import resource, sys
from te_sched.errors import DeclarationError
from tests.meta_schedule.programs import tune
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    tune(sys.argv[1], 49, num_trials_per_iter=4)
except DeclarationError as error:
    print(error)
"""


def test_a_full_disk_keeps_what_was_written(tmp_path):
    program = [sys.executable, "-c", FULL, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert "cannot write the database" in done.stdout
    database = ms.database.SQLiteDatabase(tmp_path / FILE)
    assert 0 < len(database) < 49
    before = traces(database)
    assert traces(tune(tmp_path, len(before) + 1))[:-1] == before


def test_damaged_databases_are_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(DeclarationError, match=r"cannot open the database .* is not a database"):
        tune(tmp_path)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("record SET content = '[0,'", "record"),
        ("record SET content = '{}'", "record"),
        ("record SET content = '[[[1],[2]],[1.0],null,null]'", "record"),
        ("record SET content = '[[1,2],[1.0],null,null]'", "record"),
        ("record SET content = replace(content, 'llvm', 'abacus')", "record"),
        ("record SET workload = 77", "record"),
        ("workload SET module = '{}'", "workload"),
    ],
)
def test_damaged_records_are_refused(tmp_path, change, what):
    tune(tmp_path, 1)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute(f"UPDATE {change}")
    with pytest.raises(DeclarationError, match=rf"a {what} of the database .* is damaged"):
        tune(tmp_path, 2)


def test_a_user_of_threads_may_tune(tmp_path):
    found = []
    thread = threading.Thread(target=lambda: found.append(tune(tmp_path, 1)))
    thread.start()
    thread.join()
    assert errors(found[0]) == [None]


ENDLESS = """
@T.prim_func
def main(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
    with T.block("endless"):
        T.reads(A[0])
        T.writes(B[0])
        B[0] = T.float32(0)
        while B[0] < T.float32(1):
            B[0] = A[0] * T.float32(0)
"""


def test_program_that_does_not_end_is_refused_after_the_limit_of_a_candidate():
    program, start = from_source(ENDLESS), time.monotonic()
    with pytest.raises(BuildError, match="cannot be built or run as it is given") as caught:
        te_sched.tune(program, trials=1, builder=BUILDER, runner=runner(timeout_sec=3))
    assert "Timeout, killed after 3 seconds" in caught.value.why
    assert time.monotonic() - start < 25  # and not ten times that limit before


def test_log_says_that_the_search_waits_for_the_unscheduled_program(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(local_runner, "_SILENT", 0.5)
    options = {"runner": runner(timeout_sec=0.2), "database": "memory", "builder": BUILDER}
    ms.tune_tir(from_source(ENDLESS), LLVM, tmp_path, 1, strategy="replay-trace", **options)
    assert caplog.messages[0] == (
        "waited 0.5 s for the unscheduled program, which is given up when it has run for 2 s; "
        "Ctrl-C ends the search"
    )
