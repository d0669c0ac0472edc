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


def test_page_has_graphs_and_searches(text):
    for module in ("relax", "relax.op", "relax.transform", "meta_schedule", "autotvm", "dlight"):
        assert f"\n## tvm.{module}: " in text


def test_guide_says_which_parts_of_graphs_are_absent(text):
    guide = (ROOT / "docs" / "guide" / "graphs.md").read_text()
    rows = [line for line in text.splitlines() if "| absent |" in line]
    for name in ("training", "Gradient", "distributed", "ccl", "RewriteCUDAGraph", "LazyGetInput"):
        assert name in guide.partition("## ")[0]
        assert any(f"`{name}`" in row for row in rows)


def test_modules_of_which_only_parts_exist_differ(text):
    section = text.partition("## tvm: ")[2].partition("## tvm.te:")[0]
    assert [
        name
        for name in ("auto_scheduler", "driver", "relay", "rpc")
        if f"| `{name}` | differs | only " not in section
    ] == []
