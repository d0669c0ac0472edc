"""Calls on a thread of their own."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from te_sched import worker_thread
from te_sched.errors import CallError, user_place
from te_sched.worker_thread import CallsAhead, can_be_left, map_in_threads


def test_what_a_call_raises_comes_back_with_the_users_line() -> None:
    here = user_place()

    @can_be_left
    def fail() -> None:
        assert threading.current_thread() is not threading.main_thread()
        raise CallError("do nothing", "it fails", "do not")

    with pytest.raises(CallError, match="it fails") as caught:
        fail()
    assert str(here).rpartition(":")[0] in caught.value.where


def test_what_a_failed_call_held_goes_at_once() -> None:
    """In the order of its frames, and not with a later collection, in any order."""
    held: list[weakref.ref[threading.Event]] = []

    @can_be_left
    def fail() -> None:
        event = threading.Event()
        held.append(weakref.ref(event))
        raise CallError("do nothing", "it fails", "do not")

    gc.disable()
    try:
        with contextlib.suppress(CallError):
            fail()
        assert held[0]() is None
    finally:
        gc.enable()


def test_without_room_for_a_thread_the_caller_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert can_be_left(threading.current_thread)() is threading.main_thread()


def test_a_thread_that_is_left_stops() -> None:
    """What it executes in Python; its caller goes on at once."""
    begun, stopped = threading.Event(), threading.Event()

    @can_be_left
    def count() -> None:
        begun.set()
        try:
            while True:
                time.sleep(0.001)
        finally:
            stopped.set()

    with interrupted(begun), pytest.raises(KeyboardInterrupt):
        count()
    assert stopped.wait(60)


@contextlib.contextmanager
def interrupted(begun: threading.Event) -> Iterator[None]:
    """A Ctrl-C once something has begun."""

    def interrupt() -> None:
        if begun.wait(60):
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=interrupt)
    other.start()
    try:
        yield
    finally:
        other.join()
        signal.signal(signal.SIGINT, before)


def test_calls_for_many_items_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "usable_processors", lambda: 3)
    meeting = threading.Barrier(3, timeout=60)
    assert map_in_threads(lambda item: (meeting.wait(), item * item)[1], range(9)) == [
        item * item for item in range(9)
    ]
    assert map_in_threads(str, []) == []
    before = threading.active_count()
    assert map_in_threads(lambda item: threading.active_count(), [1]) == [before]


def test_the_first_failure_of_many_calls_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "usable_processors", lambda: 2)
    done = []

    def call(item: int) -> None:
        done.append(item)
        if item == 3:
            raise IndexError("item 3")

    with pytest.raises(IndexError, match="item 3"):
        map_in_threads(call, range(10**6))
    assert len(done) < 10**6


def test_without_room_for_threads_the_caller_makes_all_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads = map_in_threads(lambda item: threading.current_thread(), [1, 2, 3])
    assert threads == [threading.current_thread()] * 3


def test_calls_are_begun_before_all_items_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "usable_processors", lambda: 2)
    is_called, threads = threading.Event(), []

    def call(item: int) -> int:
        threads.append(threading.current_thread())
        is_called.set()
        return item * item

    calls = CallsAhead(call)
    calls.begin(3)
    assert is_called.wait(60)
    calls.begin(3)
    calls.begin(5)
    assert calls.results([5, 2, 3]) == [25, 4, 9]
    assert len(threads) == 3
    assert threads[0] is not threading.current_thread()


def test_without_another_processor_all_calls_are_made_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_thread, "usable_processors", lambda: 1)
    calls = CallsAhead(lambda item: threading.current_thread())
    calls.begin(1)
    assert calls.results([1, 2]) == [threading.current_thread()] * 2


def test_the_failure_of_a_call_ahead_is_raised_with_the_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_thread, "usable_processors", lambda: 2)
    calls = CallsAhead(lambda item: 1 // item)
    calls.begin(0)
    with pytest.raises(ZeroDivisionError):
        calls.results([1, 0])


def test_calls_that_are_stopped_are_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_thread, "usable_processors", lambda: 2)
    is_running, may_end, called = threading.Event(), threading.Event(), []

    def call(item: int) -> None:
        called.append(item)
        is_running.set()
        may_end.wait(60)

    calls = CallsAhead(call)
    calls.begin(1)
    assert is_running.wait(60)
    calls.begin(2)
    calls.stop(waits=False)
    may_end.set()
    calls.stop()
    assert called == [1]
