"""Functions of matrices beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, te
from te_sched.relax.frontend.matrices import determinant

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
    function = te_sched.build(te.create_prim_func([tensor, determinant(tensor)]), target="llvm")
    out = nd.array(np.zeros(x.shape[:-2]))
    function(nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), np.linalg.det(x), rtol=1e-9, atol=1e-12)
