"""Programs of courses on graphs run as they are: each prints what it prints with TVM 0.19, and its
own checks of results against numpy or torch hold. TVM's literals are written as te_sched writes
them.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = sorted((Path(__file__).parents[1] / "golden" / "graphs" / "courses").glob("*.py"))


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*is deprecated", "ignore:.*database")
def test_course(program: Path, as_tvm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if "import torch" in program.read_text():
        pytest.importorskip("torch")
    np.random.seed(0)  # sums that cancel are not as near as the checks of a program ask
    # Processes that the program starts find te_sched, too.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(program), run_name="__main__")
    assert lines_of(printed.getvalue()) == lines_of(program.with_suffix(".txt").read_text())
