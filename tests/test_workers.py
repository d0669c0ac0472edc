"""Processes that answer items: one that crashes or hangs costs one item."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.workers import Death, Worker


def answered(item: str | int) -> str | int:
    """The answer to an item of these tests."""
    if item == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "hang":
        time.sleep(1000)
    if item == "leave":
        os._exit(3)
    if item == "process":
        return os.getpid()
    Path("written").write_text("in a folder of its own")
    return f"{item}!"


FUNCTION = "tests.test_workers:answered"


def test_crash_and_hang_end_one_item_alone() -> None:
    with Worker(FUNCTION, limit=2.0) as worker:
        answers = list(worker.answers(["a", "crash", "b", "hang", "leave", 3]))
    assert answers == ["a!", Death("SIGSEGV"), "b!", Death("hung"), Death("exit status 3"), "3!"]
    assert not Path("written").exists()


def test_a_process_lasts_for_some_items() -> None:
    with Worker(FUNCTION, lasts=2) as worker:
        first, second, third = worker.answers(["process"] * 3)
        assert first == second != third
        assert worker.answer("process") == third


def test_many_items_are_sent_while_answers_are_read() -> None:
    with Worker(FUNCTION) as worker:
        assert list(worker.answers(["x" * 1000] * 2000)) == ["x" * 1000 + "!"] * 2000
