"""The numbered tutorials put out what they store, and are kept in one form."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from scripts import tutorials
from tests.sampling import sampled

PATHS = tutorials.notebooks()
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
LARGEST = 300_000  # bytes of a notebook

each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@pytest.mark.parametrize("path", sampled(PATHS, 3), ids=lambda path: path.stem)
def test_puts_out_what_it_stores(path):
    """`make notebooks` checks all of them."""
    if package := tutorials.missing(path):
        pytest.skip(f"tutorial {path.stem} needs {package}")
    difference = tutorials.check(path)
    assert not difference, f"{difference}\n(make tutorials writes the outputs anew)"


@each
def test_is_tidy_and_small(path):
    stored = tutorials.read(path)
    assert stored == tutorials.tidy(stored)
    assert path.stat().st_size < LARGEST


@each
def test_was_executed_from_the_top(path):
    cells = [cell for cell in tutorials.read(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]


@each
def test_links_lead_somewhere(path):
    words = [cell.source for cell in tutorials.read(path).cells if cell.cell_type == "markdown"]
    links = [Path(link) for text in words for link in LINK.findall(text)]
    assert [link for link in links if not (path.parent / link).exists()] == []


def _executed(*sources: str, tags: tuple[str, ...] = ()) -> nbformat.NotebookNode:
    cells = [new_code_cell(source, metadata={"tags": list(tags)}) for source in sources]
    return tutorials.execute(new_notebook(cells=cells))


def _stored(text: str, *, kind: str = "stream", tags: tuple[str, ...] = ()):
    data = {"text": text} if kind == "stream" else {"data": {"text/plain": text}}
    cell = new_code_cell(metadata={"tags": list(tags)}, outputs=[new_output(kind, **data)])
    return new_notebook(cells=[cell])


def test_difference_shows_another_output():
    one, other = _stored("1\n2\n"), _stored("1\n3\n")
    assert tutorials.difference(one, one, "x") == ""
    assert "-2\n+3" in tutorials.difference(one, other, "x")


def test_difference_ignores_measured_texts_and_addresses():
    one, other = _stored("1 ms", tags=("measured",)), _stored("2 ms", tags=("measured",))
    shown = _stored("1 ms", kind="display_data", tags=("measured",))
    assert tutorials.difference(one, other, "x") == ""
    assert "display_data" in tutorials.difference(one, shown, "x")
    assert tutorials.difference(_stored("at 0x7f1234"), _stored("at 0x7f1235"), "x") == ""


def test_execution_joins_streams_and_shortens_errors():
    tidied = _executed("print(1, flush=True)\nprint(2)\n1 / 0", tags=("raises-exception",))
    stream, error = tidied.cells[0].outputs
    assert stream.text == "1\n2\n"
    assert error.traceback == ["ZeroDivisionError: division by zero"]


def test_execution_leaves_out_progress_bars():
    tidied = _executed(
        "import sys\nprint(1, flush=True)\nprint('\\r50%', file=sys.stderr, flush=True)\nprint(2)"
    )
    assert [output.text for output in tidied.cells[0].outputs] == ["1\n2\n"]


def test_execution_stops_at_an_error_that_is_not_on_purpose():
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        _executed("1 / 0")


def test_tidy_leaves_out_large_outputs_and_names_cells():
    show = f"from IPython.display import HTML\nHTML('x' * {tutorials.LARGEST_OUTPUT + 1})"
    tidied = _executed(show, show)
    assert list(tidied.cells[0].outputs[0].data) == ["text/plain"]
    first, second = (cell.id for cell in tidied.cells)
    assert second == f"{first}-2"


def test_command_rewrites_and_checks(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tutorials, "FOLDER", tmp_path)
    path = tmp_path / "00_words.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell("words"), new_code_cell("6 * 7")]), path)
    assert tutorials.main(["--check"]) == 1
    assert "+42" in capsys.readouterr().out
    assert tutorials.main(["00"]) == 0
    assert tutorials.main(["--check"]) == 0
    assert tutorials.main(["01"]) == 1
    assert "no tutorial begins with 01" in capsys.readouterr().err
