"""Conditions of libraries on sizes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import tir
from te_sched.ir.ops import const
from te_sched.relax.backend.contrib.conditions import are_equal, batch_of, constant, is_one_row

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@pytest.mark.parametrize(("size", "expected"), [(3, 3), (const(4, "int64"), 4), (N, None)])
def test_sizes_that_are_numbers(size: Any, expected: int | None) -> None:
    assert constant(size) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(3, const(3, "int64"), True), (3, 4, False), (N * 2, N + N, True), (N, M, False)],
)
def test_sizes_that_are_proved_to_be_equal(first: Any, second: Any, expected: bool) -> None:
    assert are_equal(first, second) == expected


@pytest.mark.parametrize(
    ("sizes", "batch", "is_row"),
    [((2, 3, 4, 5), 6, False), ((4, 5), 1, False), ((1, 1, 5), 1, True), ((N, 1, 5), N, False)],
)
def test_rows_and_batches_of_operands(sizes: Any, batch: Any, is_row: bool) -> None:
    numbers = [const(one, "int64") if isinstance(one, int) else one for one in sizes]
    assert are_equal(batch_of(numbers), batch)
    assert is_one_row(numbers) == is_row
