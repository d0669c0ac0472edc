"""Texts of errors have one style: a fault in lower case that stands alone, no closing marks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import te_sched
from te_sched import errors
from tests.raise_sites import ERRORS, name_of
from tests.syntax_trees import nodes

PACKAGE = Path(te_sched.__file__).parent
PARTS = ("fault", "why", "help")
# Names that a sentence begins with.
PROPER = r"(Python|Relax|Relay|TensorIR|Nsight)\b"


def _text(node: ast.expr) -> str | None:
    """A literal text; a value in it is written as {}."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in node.values]
        return "".join(map(str, parts))
    return None


def _texts() -> Iterator[tuple[str, str, str]]:
    for path, node in nodes(ast.Call):
        if name_of(node.func) not in ERRORS:
            continue
        given = dict(zip(PARTS, node.args, strict=False))
        given |= {one.arg: one.value for one in node.keywords if one.arg in PARTS}
        for part, value in given.items():
            text = _text(value)
            if text:
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", part, text


@cache
def texts() -> list[tuple[str, str, str]]:
    """The parts of errors: where they stand, their names and texts."""
    return list(_texts())


@pytest.mark.parametrize("part", PARTS)
def test_parts_have_no_closing_marks(part: str) -> None:
    assert len(texts()) > 2500
    found = [
        (place, text)
        for place, name, text in texts()
        if name == part and re.search(r"[^.][.!]$|\n$| $", text)
    ]
    assert found == []


@pytest.mark.parametrize("part", PARTS)
def test_parts_begin_in_lower_case(part: str) -> None:
    found = [
        (place, text)
        for place, name, text in texts()
        if name == part and re.match(rf"(?!{PROPER})[A-Z][a-z]+[ ,:]", text)
    ]
    assert found == []


def test_a_fault_is_a_sentence_of_one_line() -> None:
    assert [
        (place, text) for place, part, text in texts() if part == "fault" and "\n" in text
    ] == []


def test_words_of_other_programs_have_a_place_of_their_own() -> None:
    error = errors.TeSchedError("the task has no template", in_tvm="Cannot find it")
    assert error.in_tvm == "Cannot find it"
    assert "Cannot" not in str(error)
