"""Kinds of loops: parallel, vectorized, unrolled, bound; annotations of loops and blocks."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.script import from_source
from tests.tensorir.programs import GIVEN, MATMUL
from tests.tensorir.schedules import scheduled


def test_annotations_of_loops_are_not_those_of_loops_that_initialize() -> None:
    """Their kinds are."""
    sch = tir.Schedule(from_source(GIVEN + MATMUL))
    i, j, k = sch.get_loops("C")
    sch.annotate(i, "pragma_auto_unroll_max_step", 16)
    sch.vectorize(j)
    sch.reorder(k, j)
    sch.decompose_reduction("C", i)
    before, inner = [sch.get(one) for one in sch.get_loops("C_init")]
    assert not before.annotations
    assert inner.kind == "vectorized"
    assert sch.get(i).annotations


def test_kinds_of_loops() -> None:
    sch = scheduled(MATMUL)
    i, j, k = sch.get_loops("C")
    sch.parallel(i)
    sch.vectorize(j)
    sch.unroll(k)
    assert [sch.get(loop).kind for loop in (i, j, k)] == ["parallel", "vectorized", "unrolled"]
    sch.bind(i, "blockIdx.x")
    sch.bind(k, "threadIdx.x")  # its threads combine their results
    assert [sch.get(loop).thread_binding.thread_tag for loop in (i, k)] == [
        *("blockIdx.x", "threadIdx.x")
    ]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sch.parallel(k)", "cannot parallelize reduction loop k of block C"),
        ("sch.vectorize(k)", "cannot vectorize reduction loop k of block C"),
        ("sch.bind(k, 'blockIdx.x')", "cannot bind reduction loop k of block C"),
        ("sch.bind(i, 'threadIdx.w')", "threadIdx.w"),
        ("sch.parallel('C')", "parallelize needs a loop, got a str"),
        ("sch.annotate(i, 3, 1)", "the name of an annotation is a text, got an int"),
        ("sch.annotate(i, 'a', object())", "an annotation cannot be an object"),
        ("sch.unannotate(i, 'a')", "i has no annotation 'a'"),
    ],
)
def test_kinds_reject(code: str, message: str) -> None:
    sch = scheduled(MATMUL)
    i, _, k = sch.get_loops("C")
    with pytest.raises(ScheduleError, match=message):
        eval(code, {"sch": sch, "i": i, "k": k})


def test_annotations_are_kept_until_they_are_removed() -> None:
    sch = scheduled(MATMUL)
    loop = sch.get_loops("C")[0]
    number = sch.sample_categorical([16], [1.0])
    values = {"number": number, "list": [1, {"a": "b"}], "share": 0.5}
    for name, value in values.items():
        sch.annotate(loop, name, value)
        sch.annotate("C", name, value)
    sch.annotate("C", "number", 3)  # which it has already
    for node in (sch.get(loop), sch.get(sch.get_block("C"))):
        assert node.annotations["number"] == 16
        assert node.annotations["list"] == [1, {"a": "b"}]
        share = node.annotations["share"]
        assert (share.value, share.dtype) == (0.5, "float32")
    for name in values:
        sch.unannotate(loop, name)
    assert sch.get(loop).annotations == {}
    assert set(sch.get(sch.get_block("C")).annotations) == set(values)
