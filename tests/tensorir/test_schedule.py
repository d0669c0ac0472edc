"""A schedule of blocks: its module, its handles, its copies, its options."""

from __future__ import annotations

from typing import Any

import pytest

import te_sched
from te_sched import tir
from te_sched.errors import BuildError, HandleError, LoweringError, ScheduleError
from te_sched.ir import structural_equal
from te_sched.ir.stmt import For
from te_sched.script import from_source
from te_sched.tensorir.schedule import advice_on_program
from tests.tensorir.programs import GIVEN, MATMUL, OTHERS, STAGES
from tests.tensorir.schedules import scheduled


def test_what_is_not_a_program_is_told() -> None:
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    with pytest.raises(BuildError, match=r"schedule: sch\.mod"):
        te_sched.build(sch)
    with pytest.raises(LoweringError, match=r"schedule: sch\.mod"):
        te_sched.lower(sch)
    with pytest.raises(AttributeError, match=r"no attribute 'splt'(.|\n)*did you mean 'split'"):
        _ = sch.splt


def test_deep_programs() -> None:
    sch = tir.Schedule(from_source(GIVEN + OTHERS["accumulated"]))
    for _ in range(400):
        sch.add_unit_loop("B")
    outer, *_, inner = sch.get_loops("B")
    sch.split(outer, [None, 4])
    sch.fuse(*sch.get_loops("B")[:3])
    sch.unroll(inner)
    assert len(sch.get_loops("B")) == 400


def test_a_schedule_without_primitives_has_the_functions_given() -> None:
    func = from_source(GIVEN + STAGES)
    assert tir.Schedule(func).mod["main"].same_as(func)


def test_copies_have_handles_in_common_and_programs_of_their_own() -> None:
    sch = scheduled(STAGES)
    i, j = sch.get_loops("C")
    twin = sch.copy()
    twin.parallel(i)
    assert (sch.get(i).kind, twin.get(i).kind) == ("serial", "parallel")
    sch.vectorize(j)
    assert (sch.get(j).kind, twin.get(j).kind) == ("vectorized", "serial")


def test_statements_of_handles() -> None:
    sch = scheduled(STAGES)
    block, (i, _) = sch.get_block("B"), sch.get_loops("B")
    reference = sch.get_sref(block)
    assert sch.get(reference) is sch.get(block)
    assert reference.same_as(sch.get_sref(sch.get(block)))
    assert isinstance(reference.parent.stmt, For)
    assert reference.parent.parent.same_as(sch.get_sref(i))
    sch.compute_inline(block)
    assert reference.stmt is None
    with pytest.raises(ScheduleError, match="the statement is not in the program"):
        sch.get_sref(scheduled(STAGES).mod["main"].body.block)


def test_removed_handles_are_refused() -> None:
    sch = scheduled(STAGES)
    block = sch.get_block("B")
    number = sch.sample_categorical([4], [1.0])
    assert sch.get(number) == 4
    sch.remove_rv(block)
    sch.remove_rv(number)
    with pytest.raises(HandleError, match="the handle of block B was removed"):
        sch.get_loops(block)
    with pytest.raises(ScheduleError, match="is not a sampled integer"):
        sch.get(number)
    assert sch.get(sch.get_block("B")).name_hint == "B"


def test_a_function_is_chosen_by_name() -> None:
    sch = tir.Schedule(from_source(GIVEN + OTHERS["two functions"]))
    assert sch.func_working_on is None
    sch.work_on("g")
    sch.parallel(sch.get_loops("B")[0])
    kinds = [sch.mod[name].body.block.body.kind for name in ("f", "g")]
    assert kinds == ["serial", "parallel"]


def test_a_function_that_occurs_twice_is_scheduled_apart() -> None:
    func = from_source(GIVEN + STAGES)
    sch = tir.Schedule(te_sched.IRModule({"f": func, "g": func.with_attr("global_symbol", "g")}))
    sch.parallel(sch.get_loops(sch.get_block("B", "g"))[0])
    assert structural_equal(sch.mod["f"].body, func.body)
    assert not structural_equal(sch.mod["g"].body, func.body)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 0}, "the seed must be from 1 to"),
        ({"seed": 2**31}, "the seed must be from 1 to"),
        ({"error_render_level": "all"}, "error_render_level must be one of detail, fast, none"),
        ({"debug_mask": "some"}, "debug_mask must be one of none, all"),
    ],
)
def test_options_are_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        tir.Schedule(from_source(GIVEN + MATMUL), **options)


@pytest.mark.parametrize(
    ("program", "text"),
    [(int, "decorate the class"), (3, "otherwise"), (scheduled(MATMUL), "sch.mod")],
)
def test_advice_on_what_is_not_a_module(program: Any, text: str) -> None:
    assert text in advice_on_program(program, "otherwise")
