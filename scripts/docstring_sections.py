"""Convert docstrings to the form that the reference generator expects.

An extension of griffe (mkdocs.yml names it). The docstrings have numpy's headings (a word over a
line of dashes), with plain text below: `name : description`. Types are in the signature.
Must not know the content of the docstrings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from griffe import Class, Extension, Object

_HEADINGS = {"Parameters": "Args", "Returns": "Returns", "Raises": "Raises"}
_HEADING = re.compile(r"^(Parameters|Returns|Raises)\n-+\n", re.MULTILINE)
_EXAMPLE = re.compile(r"^(Examples?)\n-+\n", re.MULTILINE)  # titles of prose, no headings


class Sections(Extension):
    """Rewrites each docstring when it is loaded."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of a module, class, function or attribute."""
        if not obj.is_alias and obj.docstring is not None:
            text = rewritten(inspect.cleandoc(obj.docstring.value))
            obj.docstring.value = for_users(text) if obj.is_module else text

    def on_class_members(self, *, cls: Class, **kwargs: Any) -> None:
        """Leave out internal members; name the fields of a dataclass in its docstring, with their
        types.
        """
        internal = cls.members.get("_internal_members")
        for name in re.findall(r"\w+", str(getattr(internal, "value", ""))):
            cls.members.pop(name, None)
        if cls.docstring is None or not any(
            str(one.value).split("(")[0] in ("node", "dataclass", "dataclasses.dataclass")
            for one in cls.decorators
        ):
            return
        fields = [
            f"`{name}: {member.annotation}`"
            for name, member in cls.members.items()
            if member.is_attribute and member.annotation is not None and name[0] != "_"
        ]
        if fields:
            cls.docstring.value = (
                f"{rewritten(cls.docstring.value)}\n\nFields: {', '.join(fields)}."
            )


def for_users(text: str) -> str:
    """The docstring of a module without the sentences for contributors."""
    return re.sub(r"(Must not know|Owns)\b[^.]*\.(\s|$)", "", text).strip()


def rewritten(text: str) -> str:
    """A docstring with Google's sections and fenced examples."""
    first, *sections = _split(text)
    return "\n\n".join([_fenced(first), *(_section(*one) for one in sections)]).strip()


def _split(text: str) -> list[Any]:
    parts = _HEADING.split(text)
    return [parts[0], *zip(parts[1::2], parts[2::2], strict=True)]


def _section(heading: str, body: str) -> str:
    """A section, and the text after it."""
    body, _, rest = body.partition("\n\n")
    lines = body.rstrip().split("\n")
    if heading == "Parameters":
        lines = _entries(lines)
    if heading == "Raises":
        text = " ".join(line.strip() for line in lines)
        errors = re.split(r"[,;] (?:or )?(?=[A-Z]\w*Error\b)", text)
        lines = [": ".join(one.split(" ", 1)) for one in errors]
    if heading == "Returns":
        lines = [lines[0], *("    " + line.strip() for line in lines[1:])]
    indented = "\n".join("    " + line for line in lines)
    section = f"{_HEADINGS[heading]}:\n{indented}"
    return f"{section}\n\n{_fenced(rest)}" if rest.strip() else section


def _entries(lines: Sequence[str]) -> list[str]:
    """Each name with its text: `a, b : text` is two entries, which indented lines continue."""
    entries: list[str] = []
    for block in re.split(r"\n(?=\S)", "\n".join(lines)):
        names, _, text = block.partition(" : ")
        entries += [f"{name}: {text}" for name in names.split(", ")]
    return "\n".join(entries).split("\n")


def _fenced(text: str) -> str:
    """The text with its examples (`>>> ...` up to an empty line) as blocks of code."""
    text = _EXAMPLE.sub(r"**\1:**\n\n", text)
    paragraphs = re.split(r"\n{2,}", text.strip("\n"))
    return "\n\n".join(
        f"```pycon\n{inspect.cleandoc(one)}\n```" if one.lstrip().startswith(">>> ") else one
        for one in paragraphs
    )
