"""Annotations of the root."""

from __future__ import annotations

from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    product,
    space,
)


def test_parallelize_vectorize_unroll_annotates_the_root() -> None:
    rule = rules.ParallelizeVectorizeUnroll(16, 64, [0, 16])
    (sch,) = space(product(), rule)
    marks = sch.get(sch.get_block("root")).annotations
    assert marks["meta_schedule.parallel"] == 64
    assert marks["meta_schedule.vectorize"] == 64
    assert marks["meta_schedule.unroll_explicit"] in (0, 16)
