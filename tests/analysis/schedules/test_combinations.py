"""Reductions whose result depends on an order that a schedule changes."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import BuildError

IN_ORDER = (
    lambda s, B, ko, ki: None,
    lambda s, B, ko, ki: s[B].reorder(ko, B.op.axis[0], ki),
    lambda s, B, ko, ki: s[B].unroll(ki),
    lambda s, B, ko, ki: s[B].fuse(ko, ki),
    lambda s, B, ko, ki: s[B].split(s[B].fuse(B.op.axis[0], ko), 3),
)


def horner(dtype: str = "int32", extent: int = 16):
    """Rows of values, as the digits of a number to the base 2, with the loops of its reduction."""
    A = te.placeholder((4, extent), dtype, name="A")
    k = te.reduce_axis((0, extent), name="k")
    reducer = te.comm_reducer(
        lambda x, y: x * tir.const(2, dtype) + y, lambda dtype: tir.const(0, dtype), "horner"
    )
    B = te.compute((4,), lambda i: reducer(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    return s, A, B, *s[B].split(k, factor=4)


def expected(a: np.ndarray) -> np.ndarray:
    total = np.zeros(4, a.dtype)
    for column in a.T:
        total = total * 2 + column
    return total


@pytest.mark.parametrize("change", IN_ORDER)
def test_loops_that_keep_the_order_are_right(change):
    s, A, B, ko, ki = horner()
    change(s, B, ko, ki)
    a = np.random.default_rng(0).integers(0, 9, (4, 16), "int32")
    b = np.zeros(4, "int32")
    te_sched.build(s, [A, B], target="llvm")(a, b)
    np.testing.assert_array_equal(b, expected(a))


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint16", "float32"])
def test_reordered_reduction_loops_are_refused(dtype):
    s, A, B, ko, ki = horner(dtype)
    s[B].reorder(ki, ko)
    with pytest.raises(BuildError, match=r"cannot reorder reduction axes k\.inner and k\.outer"):
        te_sched.build(s, [A, B], target="llvm")
    te_sched.build(s, [A, B], target="llvm", verify=False)
    assert te_sched.analysis.check(s, [A, B]).refuted


def test_a_fused_loop_of_a_row_and_a_reduction_in_another_order_is_refused():
    s, A, B, ko, _ = horner()
    outer, inner = s[B].split(s[B].fuse(B.op.axis[0], ko), 2)
    s[B].reorder(inner, outer)
    with pytest.raises(BuildError, match="cannot reorder reduction axes"):
        te_sched.build(s, [A, B], target="llvm")


def test_reordered_axes_of_one_iteration_are_right():
    s, A, B, ko, ki = horner(extent=1)
    s[B].reorder(ki, ko)
    a, b = np.ones((4, 1), "int32"), np.zeros(4, "int32")
    te_sched.build(s, [A, B], target="llvm")(a, b)
    np.testing.assert_array_equal(b, 1)


@pytest.mark.parametrize("factored", ["ko", "ki"])
def test_factored_reductions_are_refused(factored):
    s, A, B, ko, ki = horner()
    s.rfactor(B, {"ko": ko, "ki": ki}[factored])
    with pytest.raises(BuildError, match=r"cannot combine the partial results of stage B\.rf"):
        te_sched.build(s, [A, B], target="llvm")


def test_factored_differences_are_refused_and_reordered_ones_right():
    def difference():
        A = te.placeholder((4, 16), "int32", name="A")
        k = te.reduce_axis((0, 16), name="k")
        reducer = te.comm_reducer(lambda x, y: x - y, lambda dtype: tir.const(0, dtype), "sub")
        B = te.compute((4,), lambda i: reducer(A[i, k], axis=k), name="B")
        s = te.create_schedule(B.op)
        return s, A, B, *s[B].split(k, factor=4)

    s, A, B, ko, ki = difference()
    s[B].reorder(ki, ko)
    a = np.random.default_rng(0).integers(0, 9, (4, 16), "int32")
    b = np.zeros(4, "int32")
    te_sched.build(s, [A, B], target="llvm")(a, b)
    np.testing.assert_array_equal(b, -a.sum(1))
    s, A, B, ko, ki = difference()
    s.rfactor(B, ki)
    with pytest.raises(BuildError, match="give -30 one after the other, and 30 in groups"):
        te_sched.build(s, [A, B], target="llvm")


def test_reductions_over_threads_are_refused():
    s, A, B, _, ki = horner()
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(ki, te.thread_axis("threadIdx.x"))
    with pytest.raises(BuildError, match=r"cannot bind reduction axis k\.inner of stage B"):
        te_sched.build(s, [A, B], target="cuda")
