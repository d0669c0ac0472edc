"""Postprocessors: what they change, what they reject, and that the results are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import meta_schedule as ms
from te_sched import te, tir
from te_sched.errors import DeclarationError, ScheduleError
from te_sched.meta_schedule import postproc as postprocs
from te_sched.script import tir as T


def _product(n: int = 16, relu: bool = False) -> tir.PrimFunc:
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((n, n), lambda i, j: te.max(C[i, j], 0.0), name="D")
    return te.create_prim_func([A, B, D if relu else C])


def _asking(sch: tir.Schedule, **marks: int) -> tir.Schedule:
    """A schedule whose root block asks for parallel, vectorized and unrolled loops."""
    for name, value in marks.items():
        sch.annotate("root", f"meta_schedule.{name}", value)
    return sch


def _kinds(sch: tir.Schedule, block: str) -> list[tuple[str, int]]:
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    return [(loop.kind, int(loop.extent)) for loop in loops]


def _check_product(sch: tir.Schedule, relu: bool = False) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, (16, 16)).astype("float32") for _ in range(2))
    out = te_sched.nd.array(np.zeros((16, 16), "float32"))
    te_sched.build(sch.mod)(te_sched.nd.array(a), te_sched.nd.array(b), out)
    expected = np.maximum(a @ b, 0) if relu else a @ b
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)


# -- dynamic loops ---------------------------------------------------------------------------------


def test_disallow_dynamic_loop_rejects_loops_of_unknown_length() -> None:
    @T.prim_func
    def triangle(A: T.Buffer((8, 8), "float32")) -> None:
        for i in range(8):
            for j in range(i):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    A[vi, vj] = T.float32(1)

    assert not postprocs.DisallowDynamicLoop().apply(tir.Schedule(triangle))
    assert postprocs.DisallowDynamicLoop().apply(tir.Schedule(_product()))


# -- asynchronous copies ---------------------------------------------------------------------------


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
    sch = tir.Schedule(_product())
    loops = sch.get_loops("C")
    copy = sch.cache_read("C", operand, "global.vtcm")
    sch.compute_at(copy, loops[place])
    sch.annotate(loops[place], "software_pipeline_stage", [0, 1])
    sch.annotate(loops[place], "software_pipeline_order", [0, 1])
    sch.annotate(loops[place], "software_pipeline_async_stages", stages)
    assert postprocs.DisallowAsyncStridedMemCopy().apply(sch) == is_allowed
    _check_product(sch)


# -- parallel, vectorized and unrolled loops -------------------------------------------------------


def test_parallel_loops_are_fused_until_there_are_enough() -> None:
    sch = _asking(tir.Schedule(_product()), parallel=15)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert _kinds(sch, "C") == [("parallel", 16), ("serial", 16), ("serial", 16)]
    sch = _asking(tir.Schedule(_product()), parallel=16)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert _kinds(sch, "C") == [("parallel", 256), ("serial", 16)]
    _check_product(sch)


def test_contiguous_nests_are_split_into_parallel_loops_and_vectors() -> None:
    sch = _asking(tir.Schedule(_product(relu=True)), parallel=4, vectorize=32)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert _kinds(sch, "D") == [("parallel", 8), ("vectorized", 32)]
    _check_product(sch, relu=True)


@pytest.mark.parametrize(
    ("read", "kinds"),
    [
        (lambda A, i, j: A[i, j], [("parallel", 16), ("vectorized", 16)]),
        (lambda A, i, j: A[i, 0], [("parallel", 16), ("vectorized", 16)]),
        (lambda A, i, j: A[0, j], [("parallel", 16), ("vectorized", 16)]),
        (lambda A, i, j: A[j, i], [("parallel", 16), ("vectorized", 16)]),
    ],
)
def test_vectors_of_elementwise_blocks(read: Any, kinds: Any) -> None:
    A = te.placeholder((16, 16), name="A")
    func = te.create_prim_func([A, te.compute((16, 16), lambda i, j: read(A, i, j), name="B")])
    sch = _asking(tir.Schedule(func), parallel=4, vectorize=16)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert _kinds(sch, "B") == kinds
    a, out = np.random.default_rng(0).random((16, 16), "float32"), np.zeros((16, 16), "float32")
    given = te_sched.nd.array(out)
    te_sched.build(sch.mod)(te_sched.nd.array(a), given)
    expected = [[read(a, i, j) for j in range(16)] for i in range(16)]
    np.testing.assert_array_equal(given.numpy(), np.array(expected))


@pytest.mark.parametrize(("how", "is_explicit"), [("explicit", 1), ("implicit", 0)])
def test_unrolling_marks_reductions(how: str, is_explicit: int) -> None:
    sch = _asking(tir.Schedule(_product(relu=True)), **{f"unroll_{how}": 16})
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    marks = [dict(sch.get(sch.get_loops(name)[0]).annotations) for name in "CD"]
    assert marks == [
        {"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": is_explicit},
        {},
    ]
    assert not sch.get(sch.get_block("root")).annotations
    _check_product(sch, relu=True)


def test_contradicting_unrolling_is_rejected() -> None:
    sch = _asking(tir.Schedule(_product()), unroll_explicit=16, unroll_implicit=16)
    assert not postprocs.RewriteParallelVectorizeUnroll().apply(sch)


def test_annotated_loops_are_left() -> None:
    sch = _asking(tir.Schedule(_product()), parallel=1000, vectorize=16)
    sch.annotate(sch.get_loops("C")[0], "note", 1)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert [kind for kind, _ in _kinds(sch, "C")] == ["serial"] * 3


# -- reductions ------------------------------------------------------------------------------------


def test_reductions_are_initialized_before_their_first_loop() -> None:
    sch = tir.Schedule(_product())
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    assert postprocs.RewriteReductionBlock().apply(sch)
    assert [one.name for one in sch.get_child_blocks(i)] == ["C_init", "C_update"]
    assert len(sch.get_loops("C_init")) == 2
    _check_product(sch)


def test_reductions_over_threads_keep_their_initialization() -> None:
    sch = tir.Schedule(_product())
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


# -- by kind of target -----------------------------------------------------------------------------


def test_create_rejects_other_kinds() -> None:
    with pytest.raises(DeclarationError, match="'tpu' is not a kind of target"):
        ms.Postproc.create("tpu")


# -- layouts ---------------------------------------------------------------------------------------


def _free(func: tir.PrimFunc, *numbers: int) -> tir.PrimFunc:
    return func.with_attr("layout_free_buffers", list(numbers))


def test_layouts_follow_the_loops_that_read() -> None:
    sch = tir.Schedule(_free(_product(), 1))
    i, j, k = sch.get_loops("C")
    outer, inner = sch.split(k, [4, 4])
    sch.reorder(j, outer, i, inner)
    assert postprocs.RewriteLayout().apply(sch)
    reads = sch.get(sch.get_block("C")).reads
    assert "B_global[v_j, v_k // 4, v_k % 4]" in [str(region) for region in reads]
    assert sch.get(sch.get_block("B_global")).annotations["meta_schedule.layout_rewrite_preproc"]
    _check_product(sch)


def test_layouts_that_do_not_hold_each_element_are_left() -> None:
    A, B = te.placeholder((8,), name="A"), te.placeholder((8, 8), name="B")
    func = te.create_prim_func([A, B, te.compute((8,), lambda i: A[i] * B[i, i], name="C")])
    sch = tir.Schedule(_free(func, 1))
    assert postprocs.RewriteLayout().apply(sch)
    assert not any(entry.method == "transform_layout" for entry in sch.trace.entries)


@pytest.mark.parametrize("number", [2, 7])
def test_layouts_of_results_and_of_absent_parameters_are_rejected(number: int) -> None:
    assert not postprocs.RewriteLayout().apply(tir.Schedule(_free(_product(), number)))


# -- kernels ---------------------------------------------------------------------------------------


def _initialized(postproc: ms.Postproc, func: tir.PrimFunc) -> ms.Postproc:
    space = ms.space_generator.PostOrderApply(sch_rules=[], postprocs=[postproc], mutator_probs={})
    ms.TuneContext(func, target="nvidia/geforce-rtx-3080", space_generator=space)
    return postproc


def test_unbound_loops_are_bound() -> None:
    func = _product()
    sch = tir.Schedule(func)
    assert _initialized(postprocs.RewriteUnboundBlock(), func).apply(sch)
    tags = [sch.get(loop).thread_binding for loop in sch.get_loops("C")[:2]]
    assert [tag.thread_tag for tag in tags] == ["blockIdx.x", "threadIdx.x"]


def test_kernels_with_too_many_threads_are_rejected() -> None:
    func = _product(64)
    check = _initialized(postprocs.VerifyGPUCode(), func)
    sch = tir.Schedule(func)
    i, j, _ = sch.get_loops("C")
    sch.bind(j, "threadIdx.x")
    assert check.apply(sch)
    sch.bind(i, "threadIdx.y")
    assert not check.apply(sch)


def test_threads_fetch_together() -> None:
    sch = tir.Schedule(_product())
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    fetch = sch.cache_read("C", 1, "shared")
    sch.compute_at(fetch, j)
    sch.fuse(*sch.get_loops(fetch)[2:])
    sch.annotate(fetch, "meta_schedule.cooperative_fetch", 1)
    assert postprocs.RewriteCooperativeFetch().apply(sch)
    assert [sch.get(loop).kind for loop in sch.get_loops(fetch)[2:]] == ["serial", "thread_binding"]


@pytest.mark.parametrize(("least", "accepted"), [(16, True), (32, False)])
def test_kernels_with_other_than_the_asked_threads_are_rejected(least: int, accepted: bool) -> None:
    func = _product()
    sch = tir.Schedule(func)
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    sch.annotate("C", "meta_schedule.thread_extent_low_inclusive", least)
    assert _initialized(postprocs.VerifyGPUCode(), func).apply(sch) == accepted


@pytest.mark.parametrize("vectorize", [False, True])
def test_initializations_without_an_intrinsic_are_vectorized(vectorize: bool) -> None:
    sch = tir.Schedule(_product())
    init = sch.decompose_reduction("C", sch.get_loops("C")[0])
    sch.annotate(init, "meta_schedule.auto_tensorize", "")
    assert ms.postproc.RewriteTensorize(vectorize_init_loop=vectorize).apply(sch)
    assert ("auto_tensorize" in sch.mod.script()) == (not vectorize)
    assert _kinds(sch, "C_init")[-1] == ("vectorized" if vectorize else "serial", 16)
    _check_product(sch)


@pytest.mark.parametrize("of_init", ["", "fill"])
def test_the_mark_of_an_initialization_is_its_own(of_init: str) -> None:
    sch = tir.Schedule(_product())
    sch.annotate("C", "meta_schedule.auto_tensorize", "product")
    if of_init:
        sch.annotate("C", "meta_schedule.auto_tensorize_init", of_init)
    assert postprocs.RewriteReductionBlock().apply(sch)
    for name, mark in (("C_init", of_init), ("C_update", "product")):
        notes = dict(sch.get(sch.get_block(name)).annotations)
        assert notes == {"meta_schedule.auto_tensorize": mark}


def test_reductions_of_blocks_in_blocks_are_initialized_before_their_loops() -> None:
    """The inner block is another one after the outer one is initialized."""
    sch = tir.Schedule(_product())
    i, j, k = [sch.split(loop, [None, 4]) for loop in sch.get_loops("C")]
    sch.reorder(i[0], j[0], k[0], i[1], j[1], k[1])
    sch.blockize(i[1])
    assert postprocs.RewriteReductionBlock().apply(sch)
    sch.annotate("C_o_init", "meta_schedule.auto_tensorize", "")
    assert ms.postproc.RewriteTensorize(vectorize_init_loop=True).apply(sch)
    assert _kinds(sch, "C_init")[-1] == ("vectorized", 4)
    _check_product(sch)


def test_marked_blocks_are_tensorized_or_refused() -> None:
    sch = tir.Schedule(_product())
    sch.annotate("C", "meta_schedule.auto_tensorize", "dot_4x4_i8i8s32_neon")
    with pytest.raises(ScheduleError, match="dot_4x4_i8i8s32_neon"):
        ms.postproc.RewriteTensorize().apply(sch)
