"""Blocks at loops of their consumers."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.schedule_rule.block_properties import TILING
from te_sched.meta_schedule.schedule_rule.random_compute_location import RANDOM_PRODUCER
from tests.meta_schedule.schedule_rule.spaces import elementwise, row_sums, space, steps


def moved(block: str = "B", annotation: str | None = None) -> list[str]:
    """The steps of the rule for a block of B and its consumer C, which may be annotated."""
    sch = tir.Schedule(elementwise(lambda A, i, j: A[i, j] * 2.0))
    if annotation is not None:
        sch.annotate(block, annotation, "SSR")
    (made,) = rules.RandomComputeLocation().apply(sch, sch.get_block(block))
    return steps(made)


def test_random_compute_location_moves_blocks_with_consumers() -> None:
    func = elementwise(lambda A, i, j: A[i, j] * 2.0)
    (sch,) = space(func, rules.RandomComputeLocation())
    assert steps(sch) == ["compute_at"]


@pytest.mark.parametrize(
    ("block", "annotation", "expected"),
    [
        ("B", None, ["compute_at"]),
        ("C", None, []),  # without a consumer
        ("B", TILING, ["annotate"]),
        ("root", None, []),
    ],
)
def test_blocks_that_are_moved(block: str, annotation: str | None, expected: list[str]) -> None:
    assert moved(block, annotation) == expected


def test_the_producer_that_rfactor_made_is_moved_with_its_block() -> None:
    sch = tir.Schedule(row_sums())
    _, k = sch.get_loops("C")
    _, inner = sch.split(k, [None, 4])
    sch.rfactor(inner, 1)
    sch.cache_write("C", 0, "global")
    sch.annotate("C", RANDOM_PRODUCER, 1)
    before = len(steps(sch))
    (made,) = rules.RandomComputeLocation().apply(sch, sch.get_block("C"))
    assert steps(made)[before:] == ["unannotate", "compute_at", "compute_at"]
    assert RANDOM_PRODUCER not in made.get(made.get_block("C")).annotations
