"""Convolutions and pools beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import IMAGE, RNG, check, model_of


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Conv", {"auto_pad": "SAME_LOWER", "strides": [2, 1]}, [(4, 2, 3, 3), (4,)]),
        ("Conv", {"group": 2, "pads": [1, 0, 1, 2], "dilations": [2, 1]}, [(4, 1, 2, 2)]),
        ("ConvTranspose", {"strides": [2, 2], "output_padding": [1, 1]}, [(2, 3, 3, 3), (3,)]),
        ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2]}, []),
        ("AveragePool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]}, []),
        ("GlobalAveragePool", {}, []),
        ("ConvTranspose", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, [(2, 3, 3, 3)]),
        ("ConvTranspose", {"output_shape": [13, 10], "strides": [2, 2]}, [(2, 3, 2, 2)]),
        ("ConvTranspose", {"dilations": [2, 1]}, [(2, 3, 2, 2)]),
        ("MaxPool", {"kernel_shape": [1, 1], "strides": [4, 4], "ceil_mode": 1}, []),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [4, 4], "ceil_mode": 1}, []),
    ],
)
def test_operators_of_images(kind, attrs, constants) -> None:
    names = {f"c{n}": RNG.random(one, dtype=np.float32) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": IMAGE}, names), {"x": IMAGE})


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        (
            [("ConvTranspose", ["x", "w"], ["y"], {})],
            {"x": np.ones((1, 2, 3, 3, 3), "float32")},
            {"w": np.ones((2, 1, 1, 1, 1), "float32")},
            "convolutions of 3 dimensions",
        ),
        (
            [("MaxPool", ["x"], ["y", "z"], {"kernel_shape": [1, 1]})],
            {"x": IMAGE},
            {},
            "the places of its elements",
        ),
    ],
)
def test_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))


def test_dynamic_sizes_are_not_padded_automatically() -> None:
    nodes = [("Conv", ["x", "w"], ["y"], {"auto_pad": "SAME_UPPER", "strides": [2, 2]})]
    weight = {"w": np.ones((1, 2, 1, 1), "float32")}
    model = model_of(nodes, {"x": IMAGE}, weight, shapes={"x": [1, 2, "h", 5]})
    with pytest.raises(GraphError, match="auto_pad cannot pad a dimension of size h"):
        from_onnx(model)
