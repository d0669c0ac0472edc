"""Reductions whose loops depend on data or on other axes."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import ScheduleError

LENGTHS = np.array([3, 0, 5, 1], "int32")
VALUES = np.arange(20, dtype="float32").reshape(4, 5)
SUMS = [VALUES[i, :n].sum() for i, n in enumerate(LENGTHS)]


def ragged(low=lambda L, i: 0, end=lambda L, i: L[i], source=lambda A: A):
    A, L = te.placeholder((4, 5), name="A"), te.placeholder((4,), "int32", name="L")
    B = source(A)

    def row(i):
        k = te.reduce_axis((low(L, i), end(L, i)), "k")
        return te.sum(B[i, k], axis=k)

    Y = te.compute((4,), row, name="Y")
    return A, L, B, Y, te.create_schedule(Y)


def result(s, A, L, Y):
    out = te_sched.nd.array(np.full(4, np.nan, "float32"))
    te_sched.build(s, [A, L, Y])(te_sched.nd.array(VALUES), te_sched.nd.array(LENGTHS), out)
    return out.numpy()


def test_the_extent_is_read_from_the_buffer():
    A, L, _, Y, s = ragged()
    assert "range(L[i])" in te_sched.lower(s, [A, L, Y]).script()
    np.testing.assert_allclose(result(s, A, L, Y), SUMS)


def test_a_split_loop_is_guarded_by_the_extent():
    A, L, _, Y, s = ragged()
    s[Y].split(Y.op.reduce_axis[0], 2)
    np.testing.assert_allclose(result(s, A, L, Y), SUMS)


def test_the_first_index_may_depend_on_data():
    A, L, _, Y, s = ragged(low=lambda L, i: L[i], end=lambda L, i: 5)
    s[Y].split(Y.op.reduce_axis[0], 2)
    expected = [VALUES[i, n:].sum() for i, n in enumerate(LENGTHS)]
    np.testing.assert_allclose(result(s, A, L, Y), expected)


@pytest.mark.parametrize("is_attached", [False, True])
def test_a_producer_is_computed_whole_along_the_loop(is_attached):
    double = lambda A: te.compute((4, 5), lambda i, j: A[i, j] * 2, name="B")  # noqa: E731
    A, L, B, Y, s = ragged(source=double)
    if is_attached:
        s[B].compute_at(s[Y], Y.op.axis[0])
    np.testing.assert_allclose(result(s, A, L, Y), np.multiply(2, SUMS))


def test_cache_write_takes_the_domain_along():
    A, L, _, Y, s = ragged()
    copy = s.cache_write(Y, "local")
    s[copy].compute_at(s[Y], s[Y].op.axis[0])
    np.testing.assert_allclose(result(s, A, L, Y), SUMS)


def test_a_reduction_over_a_triangle_of_axes():
    A = te.placeholder((4, 4, 4), name="A")

    def row(i):
        k = te.reduce_axis((0, i + 1), "k")
        l = te.reduce_axis((0, k.var + 1), "l")  # noqa: E741
        return te.sum(A[i, k, l], axis=[k, l])

    Y = te.compute((4,), row, name="Y")
    values = np.arange(64, dtype="float32").reshape(4, 4, 4)
    out = te_sched.nd.array(np.zeros(4, "float32"))
    te_sched.build(te.create_schedule(Y), [A, Y])(te_sched.nd.array(values), out)
    np.testing.assert_allclose(out.numpy(), [np.tril(values[i, : i + 1]).sum() for i in range(4)])


def test_what_a_domain_reads_is_read_where_it_is():
    _, L, _, Y, s = ragged()
    with pytest.raises(
        ScheduleError, match=r"cannot replace tensor L: L\[i\] is the extent of a reduction axis"
    ):
        s.cache_read(L, "local", [Y])


def test_what_a_domain_reads_cannot_be_inlined():
    L = te.placeholder((4,), "int32", name="L")
    half = te.compute((4,), lambda i: L[i] // 2, name="half")
    Y = te.compute((4,), lambda i: te.sum(L[i], te.reduce_axis((0, half[i]), "k")), name="Y")
    s = te.create_schedule(Y)
    s[half].compute_inline()
    with pytest.raises(ScheduleError, match="inline half into Y"):
        te_sched.lower(s, [L, Y])
