"""Programs of courses on graphs print with TVM 0.19 what their goldens say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import sampled

pytest.importorskip("tvm")

FOLDER = Path(__file__).parents[1] / "golden" / "graphs" / "courses"
PROGRAMS = [path for path in sorted(FOLDER.glob("*.py")) if path.stem != "tuned_function"]
LITERAL = re.compile(r"T\.(float\d+)\(([-+.\dEe]+)\)")


def plain(text: str) -> list[str]:
    """The lines, with literals by their values."""
    text = LITERAL.sub(lambda found: f"T.{found[1]}({float(found[2])!r})", text.strip("\n"))
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("program", sampled(PROGRAMS, 3), ids=lambda path: path.stem)
def test_course(program: Path) -> None:
    if "import torch" in program.read_text():
        pytest.importorskip("torch")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert plain(done.stdout) == plain(program.with_suffix(".txt").read_text())
