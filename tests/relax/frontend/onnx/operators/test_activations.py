"""Activations beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import X, check, model_of, run


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Softmax", {"axis": 1}, ()),
        ("LogSoftmax", {}, ()),
        ("HardSwish", {}, ()),
        ("Selu", {}, ()),
        ("Softplus", {}, ()),
        ("Shrink", {"bias": 0.1, "lambd": 0.2}, ()),
        ("ThresholdedRelu", {"alpha": 0.3}, ()),
        ("Elu", {"alpha": 0.5}, ()),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


@pytest.mark.parametrize("kind", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("attrs", [{}, {"axis": 0}, {"axis": -1}])
def test_softmax_before_version_13_is_of_rows(kind, attrs) -> None:
    found = run(from_onnx(model_of([(kind, ["x"], ["y"], attrs)], {"x": X}, opset=12)), nd.array(X))
    axes = tuple(range(attrs.get("axis", 1) % 3, 3))
    rows = np.exp(X) / np.exp(X).sum(axes, keepdims=True)
    expected = rows if kind == "Softmax" else np.log(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
