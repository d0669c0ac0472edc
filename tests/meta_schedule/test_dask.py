"""Builders and runners on a cluster of dask: results, workers that die, wrong addresses."""

import os
import platform
import signal
import threading
import time

import pytest

from te_sched import meta_schedule as ms
from te_sched.tuning import cluster as dask_cluster
from tests.meta_schedule.programs import QUICK, errors, tune

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found


def parts(cluster):
    return {
        "builder": ms.builder.DaskBuilder(cluster),
        "runner": ms.runner.DaskRunner(cluster, evaluator_config=QUICK),
    }


def test_results_have_the_name_of_the_machine(cluster, tmp_path):
    database = tune(tmp_path, 6, **parts(cluster.scheduler_address))
    records = database.get_all_tuning_records()
    assert errors(database) == [None] * 6
    assert {one.machine for one in records} == {platform.node()}


def kill_twice(cluster, died):
    for _ in range(2):
        time.sleep(2.0)
        worker = next(iter(cluster.workers.values()))
        while worker.pid is None:  # it is starting again
            time.sleep(0.05)
        died.append(worker.pid)
        os.kill(died[-1], signal.SIGKILL)


def test_workers_that_die_cost_no_candidate(cluster, tmp_path):
    died = []
    killer = threading.Thread(target=kill_twice, args=(cluster, died))
    killer.start()
    database = tune(tmp_path, 40, **parts(cluster))
    killer.join()
    assert len(died) == 2
    assert errors(database) == [None] * 40


def test_failures_of_candidates_are_results(cluster, tmp_path):
    builder = ms.builder.DaskBuilder(cluster, timeout_sec=1e-3)
    database = tune(tmp_path, 2, builder=builder, runner=parts(cluster)["runner"])
    assert all("Timeout" in one for one in errors(database))


def lost(*args):
    raise ValueError("no such thing")


def test_lost_calls_are_results(cluster, monkeypatch):
    client = distributed.Client(cluster)
    runner, builder = ms.runner.DaskRunner(client), ms.builder.DaskBuilder(client)
    assert "lost\nno such thing" in runner._result(client.submit(lost)).error_msg
    assert "lost\nno such thing" in builder._result(client.submit(lost)).error_msg
    runner.close()
    assert client.status == "running"
    monkeypatch.setattr(dask_cluster, "_LOOK", 0.01)
    monkeypatch.setattr(dask_cluster, "_NO_WORKERS", 0.0)
    monkeypatch.setattr(client, "nthreads", dict)
    assert "has no workers" in runner._result(client.submit(time.sleep, 1)).error_msg
    client.close()


def test_a_closed_runner_connects_again(cluster, tmp_path):
    using = parts(cluster.scheduler_address)
    for one in using.values():
        one.close()
    assert errors(tune(tmp_path, 1, **using)) == [None]
