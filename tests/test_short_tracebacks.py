"""Tracebacks end at the user's line, in programs, threads and pytest; a switch shows all frames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import threading

import te_sched
from te_sched import te


def declare(i):
    return A[i] + 1


A = te.placeholder((8,), name="A")
B = te.compute((8,), declare, name="B")


def test_build():
    te_sched.build(te.create_schedule(B.op), [A])  # B is forgotten


def test_element():
    te.compute((8,), lambda i: A[i, i], name="C")


if __name__ == "__main__":
    started = threading.Thread(target=test_element)
    started.start()
    started.join()
    test_build()
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def run(*arguments: object, **variables: str) -> str:
    """What a Python process says of its errors."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_programs_and_threads_end_at_the_users_line(program: Path) -> None:
    text = run(program)
    assert text.count("te_sched.errors.") == 2
    assert "in test_build\n    te_sched.build(te.create_schedule(B.op), [A])" in text
    assert "in <lambda>\n" in text  # of the thread
    assert "short_tracebacks" not in text
    assert os.path.join("te_sched", "driver") not in text


def test_a_switch_shows_all_frames(program: Path) -> None:
    text = run(program, TE_SCHED_FULL_TRACEBACKS="1")
    assert os.path.join("te_sched", "driver") in text


def test_pytest_leaves_the_frames_out(program: Path) -> None:
    text = run("-m", "pytest", "-p", "no:cacheprovider", program)
    assert "2 failed" in text
    assert os.path.join("te_sched", "te", "tensor.py") not in text
    assert os.path.join("te_sched", "driver") not in text


def test_own_faults_are_shown_whole() -> None:
    text = run("-c", "from te_sched import errors\nraise errors.InternalError('broken')")
    assert "InternalError: broken" in text
