"""Calls under the switches of the caller, and how they fail."""

import os
import pickle
import time

import pytest

import te_sched
from te_sched.errors import WrongAnswerError
from te_sched.tuning.workers import Failure, FailureKind, loading, outcome_of, with_switches
from te_sched.worker_pool import WorkerPool, WorkerTimeoutError


def steps():
    return te_sched.config.current().max_steps


def test_calls_have_the_switches_of_the_caller_in_another_process():
    with te_sched.config(max_steps=7):
        function = with_switches(steps)
    assert steps() is None
    assert function() == 7
    assert pickle.loads(pickle.dumps(function))() == 7


def test_a_restarted_pool_makes_calls_again():
    with te_sched.config(max_steps=5):
        function = with_switches(steps)
    with WorkerPool(1, 60) as pool:
        assert pool.submit(function).result() == 5
        pool.restart()
        assert pool.submit(abs, -3).result() == 3


def wait_for_its_module():
    time.sleep(1.2)
    os.environ["TE_SCHED_TEST_WORKER"] = "is ready"


def test_workers_load_modules_outside_of_the_limits_of_calls():
    with WorkerPool(1, 1.0, None, loading(steps, wait_for_its_module)) as pool:
        assert pool.submit(os.getenv, "TE_SCHED_TEST_WORKER").result() == "is ready"
    with WorkerPool(1, 60, None, loading(steps)) as pool:
        loaded = pool.submit(eval, f"{__name__!r} in __import__('sys').modules").result()
        assert loaded


def raising(error):
    def call():
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (WorkerTimeoutError("too long"), FailureKind.TIMEOUT),
        (WrongAnswerError("wrong"), FailureKind.WRONG_ANSWER),
        (ZeroDivisionError("zero"), FailureKind.ERROR),
    ],
)
def test_failures_have_kinds(error, kind):
    assert outcome_of(raising(error)) == Failure(kind, error)


def test_results_and_interrupts_are_no_failures():
    assert outcome_of(lambda: 3) == 3
    with pytest.raises(KeyboardInterrupt):
        outcome_of(raising(KeyboardInterrupt()))


def test_messages_of_failures():
    timeout = Failure(FailureKind.TIMEOUT, WorkerTimeoutError("too long"))
    assert timeout.message("LocalRunner", "2") == "LocalRunner: Timeout, killed after 2 seconds"
    error = Failure(FailureKind.ERROR, ValueError("no"))
    assert error.message("LocalBuilder", "2") == "LocalBuilder: An exception occurred\nno"
