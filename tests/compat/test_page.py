"""docs/compatibility.md is what the code says, and every absence has its reason."""

import json
from pathlib import Path

import pytest

from tests.golden.corpus import load

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def generator():
    return load(ROOT / "scripts" / "compatibility.py")


@pytest.fixture(scope="module")
def text(generator):
    return generator.page(json.loads(generator.NAMES.read_text()))


def test_page_is_up_to_date(generator, text):
    assert generator.PAGE.read_text() == text, "run python scripts/compatibility.py"


def test_every_absence_has_a_reason(text):
    assert [line for line in text.splitlines() if line.endswith("| absent |  |")] == []


def test_notes_are_about_names_of_tvm(generator):
    names = json.loads(generator.NAMES.read_text())
    known = {
        name if section == "tvm" else f"{section}.{name}"
        for section, members in names.items()
        for name in members
    }
    assert generator.NOTES.keys() - known == set()
