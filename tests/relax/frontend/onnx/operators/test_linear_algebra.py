"""Products beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.frontend.onnx.models import RNG, X, check, model_of

W = RNG.random((4, 5), dtype=np.float32)


@pytest.mark.parametrize("attrs", [{}, {"alpha": 0.5, "beta": 2.0}, {"transA": 1, "transB": 1}])
def test_gemm(attrs) -> None:
    x, w = (X[0].T, W.T) if attrs.get("transA") else (X[0], W)
    constants = {"w": w, "b": RNG.random(5, dtype=np.float32)}
    check(model_of([("Gemm", ["x", "w", "b"], ["y"], attrs)], {"x": x}, constants), {"x": x})


def test_matmul_of_batches() -> None:
    check(model_of([("MatMul", ["x", "w"], ["y"], {})], {"x": X}, {"w": W}), {"x": X})


def test_einsum() -> None:
    node = ("Einsum", ["x", "w"], ["y"], {"equation": "bij,jk->bki"})
    check(model_of([node], {"x": X}, {"w": W}), {"x": X})
