"""What the README shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
PROGRAMS = [text for language, text in BLOCKS if language == "python"]
PRINTED = [text for language, text in BLOCKS if language == ""]


@pytest.fixture
def names() -> dict[str, Any]:
    return {}


def test_example_prints_what_is_shown(capsys, names):
    exec(PROGRAMS[0], names)
    assert capsys.readouterr().out == PRINTED[0]


def test_example_runs(names):
    for program in PROGRAMS:
        exec(program, names)


def test_links_lead_somewhere():
    documents = [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *(ROOT / "tests/golden").glob("*.md")]
    dead = [
        f"{document.name}: {link}"
        for document in documents
        if ".venv" not in document.parts
        for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text())
        if not (document.parent / link).exists()
    ]
    assert dead == []


def test_commands_exist():
    commands = re.findall(r"^    make (\w+)", README, re.MULTILINE)
    assert commands == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    assert all(f"\n{command}:" in makefile for command in commands)
