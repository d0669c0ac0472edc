"""Errors of primitives show the lines of the program near the blocks and loops concerned."""

from __future__ import annotations

import pickle

import pytest

import te_sched
from te_sched import tir
from te_sched.errors import HandleError, ScheduleError, show_words_of_tvm
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
MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A[vi] = T.float32(0)

    @T.prim_func
    def g(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A[vi] = T.float32(1)
"""


def refused(level: str = "detail") -> tuple[tir.Schedule, ScheduleError]:
    sch = tir.Schedule(from_source(SOURCE), error_render_level=level)
    i, j = sch.get_loops("B")
    with pytest.raises(ScheduleError) as caught:
        sch.fuse(j, i)
    return sch, caught.value


def test_the_lines_near_the_loops_concerned_are_shown() -> None:
    _, error = refused()
    assert str(error).splitlines()[:10] == [
        "cannot fuse loops j and i",
        "  program:",
        "    ...",
        "    for i in range(16):",
        "    ^^^^^^^^^^^^^^^^^^^",
        "        for j in range(16):",
        "        ^^^^^^^^^^^^^^^^^^^",
        '            with T.block("B"):',
        "                vi = T.axis.spatial(16, i)",
        "    ...",
    ]


def test_where_why_and_help_are_the_last_lines() -> None:
    _, error = refused()
    labels = [line.split(":")[0].strip() for line in str(error).splitlines()[-3:]]
    assert labels == ["where", "why", "help"]


def test_the_program_is_that_of_the_error() -> None:
    sch, error = refused()
    before = str(error)
    sch.parallel(sch.get_loops("B")[0])
    assert str(error) == before
    assert "T.parallel" not in before


def test_programs_of_tvm_see_all_of_the_program_with_its_marks() -> None:
    _, error = refused()
    assert "tir.For#0" not in str(error)
    show_words_of_tvm(True)
    try:
        text = str(error)
    finally:
        show_words_of_tvm(False)
    loops = text.partition("  in TVM: \n")[2].splitlines()[13:19]
    assert [line[12:] for line in loops] == [
        "# tir.For#1",
        "for i in range(16):",
        "^^^^^^^^^^^^^^^^^^^",
        "    # tir.For#0",
        "    for j in range(16):",
        "    ^^^^^^^^^^^^^^^^^^^",
    ]


def test_refusals_are_pickled_with_their_programs() -> None:
    _, error = refused()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_block_is_underlined_and_what_is_around_it_shown() -> None:
    sch = tir.Schedule(from_source(SOURCE))
    with pytest.raises(ScheduleError) as caught:
        sch.compute_inline("B")
    shown = str(caught.value)
    assert '        with T.block("B"):\n            ' + "^" * 18 + "\n" in shown
    assert "    for i in range(16):\n        for j in range(16):\n" in shown
    assert shown.count("...") == 2
    assert "def f(" not in shown


def test_the_function_is_shown_where_there_are_several() -> None:
    sch = tir.Schedule(from_source(MODULE))
    sch.work_on("g")
    (i,) = sch.get_loops("A")
    with pytest.raises(ScheduleError, match="def g") as caught:
        sch.split(i, [3, 3])
    assert "def f" not in str(caught.value)


def test_loops_of_one_name_are_told_apart_and_both_underlined() -> None:
    sch = tir.Schedule(from_source(MODULE.replace("def g", "def h").replace('"A"', '"Z"')))
    loops = [sch.get_loops(sch.get_block("Z", name))[0] for name in ("f", "h")]
    with pytest.raises(ScheduleError, match=r"i \(around block Z\) is not inside of i") as caught:
        sch.reorder(*loops)
    assert str(caught.value).count("^\n") == 2


def test_an_unknown_name_shows_no_program() -> None:
    sch = tir.Schedule(from_source(SOURCE))
    with pytest.raises(ScheduleError) as caught:
        sch.get_block("Q")
    assert "program" not in str(caught.value)


def test_another_loop_of_the_name_of_a_gone_one_is_not_underlined() -> None:
    sch = tir.Schedule(from_source(SOURCE))
    i, _ = sch.get_loops("B")
    sch.split(i, [4, 4])
    with pytest.raises(HandleError, match="split into i_0, i_1") as caught:
        sch.parallel(i)
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


def test_handles_made_after_a_copy_are_of_the_original_alone() -> None:
    sch = tir.Schedule(from_source(SOURCE))
    before = sch.get_loops("B")
    twin = sch.copy()
    twin.split(before[1], [None, 4])
    for handle in (sch.get_loops("B")[0], sch.get_block("B")):
        with pytest.raises(HandleError, match="of the schedule that this one was copied from"):
            twin.annotate(handle, "key", 1)
    twin.parallel(before[0])
    again = tir.Schedule(sch.mod)
    twin.trace.apply_to_schedule(again, False)
    assert te_sched.ir.structural_equal(again.mod, twin.mod)
