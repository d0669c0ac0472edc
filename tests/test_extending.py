"""docs/extending.md: its changes apply to te_sched, and its programs print what it says; and
docs/architecture.md: what it says where is there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text()
SECTIONS = PAGE.split("\n## ")[1:]
ROAD = (ROOT / "docs" / "architecture.md").read_text().split("## The road of a graph")[1]
MOST_FILES = 3
RUN = """
import contextlib, io, json, sys
outputs = []
for program in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(program, "<program>", "exec"), {})
    outputs.append(output.getvalue())
print(json.dumps(outputs))
"""


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_a_section_changes_few_files(section: str) -> None:
    changed = re.findall(r"^\+\+\+ b/(.*)$", "".join(blocks(section, "diff")), re.MULTILINE)
    assert 1 <= len(changed) <= MOST_FILES
    assert len(blocks(section, "python")) == len(blocks(section, "text")) == 1


def test_changed_te_sched_does_what_the_page_says(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "te_sched", tmp_path / "te_sched", ignore=shutil.ignore_patterns("__pycache__")
    )
    for change in re.split(r"^(?=--- )", "".join(blocks(PAGE, "diff")), flags=re.MULTILINE)[1:]:
        command = ["git", "apply", "--recount", "-"]
        done = run(command, tmp_path, change)
        assert done.returncode == 0, f"{change}\n{done.stderr}"
    pairs = zip(blocks(PAGE, "python"), blocks(PAGE, "text"), strict=True)
    programs, texts = zip(*[pair for pair in pairs if can_run(pair[0])], strict=True)
    done = run([sys.executable, "-c", RUN], tmp_path, json.dumps(programs))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == list(texts)


def test_stations_of_a_graph_are_where_the_page_says() -> None:
    rows = [row.strip("| ").split(" | ") for row in ROAD.split("\n## ")[0].splitlines()]
    paths = {path for row in rows for cell in row for path in re.findall(r"`([\w/]+\.py)`", cell)}
    assert len(paths) > 30
    assert [path for path in sorted(paths) if not (ROOT / "te_sched" / path).exists()] == []
    names = [
        (row[1].strip("`"), row[2].strip("`")) for row in rows if len(row) == 3 and row[2][0] == "`"
    ]
    assert len(names) > 12
    for path, name in names:
        text = (ROOT / "te_sched" / path).read_text()
        assert re.search(rf"^(def |class )?{name}\b", text, re.MULTILINE), (path, name)


def can_run(program: str) -> bool:
    """Whether the packages that a program imports are installed: torch and onnx are not needed."""
    names = re.findall(r"^import (torch|onnx)$", program, re.MULTILINE)
    return all(find_spec(name) is not None for name in names)


def run(command: list[str], folder: Path, given: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
