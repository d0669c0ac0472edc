"""Which inner loops of a block go through memory in steps of one size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import te, tir
from te_sched.meta_schedule.postproc.contiguity import contiguous_loops, copies_neighbors, terms
from te_sched.tensorir.state import BlockKey


def computed(
    value: Callable[..., Any], shape: tuple[Any, ...], extents: tuple[Any, ...] = (4, 8)
) -> tuple[tir.Schedule, BlockKey]:
    """The schedule and the block of B, each element of which reads one of A."""
    A = te.placeholder(shape, name="A")
    B = te.compute(extents, lambda *axes: value(A, *axes) * 2.0, name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    return sch, sch.block_key(sch.get_block("B"), "test")


READS: list[tuple[Callable[..., Any], tuple[int, ...], int]] = [
    (lambda A, i, j: A[i, j], (4, 8), 2),
    (lambda A, i, j: A[i, j], (4, 9), 1),  # a gap after each row
    (lambda A, i, j: A[i + 1, j], (5, 8), 2),
    (lambda A, i, j: A[i, j * 2], (4, 16), 2),  # every other element
    (lambda A, i, j: A[i, j * 2], (4, 17), 1),
    (lambda A, i, j: A[j, i], (8, 4), 1),
    (lambda A, i, j: A[j], (8,), 2),
    (lambda A, i, j: A[i], (4,), 2),
    (lambda A, i, j: A[i * 8 + j], (32,), 2),
    (lambda A, i, j: A[i * 9 + j], (35,), 1),
    (lambda A, i, j: A[3], (4,), 2),
]


@pytest.mark.parametrize(("value", "shape", "count"), READS)
def test_loops_that_could_be_one(
    value: Callable[..., Any], shape: tuple[int, ...], count: int
) -> None:
    assert contiguous_loops(*computed(value, shape)) == count


def test_sizes_that_are_not_known_end_the_count() -> None:
    n = te.var("n")
    assert contiguous_loops(*computed(lambda A, i, j: A[i, j], (4, n), (4, n))) == 0
    assert contiguous_loops(*computed(lambda A, i, j: A[i, j], (n, 4), (n, 4))) == 1


@pytest.mark.parametrize(
    ("value", "shape", "extents", "inner", "expected"),
    [
        (lambda A, i, j: A[i, j], (4, 8), (4, 8), 1, True),
        (lambda A, i, j: A[i, j], (4, 8), (4, 8), 2, True),
        (lambda A, i, j: A[i, j], (4, 9), (4, 8), 1, True),
        (lambda A, i, j: A[i, j], (4, 9), (4, 8), 2, False),
        (lambda A, i, j: A[j, i], (8, 4), (4, 8), 1, False),
        (lambda A, i, j: A[i, j * 2], (4, 16), (4, 8), 1, False),
        (lambda A, i, j: A[i], (4,), (4, 8), 1, False),
        (lambda A, i, j: A[j, i], (1, 4), (4, 1), 2, True),  # loops of one iteration
        (lambda A, i, j: A[j, i], (8, 4), (4, 8), 0, True),
    ],
)
def test_loops_that_copy_neighbors(
    value: Callable[..., Any],
    shape: tuple[int, ...],
    extents: tuple[int, ...],
    inner: int,
    expected: bool,
) -> None:
    sch, key = computed(value, shape, extents)
    loops = sch.loops_above(key)
    assert copies_neighbors(sch, key, loops[len(loops) - inner :]) == expected


def test_terms_of_sums() -> None:
    i, j = te.var("i"), te.var("j")
    for value, expected in [
        (i * 4 + j, {i: 4, j: 1}),
        (3 * ((i + j) * 2), {i: 6, j: 6}),
        (i + 7, {i: 1}),
        (i + j // 2, {i: 1}),
        (i + (j - i), {i: 1}),
        (i * j, {}),
    ]:
        assert dict(terms(value, 1)) == expected
        assert dict(terms(value, 5)) == {var: 5 * factor for var, factor in expected.items()}
