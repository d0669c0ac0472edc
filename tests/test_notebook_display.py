"""Methods of display are given to classes by their names."""

from __future__ import annotations

from typing import Any

from te_sched import te
from te_sched.lazy_loading import load
from te_sched.notebook_display import Shown, register_methods


def test_displays_are_given_to_classes_defined_before_and_after():
    def define():
        space = {"__module__": "te_sched.example", "__qualname__": "Example"}
        return type("Example", (Shown,), space)

    before = define()
    assert before()._repr_html_() is None
    register_methods("te_sched.example.Example", {"_repr_html_": lambda self: "<p/>"})
    assert before()._repr_html_() == define()()._repr_html_() == "<p/>"


def test_displays_keep_the_docstrings_of_methods():
    for kind in (te.Schedule, load("te_sched.tensorir.schedule:BlockSchedule")):
        assert kind.diff.__doc__.startswith("What `other` does differently")


def test_methods_of_other_classes_are_not_given() -> None:
    def shown(self: Any) -> str:
        return "shown"

    register_methods("elsewhere.Example", {"show": shown})
    space = {"__module__": "elsewhere", "__qualname__": "Example"}
    assert not hasattr(type("Example", (Shown,), space), "show")


def test_documented_methods_lend_their_docstring_to_the_implementation() -> None:
    def declared(self: Any) -> str:
        """What it shows."""
        raise NotImplementedError

    def implemented(self: Any) -> str:
        return "shown"

    space = {"__module__": "te_sched.example", "__qualname__": "Documented", "show": declared}
    kind = type("Documented", (Shown,), space)
    register_methods("te_sched.example.Documented", {"show": implemented})
    assert kind().show() == "shown"
    assert kind.show.__doc__ == "What it shows."
    register_methods("te_sched.example.Documented", {"show": implemented})
    assert implemented.__wrapped__ is declared
