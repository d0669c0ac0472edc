"""How docstrings and files become pages of the site."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.golden.corpus import load

yaml = pytest.importorskip("yaml", reason="the extra docs is not installed")
pytest.importorskip("griffe", reason="the extra docs is not installed")
pytest.importorskip("mkdocs", reason="the extra docs is not installed")

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
NAVIGATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]


DOCSTRING = """Do it.

>>> 1 + 1
2

Parameters
----------
a, b : numbers, which
    are added.
c : another.

Raises
------
TypeError for what is none, ValueError when
it is too large.
"""

REWRITTEN = """Do it.

```pycon
>>> 1 + 1
2
```

Args:
    a: numbers, which
        are added.
    b: numbers, which
        are added.
    c: another.

Raises:
    TypeError: for what is none
    ValueError: when it is too large."""


def test_docstrings_get_the_sections_that_the_reference_reads():
    assert load(SCRIPTS / "docstring_sections.py").rewritten(DOCSTRING) == REWRITTEN


def test_docstrings_of_modules_tell_users_alone():
    text = "Tables. Must not know what they hold."
    assert load(SCRIPTS / "docstring_sections.py").for_users(text) == "Tables."


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[a](../README.md#try-it)", "[a](index.md#try-it)"),
        ("[a](../tutorials/14_search.ipynb)", "[a](tutorials/14_search.md)"),
        ("[a](../benchmarks/results/cpu.md)", "[a](benchmarks/results/cpu.md)"),
        ("[a](passes.md)", "[a](passes.md)"),
        ("[the code](../te_sched/errors.py)", "the code"),
        ("[a](no_such_page.md)", "[a](no_such_page.md)"),
        ("[a](https://semver.org)", "[a](https://semver.org)"),
        ("```\n[a](../README.md)\n```", "```\n[a](../README.md)\n```"),
    ],
)
def test_links_lead_to_pages(link, shown):
    source = ROOT / "docs/architecture.md"
    page = SimpleNamespace(
        file=SimpleNamespace(abs_src_path=str(source), src_uri="architecture.md")
    )
    pages = {"index.md", "tutorials/14_search.md", "benchmarks/results/cpu.md", "passes.md"}
    files = SimpleNamespace(get_file_from_path=lambda uri: uri if uri in pages else None)
    assert load(SCRIPTS / "site_pages.py").on_page_markdown(link, page, None, files) == shown


def test_tutorials_are_numbered_in_the_navigation():
    pages = load(SCRIPTS / "site_pages.py")
    (group,) = [one["Tutorials"] for one in NAVIGATION if "Tutorials" in one]
    titles = [
        title for item in group if "*" in item for one in pages._expanded(item) for title in one
    ]
    assert [int(title[:2]) for title in titles] == list(range(len(titles)))
    assert all(re.match(r"\d\d \D", title) for title in titles)


def test_no_page_is_twice_in_the_navigation():
    pages = [page for page in pages_of(NAVIGATION) if page is not None]
    assert sorted(set(pages)) == sorted(pages)


def pages_of(entries):
    """The pages that entries of the navigation name."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            ((_, content),) = entry.items()
            yield from pages_of([content] if isinstance(content, str) else content)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("# from tvm.script import tir as T\n\n@T.prim_func\ndef main(): ...", "python"),
        ("main(A: float32[4])\n\u2514\u2500 for i  0:4\n\n@T.prim_func\ndef main(): ...", "python"),
        ("@R.function\ndef main(): ...", "python"),
        ('extern "C" __global__ void k() {}', "cuda"),
        ("define i32 @main() {", "llvm"),
        ("main(A: float32[4])\n\u2514\u2500 for i  0:4", "text"),
        ("ScheduleError: cannot split\n\n@T.prim_func\ndef main(): ...", "text"),
    ],
)
def test_printed_programs_have_their_colors(text, language):
    assert load(SCRIPTS / "site_pages.py").language_of(text) == language


def test_text_after_a_program_is_its_output():
    pages = load(SCRIPTS / "site_pages.py")
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=None, src_uri="a.md"), meta={})
    text = (
        "```python\nprint(f)\n```\n\n```text\n@T.prim_func\n```\n\nwords\n\n```text\nwords\n```\n"
    )
    shown = pages.on_page_markdown(text, page, None, None)
    assert "```{ .python .output .no-copy }\n@T.prim_func\n```" in shown
    assert shown.endswith("words\n\n```text\nwords\n```\n")


def test_cells_of_tables_name_their_columns():
    table = (
        "<table><tr><th>a</th><th><code>b</code> c</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )
    html = load(SCRIPTS / "site_pages.py").on_page_content(table, None, None, None)
    assert '<td data-column="a">1</td><td data-column="b c">2</td>' in html


def test_notebooks_become_markdown():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
        {
            "cell_type": "code",
            "execution_count": 3,
            "source": "print(s)",
            "outputs": [
                {"output_type": "stream", "text": ["```\n", "x  \n"]},
                {"output_type": "error", "traceback": ["\x1b[31mE: no\x1b[0m"]},
                {
                    "output_type": "display_data",
                    "data": {"text/plain": "p", "text/html": "<b>h</b>"},
                },
                {"output_type": "execute_result", "data": {"text/plain": "p"}},
            ],
        },
    ]
    assert load(SCRIPTS / "notebook_pages.py").markdown({"cells": cells}) == (
        "# Title\nWords.\n\n"
        '```{ .python .cell title="In [3]" }\nprint(s)\n```\n\n'
        "````{ .text .output .no-copy }\n```\nx\n````\n\n"
        "```{ .text .output .error .no-copy }\nE: no\n```\n\n"
        '<div class="output rich"><b>h</b></div>\n\n'
        "```{ .text .output .no-copy }\np\n```\n"
    )
