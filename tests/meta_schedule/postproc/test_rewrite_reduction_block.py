"""Reductions are initialized apart."""

from __future__ import annotations

from te_sched import meta_schedule as ms
from te_sched import te, tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import check_product, kinds_of_loops, product


def test_reductions_are_initialized_before_their_first_loop() -> None:
    sch = tir.Schedule(product())
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    assert postprocs.RewriteReductionBlock().apply(sch)
    assert [one.name for one in sch.get_child_blocks(i)] == ["C_init", "C_update"]
    assert len(sch.get_loops("C_init")) == 2
    check_product(sch)


def test_reductions_over_threads_keep_their_initialization() -> None:
    sch = tir.Schedule(product())
    sch.bind(sch.get_loops("C")[2], "threadIdx.x")
    assert postprocs.RewriteReductionBlock().apply(sch)
    assert [one.name for one in sch.get_child_blocks(sch.get_block("root"))] == ["C"]


def test_loops_with_reductions_of_other_blocks_are_reduction_loops() -> None:
    A, k = te.placeholder((4, 8, 8), name="A"), te.reduce_axis((0, 8), "k")
    R = te.compute((4, 8), lambda i, j: te.sum(A[i, j, k], axis=k), name="R")
    r = te.reduce_axis((0, 8), "r")
    func = te.create_prim_func([A, te.compute((4,), lambda i: te.sum(R[i, r], axis=r), name="S")])
    sch = tir.Schedule(func)
    sch.compute_at("R", sch.get_loops("S")[1])
    assert postprocs.RewriteReductionBlock().apply(sch)
    i = sch.get_loops("S_update")[0]
    assert [one.name for one in sch.get_child_blocks(i)] == [
        "R_init",
        "S_init",
        "R_update",
        "S_update",
    ]


def test_reductions_of_blocks_in_blocks_are_initialized_before_their_loops() -> None:
    """The inner block is another one after the outer one is initialized."""
    sch = tir.Schedule(product())
    i, j, k = [sch.split(loop, [None, 4]) for loop in sch.get_loops("C")]
    sch.reorder(i[0], j[0], k[0], i[1], j[1], k[1])
    sch.blockize(i[1])
    assert postprocs.RewriteReductionBlock().apply(sch)
    sch.annotate("C_o_init", "meta_schedule.auto_tensorize", "")
    assert ms.postproc.RewriteTensorize(vectorize_init_loop=True).apply(sch)
    assert kinds_of_loops(sch, "C_init")[-1] == ("vectorized", 4)
    check_product(sch)
