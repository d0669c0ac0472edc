"""The alignments that kernels require of arrays."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import te
from te_sched.runtime.cuda_arguments import alignments_of_arguments


def alignments(dtype: str, lanes: int, is_strided: bool = False) -> dict[int, int]:
    a = te.placeholder((8, 64), name="A", dtype=dtype)
    b = te.compute((8, 32), lambda i, j: a[i, j * 2 if is_strided else j], name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    outer, inner = s[b].split(b.op.axis[1], lanes)
    s[b].bind(outer, te.thread_axis("threadIdx.x"))
    s[b].vectorize(inner)
    return alignments_of_arguments(te_sched.build(s, [a, b], "cuda").program, "main")


@pytest.mark.parametrize(
    ("dtype", "lanes", "expected"), [("float32", 4, 16), ("float16", 2, 4), ("float32", 1, 1)]
)
def test_wide_accesses_need_their_bytes(dtype: str, lanes: int, expected: int) -> None:
    assert alignments(dtype, lanes) == {0: expected, 1: expected}


def test_elements_that_lie_apart_are_single() -> None:
    assert alignments("float32", 4, is_strided=True) == {0: 1, 1: 16}


def test_arguments_that_only_the_host_has_are_free() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
    unused = te.placeholder((3,), name="C")
    program = te_sched.build(s, [a, unused, b], "cuda").program
    assert alignments_of_arguments(program, "main") == {0: 1, 2: 1}
