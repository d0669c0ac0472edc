"""Arguments of primitives: handles, numbers, lists, names of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import tir
from te_sched.errors import HandleError, ScheduleError
from te_sched.ir.expr import IntImm, Var
from te_sched.tensorir.base import const_like, integer, listed, names_apart
from tests.tensorir.programs import MATMUL, STAGES
from tests.tensorir.schedules import scheduled


@pytest.mark.parametrize("value", [3, np.int8(3), IntImm(3, "int64")])
def test_integers(value: Any) -> None:
    number = integer(value, "a factor")
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [True, 3.0, "3", None, Var("n", "int32"), np.ones(2)])
def test_other_values_are_not_integers(value: Any) -> None:
    with pytest.raises(ScheduleError, match="a factor must be an integer"):
        integer(value, "a factor")


def test_lists() -> None:
    assert listed((1, 2), "factors") == [1, 2]
    assert listed(np.array([1, 2]), "factors") == [1, 2]
    for value in ("ab", 3, None):
        with pytest.raises(ScheduleError, match="factors must be a list"):
            listed(value, "factors")


def test_sampled_integers_have_their_values() -> None:
    sch = scheduled(MATMUL)
    v, n = sch.sample_categorical([4], [1.0]), Var("n", "int32")
    assert sch.value_of(v, "a factor") == 4
    assert sch.number_of(v * 2 + 1, "a factor") == 9
    assert str(sch.value_of(n * v, "a factor")) == "n * 4"
    with pytest.raises(ScheduleError, match=r"a factor must be a number, got n \* 4"):
        sch.number_of(n * 4, "a factor")


def test_names_of_loops_say_the_block_if_several_have_one() -> None:
    sch = scheduled(STAGES)
    (i, j), (other, _) = [[loop.key for loop in sch.get_loops(name)] for name in "BC"]
    assert names_apart(sch, i, j) == ["i", "j"]
    assert names_apart(sch, i, other) == ["i (around block B)", "i (around block C)"]


def test_numbers_have_the_type_of_a_variable() -> None:
    wide, n = Var("w", "int64"), Var("n", "int32")
    assert [const_like(value, wide).dtype for value in (3, n, wide)] == ["int64"] * 3
    assert const_like(wide, wide) is wide
    assert const_like(3, wide).value == 3


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("sch.parallel(block)", ScheduleError, "parallelize needs a loop, got"),
        ("sch.get_loops(loops)", ScheduleError, "get_loops needs a block, got"),
        ("sch.fuse(loops)", ScheduleError, r"its own: sch\.fuse\(\*loops\)"),
        ("sch.parallel(loops)", ScheduleError, "unpack the list of 2 loops: i, j = "),
        ("sch.parallel(other)", HandleError, "loop i belongs to another schedule"),
        ("sch.parallel(later)", HandleError, "is a handle of the schedule that this one was"),
    ],
)
def test_handles_are_checked(code: str, error: type[Exception], message: str) -> None:
    origin = scheduled(STAGES)
    sch = origin.copy()
    names = {
        "sch": sch,
        "block": sch.get_block("B"),
        "loops": sch.get_loops("B"),
        "other": scheduled(STAGES).get_loops("B")[0],
        "later": origin.get_loops("B")[0],
    }
    with pytest.raises(error, match=message):
        eval(code, names)


def test_handles_of_passes_are_known() -> None:
    sch = scheduled(STAGES)
    block = sch.get_block("B").key
    made = sch.handle_of(block)
    assert isinstance(made, tir.BlockRV)
    sch.compute_inline(made)
    assert block not in sch.nodes
