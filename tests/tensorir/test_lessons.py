"""Whole programs of lessons on TensorIR: each prints what it prints with TVM 0.19, and its own
checks of results against numpy hold. TVM's literals are written as te_sched writes them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "golden" / "tensorir" / "lessons"
PROGRAMS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_lesson(program: Path) -> None:
    command = [sys.executable, "-m", "te_sched", "run", str(program)]
    environment = {**os.environ, "TE_SCHED_EMULATE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    assert lines == program.with_suffix(".txt").read_text().splitlines()
