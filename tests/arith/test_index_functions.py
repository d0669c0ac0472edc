"""Index maps made of Python functions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.index_functions import map_of
from te_sched.errors import DeclarationError
from te_sched.ir.index_map import AXIS_SEPARATOR, IndexMap


def test_a_function_of_indices_is_a_map() -> None:
    made, separators = map_of(lambda i, j: [i // 4, j, i % 4])
    assert str(made) == "T.index_map(lambda i, j: (i // 4, j, i % 4))"
    assert separators == []
    assert [var.dtype for var in made.initial_indices] == ["int32", "int32"]
    assert str(map_of(lambda i: i + 1, dtype="int64")[0]) == (
        "T.index_map(lambda i: (i + T.int64(1),))"
    )


def test_separators_and_inverses_are_kept() -> None:
    made, separators = map_of(lambda i, j: [i, AXIS_SEPARATOR, j], inverse=lambda x, y: [x, y])
    assert separators == [1]
    assert isinstance(made.inverse_index_map, IndexMap)


def test_functions_of_several_indices_need_their_number() -> None:
    made, _ = map_of(lambda *i: [*i[1:], i[0]], 3)
    assert str(made) == "T.index_map(lambda i_0, i_1, i_2: (i_1, i_2, i_0))"


@pytest.mark.parametrize(
    ("function", "count", "message"),
    [
        (lambda *i: i, None, r"a function with \*args needs the number of indices"),
        (lambda i: i, 2, r"the function of the index map takes 1 index, expected 2"),
        (lambda i: [i * 0.5], 1, r"new index .* is float32, expected an integer"),
        (max, 1, r"whose parameters are unknown"),
    ],
)
def test_what_gives_no_indices_is_refused(function: Any, count: int | None, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        map_of(function, count)


def test_an_inverse_must_be_a_map() -> None:
    with pytest.raises(DeclarationError, match=r"inverse_index_map is a str"):
        map_of(lambda i: i, inverse="i")
