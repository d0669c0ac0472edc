"""Layouts follow the loops that read."""

from __future__ import annotations

import pytest

from te_sched import te, tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import check_product, product


def _free(func: tir.PrimFunc, *numbers: int) -> tir.PrimFunc:
    return func.with_attr("layout_free_buffers", list(numbers))


def test_layouts_follow_the_loops_that_read() -> None:
    sch = tir.Schedule(_free(product(), 1))
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(k, [4, 4])
    sch.reorder(j, outer, i, inner)
    assert postprocs.RewriteLayout().apply(sch)
    reads = sch.get(sch.get_block("C")).reads
    assert "B_global[v_j, v_k // 4, v_k % 4]" in [str(region) for region in reads]
    assert sch.get(sch.get_block("B_global")).annotations["meta_schedule.layout_rewrite_preproc"]
    check_product(sch)


def test_layouts_that_do_not_hold_each_element_are_left() -> None:
    A, B = te.placeholder((8,), name="A"), te.placeholder((8, 8), name="B")
    func = te.create_prim_func([A, B, te.compute((8,), lambda i: A[i] * B[i, i], name="C")])
    sch = tir.Schedule(_free(func, 1))
    assert postprocs.RewriteLayout().apply(sch)
    assert not any(entry.method == "transform_layout" for entry in sch.trace.entries)


@pytest.mark.parametrize("number", [2, 7])
def test_layouts_of_results_and_of_absent_parameters_are_rejected(number: int) -> None:
    assert not postprocs.RewriteLayout().apply(tir.Schedule(_free(product(), number)))
