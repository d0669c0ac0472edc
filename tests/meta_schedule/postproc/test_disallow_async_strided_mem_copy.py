"""Asynchronous copies with strides are rejected."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import check_product, product


@pytest.mark.parametrize(
    ("operand", "place", "stages", "is_allowed"),
    [
        (0, 1, [0], True),  # a row of A
        (1, 1, [0], False),  # a column of B
        (1, 0, [0], True),  # all of B
        (1, 1, [1], True),  # a column of B by the processor itself
        (1, 1, [], True),
    ],
)
def test_asynchronous_copies_with_strides_are_rejected(
    operand: int, place: int, stages: list[int], is_allowed: bool
) -> None:
    sch = tir.Schedule(product())
    loops = sch.get_loops("C")
    copy = sch.cache_read("C", operand, "global.vtcm")
    sch.compute_at(copy, loops[place])
    sch.annotate(loops[place], "software_pipeline_stage", [0, 1])
    sch.annotate(loops[place], "software_pipeline_order", [0, 1])
    sch.annotate(loops[place], "software_pipeline_async_stages", stages)
    assert postprocs.DisallowAsyncStridedMemCopy().apply(sch) == is_allowed
    check_product(sch)
