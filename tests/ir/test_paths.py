"""Paths from a program to a part of it."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.errors import DeclarationError
from te_sched.ir.expr import Var
from te_sched.ir.paths import ObjectPath

ROOT = ObjectPath.root()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (ROOT, "<root>"),
        (ROOT.attr("body").attr("seq").array_index(1), "<root>.body.seq[1]"),
        (ROOT.missing_array_element(2), "<root>[<missing element #2>]"),
        (ROOT.missing_map_entry(), "<root>[<missing entry>]"),
        (ROOT.map_value("k"), '<root>["k"]'),
        (ROOT.map_value(Var("x")), "<root>[x]"),
        (ROOT.attr(None), "<root>.<unknown attribute>"),
        (ObjectPath.root("a").attr("b"), "<a>.b"),
    ],
)
def test_a_path_has_a_text(path: ObjectPath, text: str) -> None:
    assert str(path) == text


def test_paths_with_the_same_steps_are_equal() -> None:
    var = Var("x")
    path = ROOT.attr("a").map_value(var).array_index(0)
    assert path == ROOT.attr("a").map_value(var).array_index(0)
    assert hash(path) == hash(ROOT.attr("a").map_value(var).array_index(0))
    assert path != ROOT.attr("a").map_value(Var("x")).array_index(0)
    assert path != ROOT.attr("a").map_value(var).array_index(1)
    assert path != ROOT.attr("a") != 1


def test_a_path_has_a_beginning_and_parents() -> None:
    path = ROOT.attr("a").array_index(3)
    assert len(path) == 3
    assert path.parent == ROOT.attr("a") == path.get_prefix(2)
    assert ROOT.parent is None
    assert ROOT.attr("a").is_prefix_of(path)
    assert path.is_prefix_of(path)
    assert not path.is_prefix_of(ROOT.attr("a"))
    assert not ROOT.attr("b").is_prefix_of(path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: ROOT.attr(1), r"the attribute of a path is 1, expected a name"),
        (lambda: ROOT.array_index("1"), r"the position of a path is '1', expected an int"),
        (lambda: ROOT.get_prefix(2), r"a path of 1 parts has no beginning of 2"),
        (lambda: ROOT.is_prefix_of(3), r"cannot compare a path with an int"),
    ],
)
def test_wrong_steps_are_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        wrong()
