"""Normalizations beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import IMAGE, RNG, X, check, model_of, run


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("LayerNormalization", {}, [np.full(4, 2, "float32")]),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("BatchNormalization", {}, [(2,), (2,), (2,), (2,)]),
        ("InstanceNormalization", {}, [(2,), (2,)]),
        ("GroupNormalization", {"num_groups": 2}, [(2,), (2,)]),
    ],
)
def test_operators_of_images(kind, attrs, constants) -> None:
    names = {f"c{n}": RNG.random(one, dtype=np.float32) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": IMAGE}, names), {"x": IMAGE})


def test_rms_normalization() -> None:
    x, scale = nd.array(X), np.full(4, 2, "float32")
    nodes = [("RMSNormalization", ["x", "c"], ["y"], {"axis": -1})]
    found = run(from_onnx(model_of(nodes, {"x": X}, {"c": scale}, opset=23)), x)
    size = np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, X / size * scale, rtol=1e-4)


def test_further_results_of_normalizations_and_dropout() -> None:
    nodes = [
        ("LayerNormalization", ["x", "c"], ["a", "m", "d"], {}),
        ("Dropout", ["a"], ["b", "k"], {}),
        ("Where", ["k", "m", "d"], ["e"], {}),
        ("Mul", ["b", "e"], ["f"], {}),
        ("Mul", ["f", "d"], ["y"], {}),
    ]
    check(model_of(nodes, {"x": X}, {"c": np.full(4, 2, "float32")}), {"x": X})


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        (
            [("BatchNormalization", ["x", "c", "c", "c", "c"], ["y"], {"training_mode": 1})],
            {"x": IMAGE},
            {"c": np.ones(2, "float32")},
            "as in training",
        ),
    ],
)
def test_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))
