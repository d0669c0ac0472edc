"""Marked blocks are tensorized."""

from __future__ import annotations

import pytest

from te_sched import meta_schedule as ms
from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import check_product, kinds_of_loops, product


@pytest.mark.parametrize("vectorize", [False, True])
def test_initializations_without_an_intrinsic_are_vectorized(vectorize: bool) -> None:
    sch = tir.Schedule(product())
    init = sch.decompose_reduction("C", sch.get_loops("C")[0])
    sch.annotate(init, "meta_schedule.auto_tensorize", "")
    assert ms.postproc.RewriteTensorize(vectorize_init_loop=vectorize).apply(sch)
    assert ("auto_tensorize" in sch.mod.script()) == (not vectorize)
    assert kinds_of_loops(sch, "C_init")[-1] == ("vectorized" if vectorize else "serial", 16)
    check_product(sch)


@pytest.mark.parametrize("of_init", ["", "fill"])
def test_the_mark_of_an_initialization_is_its_own(of_init: str) -> None:
    sch = tir.Schedule(product())
    sch.annotate("C", "meta_schedule.auto_tensorize", "product")
    if of_init:
        sch.annotate("C", "meta_schedule.auto_tensorize_init", of_init)
    assert postprocs.RewriteReductionBlock().apply(sch)
    for name, mark in (("C_init", of_init), ("C_update", "product")):
        notes = dict(sch.get(sch.get_block(name)).annotations)
        assert notes == {"meta_schedule.auto_tensorize": mark}


def test_marked_blocks_are_tensorized_or_refused() -> None:
    sch = tir.Schedule(product())
    sch.annotate("C", "meta_schedule.auto_tensorize", "dot_4x4_i8i8s32_neon")
    with pytest.raises(ScheduleError, match="dot_4x4_i8i8s32_neon"):
        ms.postproc.RewriteTensorize().apply(sch)
