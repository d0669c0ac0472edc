"""How docstrings and files become pages of the site."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.golden.corpus import load

pytest.importorskip("griffe", reason="the extra docs is not installed")
pytest.importorskip("mkdocs", reason="the extra docs is not installed")
pytest.importorskip("latex2mathml", reason="the extra docs is not installed")

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"


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
        ("[a](../README.md#try-it)", "[a](README.md#try-it)"),
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
    pages = {"README.md", "benchmarks/results/cpu.md", "passes.md"}
    files = SimpleNamespace(get_file_from_path=lambda uri: uri if uri in pages else None)
    assert load(SCRIPTS / "site_pages.py").on_page_markdown(link, page, None, files) == shown


def test_formulas_of_notebooks_become_mathml():
    html = load(SCRIPTS / "site_pages.py").with_formulas(
        "<p>$x &lt; 2^3$ and $y$, for $5</p><pre>$z$</pre>"
    )
    assert html.count("<math") == 2
    assert "<msup><mn>2</mn><mn>3</mn></msup>" in html
    assert html.endswith("for $5</p><pre>$z$</pre>")
