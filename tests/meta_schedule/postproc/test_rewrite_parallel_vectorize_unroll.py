"""Loops become parallel, vectors, or are unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.meta_schedule import postproc as postprocs
from tests.meta_schedule.postproc.asked import check_product, kinds_of_loops, product


def _asking(sch: tir.Schedule, **marks: int) -> tir.Schedule:
    """A schedule whose root block asks for parallel, vectorized and unrolled loops."""
    for name, value in marks.items():
        sch.annotate("root", f"meta_schedule.{name}", value)
    return sch


def test_parallel_loops_are_fused_until_there_are_enough() -> None:
    sch = _asking(tir.Schedule(product()), parallel=15)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert kinds_of_loops(sch, "C") == [("parallel", 16), ("serial", 16), ("serial", 16)]
    sch = _asking(tir.Schedule(product()), parallel=16)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert kinds_of_loops(sch, "C") == [("parallel", 256), ("serial", 16)]
    check_product(sch)


def test_contiguous_nests_are_split_into_parallel_loops_and_vectors() -> None:
    sch = _asking(tir.Schedule(product(relu=True)), parallel=4, vectorize=32)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert kinds_of_loops(sch, "D") == [("parallel", 8), ("vectorized", 32)]
    check_product(sch, relu=True)


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
    assert kinds_of_loops(sch, "B") == kinds
    a, out = np.random.default_rng(0).random((16, 16), "float32"), np.zeros((16, 16), "float32")
    given = te_sched.nd.array(out)
    te_sched.build(sch.mod)(te_sched.nd.array(a), given)
    expected = [[read(a, i, j) for j in range(16)] for i in range(16)]
    np.testing.assert_array_equal(given.numpy(), np.array(expected))


@pytest.mark.parametrize(("how", "is_explicit"), [("explicit", 1), ("implicit", 0)])
def test_unrolling_marks_reductions(how: str, is_explicit: int) -> None:
    sch = _asking(tir.Schedule(product(relu=True)), **{f"unroll_{how}": 16})
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    marks = [dict(sch.get(sch.get_loops(name)[0]).annotations) for name in "CD"]
    assert marks == [
        {"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": is_explicit},
        {},
    ]
    assert not sch.get(sch.get_block("root")).annotations
    check_product(sch, relu=True)


def test_contradicting_unrolling_is_rejected() -> None:
    sch = _asking(tir.Schedule(product()), unroll_explicit=16, unroll_implicit=16)
    assert not postprocs.RewriteParallelVectorizeUnroll().apply(sch)


def test_annotated_loops_are_left() -> None:
    sch = _asking(tir.Schedule(product()), parallel=1000, vectorize=16)
    sch.annotate(sch.get_loops("C")[0], "note", 1)
    assert postprocs.RewriteParallelVectorizeUnroll().apply(sch)
    assert [kind for kind, _ in kinds_of_loops(sch, "C")] == ["serial"] * 3
