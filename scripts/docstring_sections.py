"""Docstrings as the reference shows them: their sections and examples in the form it reads.

An extension of griffe (mkdocs.yml names it). Our docstrings have the headings of numpy's (a word
over a line of dashes), with plain text below: `name : what it is`. Types stand in the signature.
Must not know what the docstrings say.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from griffe import Extension, Object

_HEADINGS = {"Parameters": "Args", "Returns": "Returns", "Raises": "Raises"}
_HEADING = re.compile(r"^(Parameters|Returns|Raises)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^([\w*, ]+?) : ")


class Sections(Extension):
    """Rewrites each docstring when it is read."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if not obj.is_alias and obj.docstring is not None:
            obj.docstring.value = rewritten(inspect.cleandoc(obj.docstring.value))


def rewritten(text: str) -> str:
    """A docstring with Google's sections, its examples fenced."""
    first, *sections = _split(text)
    return "\n\n".join([_fenced(first), *(_section(*one) for one in sections)]).strip()


def _split(text: str) -> list[Any]:
    parts = _HEADING.split(text)
    return [parts[0], *zip(parts[1::2], parts[2::2], strict=True)]


def _section(heading: str, body: str) -> str:
    """One section, and what follows it after an empty line."""
    body, _, rest = body.partition("\n\n")
    lines = body.rstrip().split("\n")
    if heading == "Parameters":
        lines = [line for one in lines for line in _entry(one)]
    if heading == "Raises":
        error, _, why = " ".join(line.strip() for line in lines).partition(" ")
        lines = [f"{error}: {why}"]
    if heading == "Returns":
        lines = [lines[0], *("    " + line.strip() for line in lines[1:])]
    indented = "\n".join("    " + line for line in lines)
    section = f"{_HEADINGS[heading]}:\n{indented}"
    return f"{section}\n\n{_fenced(rest)}" if rest.strip() else section


def _entry(line: str) -> list[str]:
    """`a, b : text` as an entry of each name; the lines that follow an entry stay."""
    match = _ENTRY.match(line)
    if match is None:
        return [line]
    *others, last = match[1].split(", ")
    text = line[match.end() :]
    return [*(f"{name}: see {last}." for name in others), f"{last}: {text}"]


def _fenced(text: str) -> str:
    """The text with its examples (`>>> ...` up to an empty line) as blocks of code."""
    paragraphs = re.split(r"\n{2,}", text.strip("\n"))
    return "\n\n".join(
        f"```pycon\n{inspect.cleandoc(one)}\n```" if one.lstrip().startswith(">>> ") else one
        for one in paragraphs
    )
