"""What the pages of the documentation show is what happens, and their links lead somewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.corpus import load

ROOT = Path(__file__).resolve().parents[2]


examples = load(ROOT / "scripts/examples.py")


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: page.stem)
def test_examples_print_what_is_shown(page):
    """`python scripts/examples.py` writes the pages anew. In a process of its own, for one of them
    makes `import tvm` mean te_sched.
    """
    command = [sys.executable, "scripts/examples.py", "--check", page.stem]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", examples.pages(), ids=lambda page: page.stem)
def test_pages_say_once_that_their_programs_continue_each_other(page):
    text = re.sub(r"\s+", " ", page.read_text())
    is_said = text.count("on this page continue each other: each uses the names of those above it")
    assert is_said == (text.count("```python ") > 1)


def test_examples_of_packages_that_are_not_installed_stay(monkeypatch):
    text = "```python\nimport torch\n1 // 0\n```\n\n```text\nx\n```\n\n```python\nprint(1)\n```\n"
    monkeypatch.setattr(examples.importlib.util, "find_spec", lambda name: None)
    assert examples.renewed(text) == f"{text}\n```text\n1\n```\n"


def test_the_road_through_all_passes_is_up_to_date():
    """`python scripts/passes.py` writes the page anew."""
    passes = load(ROOT / "scripts/passes.py")
    assert passes.page().rstrip() + "\n" == passes.PAGE.read_text()


primitives = load(ROOT / "scripts/block_primitives.py")


def test_the_page_of_primitives_is_up_to_date():
    """`python scripts/block_primitives.py` writes the page anew."""
    assert primitives.page().rstrip() + "\n" == primitives.PAGE.read_text()


def test_a_primitive_without_an_example_is_named():
    rows = [example for section in primitives.SECTIONS.values() for example in section]
    primitives.check_examples(rows)
    with pytest.raises(
        ValueError, match=f"no example of primitive {rows[-1].primitive}: add a row"
    ):
        primitives.check_examples(rows[:-1])
    with pytest.raises(ValueError, match="a row too many of get_block"):
        primitives.check_examples([*rows, rows[0]])


def texts():
    """What there is to read, by file: Markdown, and the Markdown of notebooks."""
    folders = ("*.md", "docs/**/*.md", "tutorials/*.md", "benchmarks/**/*.md", "tests/golden/*.md")
    found = {path: path.read_text() for one in folders for path in sorted(ROOT.glob(one))}
    for path in sorted(ROOT.glob("tutorials/*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        sources = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
        found[path] = "\n\n".join("".join(source) for source in sources)
    return found


def anchors(text):
    """The addresses of the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", text), re.MULTILINE)
    words = (re.sub(r"[^\w\s-]", "", head.lower()).strip() for head in heads)
    return {re.sub(r"[\s-]+", "-", one) for one in words}


def test_links_lead_somewhere():
    pages = texts()
    dead = []
    for page, text in pages.items():
        prose = re.sub(r"(?ms)^```.*?^```|`[^`]+`", "", text)
        for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)", prose):
            path = (page.parent / target).resolve() if target else page
            is_dead = not path.exists()
            if anchor and path in pages and "reference" not in path.parts:
                is_dead = anchor not in anchors(pages[path])
            if is_dead:
                dead.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert dead == []


def test_pages_have_one_title():
    """Of a page with several the site shows no contents."""
    titles = {
        page.name: len(re.findall(r"^# ", re.sub(r"(?ms)^```.*?^```", "", text), re.MULTILINE))
        for page, text in texts().items()
    }
    assert {name: count for name, count in titles.items() if count > 1} == {}


def test_pages_have_no_formulas():
    """The site has nothing that would draw them."""
    formulas = {
        page.name: re.findall(r"\$[^$\n]+\$", re.sub(r"(?ms)^```.*?^```|`[^`]+`", "", text))
        for page, text in texts().items()
        if "reference" not in page.parts
    }
    assert {name: found for name, found in formulas.items() if found} == {}


def test_cells_of_tables_do_not_end_in_mid_sentence():
    """As the first line of a docstring would, whose sentence goes on."""
    cut = [
        f"{page.relative_to(ROOT)}: {cell}"
        for page, text in texts().items()
        for line in re.sub(r"(?ms)^```.*?^```", "", text).splitlines()
        if line.startswith("|")
        for cell in re.split(r"(?<!\\)\|", line)[1:-1]
        if re.search(r"(?:,|\b(?:a|an|the|and|or|with|that|which|from|(?<!they )are))\s*$", cell)
        and not cell.strip().endswith(("~a", "not a", "sign of a"))
    ]
    assert cut == []


def test_commands_exist():
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"^    make (\w+)", readme, re.MULTILINE)
    assert commands[:2] == ["demo", "test"]
    assert all(f"\n{command}:" in makefile for command in commands)
