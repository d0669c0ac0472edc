"""The tests where SIGINT is ignored, as in a command that a script runs in the background."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no ignored signals")
def test_tests_are_interruptible_where_sigint_is_ignored() -> None:
    interrupting = f"test_worker_pool.py::test_workers_end_with_the_main_program[{signal.SIGINT}]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command.append(f"tests/{interrupting}")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which new processes inherit
    try:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
