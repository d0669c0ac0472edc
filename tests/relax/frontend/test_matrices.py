"""Functions of matrices beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.relax.frontend.matrices import determinant, lu_factors, permutation, solution

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "x",
    [
        RNG.random((4, 4)),
        RNG.random((2, 3, 3, 3)),
        np.array([[0.0, 2.0], [3.0, 4.0]]),
        np.array([[1.0, 2.0], [2.0, 4.0]]),
        np.zeros((2, 2)),
    ],
)
def test_determinants(x) -> None:
    tensor = te.placeholder(x.shape, "float64", name="x")
    factors, pivots, codes = lu_factors(tensor)
    inputs = [te.placeholder(part.shape, part.dtype) for part in (factors, pivots)]
    sizes = [(x.shape, "float64"), (x.shape[:-1], "int32"), (x.shape[:-2], "int32")]
    parts = [nd.array(np.zeros(*size)) for size in sizes]
    out = nd.array(np.zeros(x.shape[:-2]))
    factor = te_sched.build(te.create_prim_func([tensor, factors, pivots, codes]), target="llvm")
    multiply = te_sched.build(te.create_prim_func([*inputs, determinant(*inputs)]), target="llvm")
    factor(nd.array(x), *parts)
    multiply(*parts[:2], out)
    np.testing.assert_allclose(out.numpy(), np.linalg.det(x), rtol=1e-9, atol=1e-12)


def test_factors_and_determinants_in_one_function() -> None:
    x = RNG.random((2, 3, 3))
    tensor = te.placeholder(x.shape, "float64", name="x")
    factors, pivots, _ = lu_factors(tensor)
    function = te.create_prim_func([tensor, determinant(factors, pivots)])
    out = nd.array(np.zeros(2))
    te_sched.build(function, target="llvm")(nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), np.linalg.det(x), rtol=1e-9)


@pytest.mark.parametrize("is_transposed", [False, True])
def test_solutions_by_factors(is_transposed: bool) -> None:
    x, b = RNG.random((2, 3, 3)), RNG.random((2, 3, 2))
    tensors = [te.placeholder(array.shape, "float64") for array in (x, b)]
    factors, pivots, _ = lu_factors(tensors[0])
    result = solution(factors, pivots, tensors[1], is_transposed)
    out = nd.array(np.zeros(b.shape))
    function = te.create_prim_func([*tensors, result])
    te_sched.build(function, target="llvm")(nd.array(x), nd.array(b), out)
    expected = np.linalg.solve(x.swapaxes(1, 2) if is_transposed else x, b)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-9)


def test_permutations_of_pivots() -> None:
    pivots = te.placeholder((1, 2), "int32")
    function = te.create_prim_func([pivots, permutation(pivots, 3)])
    out = nd.array(np.zeros((1, 3, 3), "int32"))
    te_sched.build(function, target="llvm")(nd.array(np.array([[2, 3]], "int32")), out)
    assert out.numpy().tolist() == [[[0, 0, 1], [1, 0, 0], [0, 1, 0]]]
