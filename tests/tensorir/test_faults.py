"""Errors of primitives show the program, with the blocks and loops concerned underlined."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.script import from_source

SOURCE = """
@T.prim_func
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(16):
        for j in range(16):
            T.evaluate(j)
        T.evaluate(i)
"""


def refused(level: str = "detail") -> tuple[tir.Schedule, ScheduleError]:
    sch = tir.Schedule(from_source(SOURCE), error_render_level=level)
    i, j = sch.get_loops("B")
    with pytest.raises(ScheduleError) as caught:
        sch.fuse(j, i)
    return sch, caught.value


def test_loops_are_numbered_and_underlined() -> None:
    _, error = refused()
    lines = str(error).splitlines()
    place = lines.index("            # tir.For#1")
    assert [line.strip() for line in lines[place : place + 6]] == [
        "# tir.For#1",
        "for i in range(16):",
        "^^^^^^^^^^^^^^^^^^^",
        "# tir.For#0",
        "for j in range(16):",
        "^^^^^^^^^^^^^^^^^^^",
    ]
    assert sum("^^^" in line for line in lines) == 2  # not the other loops of these names


def test_the_program_is_that_of_the_error() -> None:
    sch, error = refused()
    before = str(error)
    sch.parallel(sch.get_loops("B")[0])
    assert str(error) == before
    assert "T.parallel" not in before


def test_a_block_is_underlined() -> None:
    sch = tir.Schedule(from_source(SOURCE))
    with pytest.raises(ScheduleError) as caught:
        sch.compute_inline("B")
    assert '# tir.Block#0\n                    with T.block("B"):\n' + " " * 20 + "^" * 18 in str(
        caught.value
    )


def test_an_unknown_name_shows_the_program_alone() -> None:
    sch = tir.Schedule(from_source(SOURCE))
    with pytest.raises(ScheduleError) as caught:
        sch.get_block("Q")
    assert "class Module:" in str(caught.value)
    assert "^^^" not in str(caught.value)


@pytest.mark.parametrize(
    ("level", "shown"),
    [("fast", "no block of main has the name 'Q'"), ("none", "(not rendered)")],
)
def test_other_levels_show_a_line(level: str, shown: str) -> None:
    sch, _ = refused(level)
    with pytest.raises(ScheduleError) as caught:
        sch.copy().get_block("Q")
    assert (str(caught.value), caught.value.args) == (shown, (shown,))
    assert caught.value.help == "use B, root"
