"""Locks in forked processes, and values that threads compute once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from te_sched.codegen.cuda import nvrtc
from te_sched.locks import new_lock, new_reentrant_lock, once


def test_threads_that_ask_together_get_one_result() -> None:
    @once
    def make() -> object:
        time.sleep(0.1)
        return object()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: make(), range(4)))
    assert all(one is results[0] for one in results)


def test_a_call_that_fails_is_made_again() -> None:
    calls = []

    @once
    def make() -> int:
        calls.append(1)
        return 1 // (len(calls) - 1)

    with pytest.raises(ZeroDivisionError):
        make()
    assert [make(), make(), len(calls)] == [1, 1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("make", [new_lock, new_reentrant_lock])
def test_a_lock_is_free_in_a_child_process(make: Callable[[], threading.Lock]) -> None:
    """Which does not have the thread that held it."""
    lock = make()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lock.acquire).result()
        child = os.fork()
        if child == 0:
            os._exit(0 if lock.acquire(blocking=False) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert not lock.acquire(blocking=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_waits_for_no_compiler_of_its_parent() -> None:
    key = ("source", "sm_80", ())
    nvrtc._compiled[key] = Future()
    child = os.fork()
    if child == 0:
        os._exit(0 if key not in nvrtc._compiled else 1)
    del nvrtc._compiled[key]
    assert os.waitpid(child, 0)[1] == 0
