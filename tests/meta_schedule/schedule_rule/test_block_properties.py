"""Whether tiling or a parallel reduction pays for a block."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import tir
from te_sched.meta_schedule.schedule_rule.block_properties import (
    TILING,
    is_tiled,
    needs_multi_level_tiling,
    needs_parallel_reduction,
    split_factor,
)
from tests.meta_schedule.schedule_rule.spaces import elementwise, product, row_sums


def block_of(func: tir.PrimFunc, name: str = "C") -> tuple[tir.Schedule, Any]:
    sch = tir.Schedule(func)
    return sch, sch.block_key(sch.get_block(name), "test")


ADDITION = elementwise(lambda A, i, j: A[i, j] * 2.0, consumer=False)


@pytest.mark.parametrize(
    ("func", "name", "expected"),
    [
        (product(), "C", True),
        (product(), "root", False),
        (product(16, 1, 16), "C", True),  # A is read once, but B for each row
        (product(1, 1, 16), "C", False),
        (row_sums(), "C", False),  # each element is read once
        (ADDITION, "C", False),
    ],
)
def test_reductions_that_read_elements_several_times_are_tiled(
    func: tir.PrimFunc, name: str, expected: bool
) -> None:
    assert needs_multi_level_tiling(*block_of(func, name)) == expected


def test_a_block_is_tiled_once_and_with_its_own_loops() -> None:
    sch, key = block_of(product())
    sch.annotate("C", TILING, "SSR")
    assert is_tiled(sch.block(key))
    assert not needs_multi_level_tiling(sch, key)
    sch, key = block_of(product())
    assert not is_tiled(sch.block(key))
    i, j, _ = sch.get_loops("C")
    sch.fuse(i, j)
    assert not needs_multi_level_tiling(sch, key)


@pytest.mark.parametrize(
    ("func", "jobs", "expected"),
    [
        (row_sums(4, 64), 1, True),
        (row_sums(4, 1), 64, False),
        (row_sums(4, 2), 1, True),
        (ADDITION, 64, False),
        (product(2, 2, 16), 4, True),
        (product(2, 2, 16), 3, False),  # more iterations than jobs
        (product(4, 4, 16), 64, False),  # as many as the reduction has
        (product(4, 4, 17), 64, True),
    ],
)
def test_reductions_that_are_computed_in_parts(
    func: tir.PrimFunc, jobs: int, expected: bool
) -> None:
    assert needs_parallel_reduction(*block_of(func), jobs) == expected


def test_reductions_beside_other_statements_are_not_computed_in_parts() -> None:
    func = product(2, 2, 16, lambda C, i, j: C[i, j] + 1.0)
    sch, key = block_of(func)
    assert needs_parallel_reduction(sch, key, 4)
    sch.reverse_compute_at(sch.get_block("D"), sch.get_loops("C")[1])
    assert not needs_parallel_reduction(sch, key, 4)
    assert not needs_parallel_reduction(sch, sch.block_key(sch.get_block("root"), "test"), 4)


def test_factors_of_splits_are_those_that_were_given_or_sampled() -> None:
    sch = tir.Schedule(product())
    i, j, k = sch.get_loops("C")
    factor = sch.sample_categorical([2, 4], [0.5, 0.5])
    outer, inner = sch.split(i, [None, factor])
    middle, last = sch.split(j, [4, 4])
    found = [split_factor(sch, loop.key) for loop in (outer, inner, middle, last, k)]
    assert found[1] is factor
    assert (found[0], found[2:]) == (None, [4, 4, None])
