"""Names in texts."""

from __future__ import annotations

import pytest

from te_sched.ir.printer.names import UniqueNames, identifier


def test_a_name_that_is_taken_gets_the_first_free_number() -> None:
    names = UniqueNames(reserved=("T",))
    assert [names.take(hint) for hint in ("i", "i", "i", "T", "i_1")] == [
        *("i", "i_1", "i_2", "T_1", "i_1_1")
    ]


def test_names_are_given_back() -> None:
    names = UniqueNames()
    names.take("i")
    names.give_back([names.take("i"), "never taken"])
    assert names.take("i") == "i_1"


@pytest.mark.parametrize(
    ("hint", "name"), [("i.outer", "i_outer"), ("a b-c", "a_b_c"), ("", "v"), ("µ", "_")]
)
def test_identifiers(hint: str, name: str) -> None:
    assert identifier(hint) == name
    assert identifier("", "default") == "default"
