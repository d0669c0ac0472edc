"""Candidates are measured in the workers of a cluster: its calls are made here, but for the last
test, which has processes.
"""

import os
import platform
import signal
import threading
import time

import pytest

from te_sched import meta_schedule as ms
from te_sched.meta_schedule.runner import LocalRunner, RunnerInput, dask_runner
from te_sched.tuning.artifacts import Artifact, remove_artifact
from tests.meta_schedule.here import BuilderHere, CallsHere, RunnerHere
from tests.meta_schedule.programs import LLVM, MODULE, QUICK, errors, tune

INFOS = ms.ArgInfo.from_entry_func(MODULE)


@pytest.fixture
def runner(monkeypatch):
    monkeypatch.setattr(dask_runner, "Calls", CallsHere)
    monkeypatch.setattr(dask_runner, "_programs", {})
    return dask_runner.DaskRunner("tcp://machine:8786", timeout_sec=3)


@pytest.fixture
def path():
    (result,) = BuilderHere().build([ms.builder.BuilderInput(MODULE, LLVM)])
    yield result.artifact_path
    remove_artifact(result.artifact_path)


class Noting(RunnerHere):
    """Notes its inputs."""

    def __init__(self):
        super().__init__([1.0, 2.0])
        self.inputs = []

    def run(self, runner_inputs):
        self.inputs += runner_inputs
        return super().run(runner_inputs)


def test_candidates_and_their_program_travel_as_files(runner, path):
    runner._calls.own = own = Noting()
    futures = runner.run([RunnerInput(path, "cpu", INFOS, path)] * 2)
    results = [one.result() for one in futures]
    assert [one.done() for one in futures] == [True, True]
    assert [(one.run_secs, one.machine) for one in results] == [([1.0], "here"), ([2.0], "here")]
    assert [one.args_info for one in own.inputs] == [INFOS] * 2
    assert not any(os.path.exists(one.artifact_path) for one in own.inputs)
    (program,) = {one.reference_path for one in own.inputs}  # is kept for the next candidate
    assert program != path
    assert os.path.exists(program)


def test_equal_programs_are_kept_once(runner, path):
    first, second = dask_runner._kept(Artifact(path)), dask_runner._kept(Artifact(path))
    assert first == second
    assert Artifact(first).data == Artifact(path).data
    other = Artifact(path)
    other.data += b"more"
    assert dask_runner._kept(other) != first


def test_lost_calls_are_results(runner, path):
    runner._calls.own = None
    (future,) = runner.run([RunnerInput(path, "cpu", INFOS)])
    message = future.result().error_msg
    assert message.startswith("DaskRunner: the call was lost\n'NoneType' object has no")
    runner.close()
    assert runner._calls.is_closed
    assert runner._calls.part == (LocalRunner, {"timeout_sec": 3})


def kill_one(cluster, database, died):
    """Kill a worker of a cluster when something was measured."""
    deadline = time.monotonic() + 60
    while not len(database) and time.monotonic() < deadline:
        time.sleep(0.02)
    worker = next(iter(cluster.workers.values()))
    died.append(worker.pid)
    os.kill(worker.pid, signal.SIGKILL)


def test_workers_that_die_cost_no_candidate(tmp_path):
    distributed = pytest.importorskip("distributed")
    database, died = ms.database.MemoryDatabase(), []
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(processes=True, **options) as cluster:
        parts = {
            "builder": ms.builder.DaskBuilder(cluster),
            "runner": ms.runner.DaskRunner(cluster.scheduler_address, evaluator_config=QUICK),
        }
        killer = threading.Thread(target=kill_one, args=(cluster, database, died))
        killer.start()
        tune(tmp_path, 12, num_trials_per_iter=4, database=database, **parts)
        killer.join()
        for part in parts.values():
            part.close()
    assert len(died) == 1
    assert errors(database) == [None] * 12
    machines = {one.machine for one in database.get_all_tuning_records()}
    assert machines == {platform.node()}
