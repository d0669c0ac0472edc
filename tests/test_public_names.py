"""The names that dir, completion and `__all__` of modules show."""

from __future__ import annotations

import types

import pytest

import te_sched
from scripts import names
from te_sched import nd, te, tir
from te_sched.public_names import list_names, show_names


def module(text: str) -> types.ModuleType:
    made = types.ModuleType("te_sched.example")
    exec(text, vars(made))
    return made


def own(made: types.ModuleType) -> list[str]:
    """The names that dir shows, but for special ones."""
    return [name for name in made.__dir__() if name[:2] != "__"]


TEXT = """
from __future__ import annotations
import sys
from typing import Any
from te_sched.ir.expr import Var
from te_sched.errors import BuildError as _Hidden
NUMBER = 3
def f(): pass
"""


@pytest.mark.parametrize(
    ("more", "late", "listed", "shown"),
    [
        ((), (), ["NUMBER", "Var", "f"], ["NUMBER", "Var", "f"]),
        (("Any",), (), ["Any", "NUMBER", "Var", "f"], ["Any", "NUMBER", "Var", "f"]),
        ((), ("g",), ["NUMBER", "Var", "f"], ["NUMBER", "Var", "f", "g"]),
    ],
)
def test_names_of_a_module(
    more: tuple[str, ...], late: tuple[str, ...], listed: list[str], shown: list[str]
) -> None:
    made = module(TEXT)
    list_names(made, *more, late=late)
    assert made.__all__ == listed
    assert own(made) == shown


def test_names_from_other_places_are_not_of_a_home() -> None:
    made = module(TEXT)
    list_names(made, home="te_sched.ir")
    assert made.__all__ == ["Var"]


def test_modules_that_are_loaded_late_are_shown() -> None:
    made = module("__all__ = ['f']\n_lazy_names = ('g',)\ndef f(): pass\ndef h(): pass")
    show_names(made, "part")
    assert own(made) == ["f", "g", "part"]
    show_names(made, "other")  # it has listed them
    assert own(made) == ["f", "g", "part"]


@pytest.mark.parametrize(("text", "shown"), [("__all__ = ['f']", ["f"]), ("", ["f", "g"])])
def test_show_names_of_a_module(text: str, shown: list[str]) -> None:
    module = types.ModuleType("example")
    exec(f"from typing import Any\nimport sys\n{text}\ndef f(): pass\ndef g(): pass", vars(module))
    show_names(module)
    show_names(module)
    assert names.public(module) == shown


def test_public_names_are_those_that_are_no_modules() -> None:
    for module in (te_sched, te, tir, nd, te_sched.runtime):
        given = module.__all__  # type: ignore[attr-defined]
        assert sorted({*given}) == given
        assert not {"sys", "typing", "signatures", "importlib", "Any"} & {*given}
    assert {"ir_builder", "multiply", "IterVar"} < {*tir.__all__}  # type: ignore[attr-defined]
