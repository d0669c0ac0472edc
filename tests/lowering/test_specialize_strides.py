"""Bodies of their own for dense rows where strides are known at calls alone."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.ir.stmt import IfThenElse
from te_sched.ir.visitor import walk
from te_sched.lowering.specialize_strides import specialize_strides
from te_sched.schedule import Schedule


def halves(*shape: te.Var) -> tuple[Schedule, list[te.Tensor]]:
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A[i] * 0.5, name="B")
    s = te.create_schedule(B.op)
    _, lanes = s[B].split(B.op.axis[-1], 8)
    s[B].vectorize(lanes)
    return s, [A, B]


def test_dense_rows_have_vectors_of_neighbors() -> None:
    func = te_sched.lower(*halves(te.var("n"), te.var("m")))["main"]
    branches = specialize_strides(func).body
    assert isinstance(branches, IfThenElse)
    assert str(branches.condition) == "stride == 1 and stride_1 == 1"
    strides = {buffer.strides[1] for buffer in func.buffer_map.values()}
    assert strides.isdisjoint(walk(branches.then_case))
    assert branches.else_case is func.body


def test_constant_strides_leave_the_function_as_it_is() -> None:
    func = te_sched.lower(*halves(te.const(4), te.const(32)))["main"]
    assert specialize_strides(func) is func


@pytest.mark.parametrize("n", [0, 1, 8, 29])
@pytest.mark.parametrize("steps", [(1, 1), (1, 2), (2, 1), (3, 2)])
def test_both_bodies_compute_the_same(
    n: int, steps: tuple[int, int], capfd: pytest.CaptureFixture[str]
) -> None:
    built = te_sched.build(*halves(te.var("n")))
    assert not capfd.readouterr().err  # LLVM tells what it cannot do
    source = np.arange(n * steps[0], dtype="float32")[:: steps[0]]
    result = np.zeros(n * steps[1], "float32")
    built(source, result[:: steps[1]])
    np.testing.assert_array_equal(result[:: steps[1]], source / 2)
    assert np.all(result.reshape(n, steps[1])[:, 1:] == 0)


def test_copies_of_memory_in_branches_are_each_their_own() -> None:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, 2, m), name="A")
    B = te.compute(A.shape, lambda *i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    local = s.cache_write(B, "local")
    i, j, row = B.op.axis
    _, inner = s[B].split(row, factor=8)
    s[B].reorder(i, inner, j)
    s[B].parallel(i)
    s[local].compute_at(s[B], inner)
    s[local].tile(*local.op.axis[1:], 16, 7)
    function = te_sched.build(s, [A, B])
    for shape in ((2, 2, 1), (1, 2, 7), (3, 2, 40)):
        a = np.random.default_rng(0).random(shape, "float32")
        b = np.zeros(shape, "float32")
        function(a, b)
        np.testing.assert_array_equal(b, a * 2)
