"""Programs that certainly read beyond a tensor are refused; others are not."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import BuildError, te

A = te.placeholder((64,), name="A")


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (lambda i: i + 100, "runs from 100 to 163, and A has 64"),
        (lambda i: i - 1, "reads A at -1 in dimension 0"),
        (lambda i: i * 2, "runs from 0 to 126"),
        (lambda i: 64 - i, "reads A at 64"),
    ],
)
def test_build_rejects_a_read_outside(index, message):
    B = te.compute((64,), lambda i: A[index(i)], name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(BuildError, match=message):
        te_sched.build(s, [A, B])


def test_build_rejects_a_read_outside_after_an_even_split():
    B = te.compute((64,), lambda i: A[i + 1], name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=16)
    with pytest.raises(BuildError, match="stage B"):
        te_sched.build(s, [A, B])


def test_verify_false_insists():
    B = te.compute((64,), lambda i: A[i + 1], name="B")
    te_sched.build(te.create_schedule(B.op), [A, B], verify=False)


def test_guarded_read_is_allowed():
    B = te.compute(
        (66,), lambda i: te.if_then_else(te.all(i >= 1, i < 65), A[i - 1], 0.0), name="B"
    )
    built = te_sched.build(te.create_schedule(B.op), [A, B])
    a, b = np.arange(64, dtype="float32"), np.empty(66, "float32")
    built(a, b)
    np.testing.assert_array_equal(b, np.pad(a, 1))


def test_stage_wider_than_what_is_read_of_it_is_allowed():
    B = te.compute((100,), lambda i: A[i], name="B")
    C = te.compute((64,), lambda i: B[i] + 1.0, name="C")
    built = te_sched.build(te.create_schedule(C.op), [A, C])
    a, c = np.arange(64, dtype="float32"), np.empty(64, "float32")
    built(a, c)
    np.testing.assert_array_equal(c, a + 1)


def test_loop_that_never_runs_reads_nothing():
    B = te.compute((0,), lambda i: A[i + 100], name="B")
    te_sched.build(te.create_schedule(B.op), [A, B])


def test_reads_beyond_any_size_are_refused():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i + 4], name="B")
    with pytest.raises(
        BuildError, match=r"reads A at n \+ 3(.*\n)*.*from 4 to n \+ 3, and A has n"
    ):
        te_sched.build(te.create_schedule(b.op), [a, b])


def test_reads_in_empty_loops_are_none():
    a = te.placeholder((3,), name="A")
    b = te.compute((0,), lambda i: a[5], name="B")
    te_sched.build(te.create_schedule(b.op), [a, b])


def test_threads_that_add_nothing_to_a_reduction_read_nothing():
    a, k = te.placeholder((5, 8), name="A"), te.reduce_axis((0, 8), "k")
    b = te.compute((5,), lambda i: te.sum(a[i, k], axis=k), name="B")
    s = te.create_schedule(b.op)
    _, inner = s[b].split(k, factor=4)
    rows = s.rfactor(b, inner)
    block, row = s[b].split(s[b].op.axis[0], factor=4)
    tags = ("blockIdx.x", "threadIdx.y", "threadIdx.x")
    for axis, tag in zip((block, row, s[b].op.reduce_axis[0]), tags, strict=True):
        s[b].bind(axis, te.thread_axis(tag))
    s[rows].compute_at(s[b], s[b].op.reduce_axis[0])
    te_sched.build(s, [a, b], target="cuda")
