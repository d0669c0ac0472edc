"""Plain tables for a terminal."""

from __future__ import annotations

from te_sched.tools.table import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    text = table(["a", "long"], [["wide cell", "1"], ["b", "23"]], right=[1])
    assert text.splitlines() == [
        "a          long",
        "---------------",
        "wide cell     1",
        "b            23",
    ]


def test_a_header_may_have_several_lines() -> None:
    assert table(["time\nms", "name\n"], []).splitlines() == ["time  name", "ms", "----------"]
