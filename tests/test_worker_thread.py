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

from te_sched.errors import CallError, user_place
from te_sched.worker_thread import can_be_left


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
