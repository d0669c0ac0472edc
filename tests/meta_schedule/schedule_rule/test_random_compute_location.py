"""Blocks at loops of their consumers."""

from __future__ import annotations

from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    elementwise,
    space,
    steps,
)


def test_random_compute_location_moves_blocks_with_consumers() -> None:
    func = elementwise(lambda A, i, j: A[i, j] * 2.0)
    (sch,) = space(func, rules.RandomComputeLocation())
    assert steps(sch) == ["compute_at"]
