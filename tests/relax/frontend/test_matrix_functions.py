"""Pseudo-inverses and exponentials of matrices, beside numpy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.relax.frontend.matrix_functions import exponential, pseudo_inverse

RNG = np.random.default_rng(0)


def computed(function: Any, x: Any, *args: Any) -> Any:
    """What a function of tensor expressions computes of an array."""
    tensor = te.placeholder(x.shape, str(x.dtype), "x")
    result = function(tensor, *args)
    out = np.empty([int(n) for n in result.shape], result.dtype)
    te_sched.build(te.create_prim_func([tensor, result]), target="llvm")(x, out)
    return out


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 2), (2, 5), (1, 3), (3, 1), (2, 3, 7, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pseudo_inverses(shape: tuple[int, ...], dtype: str) -> None:
    x = RNG.standard_normal(shape).astype(dtype)
    result = computed(pseudo_inverse, x, 1e-6, 0.0)
    np.testing.assert_allclose(result, np.linalg.pinv(x.astype("float64")), 1e-9, 1e-10)


def test_small_singular_values_are_zeros() -> None:
    u, _ = np.linalg.qr(RNG.standard_normal((6, 6)))
    v, _ = np.linalg.qr(RNG.standard_normal((4, 4)))
    sigma = np.zeros((6, 4))
    sigma[range(4), range(4)] = [100, 3, 0.2, 0]
    x = u @ sigma @ v.T
    for rtol, atol, kept in ((1e-6, 0.0, 3), (0.01, 0.0, 2), (0.0, 1.0, 2), (0.0, 50.0, 1)):
        inverse = np.zeros((4, 6))
        inverse[range(kept), range(kept)] = 1 / np.array([100, 3, 0.2])[:kept]
        result = computed(pseudo_inverse, x, rtol, atol)
        np.testing.assert_allclose(result, v @ inverse @ u.T, 1e-8, 1e-10)


def test_pseudo_inverses_of_zeros_and_of_missing_values() -> None:
    np.testing.assert_array_equal(computed(pseudo_inverse, np.zeros((2, 3)), 1e-6, 0.0), 0)
    assert np.isnan(computed(pseudo_inverse, np.array([[1, np.nan], [0, 1]]), 1e-6, 0.0)).any()


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (3, 5, 5)])
def test_exponentials(shape: tuple[int, ...], scale: float) -> None:
    torch = pytest.importorskip("torch")
    x = RNG.standard_normal(shape) * scale
    wanted = torch.linalg.matrix_exp(torch.tensor(x)).numpy()
    np.testing.assert_allclose(computed(exponential, x), wanted, 1e-9, 1e-9 * np.abs(wanted).max())


def test_exponentials_of_a_rotation_and_of_missing_values() -> None:
    x = np.array([[0, -1000.0], [1000.0, 0]])
    wanted = [[np.cos(1000), -np.sin(1000)], [np.sin(1000), np.cos(1000)]]
    np.testing.assert_allclose(computed(exponential, x), wanted, rtol=0, atol=1e-9)
    assert np.isnan(computed(exponential, np.array([[np.nan, 0], [0, 1]]))).any()
