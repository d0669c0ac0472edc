"""The notebooks of tutorials/ as pages of the documentation site.

A hook of mkdocs, named in mkdocs.yml: each notebook becomes a page of Markdown, so that its code,
links and tables are those of every other page. Must not know how pages look: `docs/site.css` does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = "tutorials/*.ipynb"
_TERMINAL_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_RICH = ("text/html", "image/svg+xml")  # of the forms of an output, the first that it has


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each notebook."""
    for path in sorted(ROOT.glob(NOTEBOOKS)):
        name = path.relative_to(ROOT).with_suffix(".md").as_posix()
        text = markdown(json.loads(path.read_text("utf-8")))
        files.append(File.generated(config, name, content=text))
    return files


def markdown(notebook: Mapping[str, Any]) -> str:
    """The text of a page: cells of code and their outputs are blocks with classes of their own."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = _text(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    if cell["cell_type"] == "code" and source:
        title = f'title="In [{cell["execution_count"]}]"' if cell["execution_count"] else ""
        yield _fenced(source, "python", ".cell", title)
        yield from map(_output, cell["outputs"])


def _output(output: Mapping[str, Any]) -> str:
    """An output as text, or as the HTML or picture that it brings."""
    if output["output_type"] == "stream":
        return _shown(_text(output["text"]))
    if output["output_type"] == "error":
        trace = _TERMINAL_COLOR.sub("", "\n".join(output["traceback"]))
        return _fenced(trace, "text", ".output .error .no-copy")
    data = output["data"]
    for form in _RICH:
        if form in data:
            return f'<div class="output rich">{_text(data[form])}</div>'
    return _shown(_text(data["text/plain"]))


def _shown(text: str) -> str:
    return _fenced(text, "text", ".output .no-copy")


def _fenced(text: str, language: str, *attributes: str) -> str:
    """A block of code, between fences that do not occur in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    head = " ".join(filter(None, (f".{language}", *attributes)))
    return f"{fence}{{ {head} }}\n{text.rstrip()}\n{fence}"


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
