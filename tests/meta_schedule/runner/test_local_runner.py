"""Candidates are measured in a worker process: results, failures, and what the log says."""

import os
import re

import pytest

from te_sched import meta_schedule as ms
from te_sched.meta_schedule.runner import local_runner
from te_sched.script import from_source
from tests.meta_schedule.programs import MODULE, RUNNER, complain
from tests.meta_schedule.runner.functions import asleep, count, double, triple
from tests.meta_schedule.runner.misbehaving import ABORTS, HANGS, NEEDS_MEMORY, misbehave


def measured(runner, path, function=MODULE["main"], reference=None):
    infos = ms.ArgInfo.from_prim_func(function)
    (future,) = runner.run([ms.runner.RunnerInput(path, "cpu", infos, reference)])
    result = future.result()
    assert future.done()
    return result


def test_a_candidate_is_built_and_measured(built):
    (path,) = built(MODULE["main"])
    result = measured(RUNNER, path)
    assert result.error_msg is None
    assert 0 < result.run_secs[0] < 10
    assert result.machine
    ms.utils.remove_build_dir(path)
    assert not os.path.exists(path)
    assert "An exception occurred" in measured(RUNNER, path).error_msg


@pytest.mark.parametrize(("function", "other"), [(double, triple), (count, None)])
def test_results_are_compared(function, other, built):
    reference, same = built(function, function)
    assert measured(RUNNER, same, function, reference).error_msg is None
    if other is not None:
        (path,) = built(other)
        message = measured(RUNNER, path, function, reference).error_msg
        assert "computes something else than the program in argument 1" in message


def test_hopeless_candidates_are_ended_early(monkeypatch, built):
    monkeypatch.setattr(local_runner, "_PATIENCE", 0.5)
    reference, path = built(count, asleep)
    runner = ms.runner.LocalRunner()
    message = measured(runner, path, count, reference).error_msg
    found = re.fullmatch(r"LocalRunner: Timeout, killed after ([0-9.]+) seconds", message)
    assert found is not None
    assert float(found[1]) < 10
    runner.close()


def test_candidates_that_crash_hang_or_need_memory_cost_themselves(built):
    (path,) = built(MODULE["main"])
    runner = ms.runner.LocalRunner(2.0, f_run_evaluator=misbehave, memory_limit=4 << 30)
    futures = runner.run(
        [
            ms.runner.RunnerInput(path, "cpu", [ms.arg_info.TensorInfo("int8", [size])])
            for size in (1, ABORTS, HANGS, NEEDS_MEMORY)
        ]
    )
    results = [one.result() for one in futures]
    assert [one.run_secs for one in results] == [[1.0], None, None, None]
    messages = [one.error_msg or "" for one in results]
    assert "ended with signal SIGABRT" in messages[1]
    assert messages[2] == "LocalRunner: Timeout, killed after 2 seconds"
    assert "needed more memory than the limit" in messages[3]
    runner.close()
    infos = [ms.arg_info.TensorInfo("int8", [7])]
    (future,) = runner.run([ms.runner.RunnerInput(path, "cpu", infos)])  # in a new worker
    assert future.result().run_secs == [7.0]
    runner.close()


def test_a_future_of_a_measurement_that_is_over():
    done = ms.runner.LocalRunnerFuture([1.0])
    assert done.done()
    assert done.result().run_secs == [1.0]


def test_an_unscheduled_program_that_fails_is_reported(caplog, monkeypatch, built):
    monkeypatch.setattr(local_runner, "save_reference", complain)
    path, reference = built(MODULE["main"], MODULE["main"])
    assert measured(RUNNER, path, reference=reference).error_msg is None
    assert "the unscheduled program failed, candidates are not checked" in caplog.text


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


def test_log_says_that_the_search_waits_for_the_unscheduled_program(monkeypatch, caplog, built):
    monkeypatch.setattr(local_runner, "_SILENT", 0.01)
    endless = from_source(ENDLESS)
    path, reference = built(count, endless)
    runner = ms.runner.LocalRunner(timeout_sec=0.1)
    infos = ms.ArgInfo.from_prim_func(endless)
    runner.run([ms.runner.RunnerInput(path, "cpu", infos, reference)])
    runner.close()
    assert caplog.messages[0] == (
        "waited 0.01 s for the unscheduled program, which is given up when it has run for 1 s; "
        "Ctrl-C ends the search"
    )
    assert "candidates are not checked: a call in a worker process took longer" in caplog.text
