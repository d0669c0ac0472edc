"""Pools by other sums than means, and what undoes pools and blocks, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.onnx import beside_onnxruntime
from tests.relax.frontend.onnx.models import IMAGE, RNG, check, model_of

POOLS: dict[str, dict[str, Any]] = {
    "norms": {"kernel_shape": [2, 3], "strides": [2, 1]},
    "sums": {"kernel_shape": [3, 2], "p": 1, "pads": [1, 0, 0, 1]},
    "cubes": {"kernel_shape": [2, 2], "p": 3, "strides": [2, 2]},
    "same": {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
}


@pytest.mark.parametrize("name", POOLS)
def test_norms_of_windows(name: str) -> None:
    model = model_of([("LpPool", ["x"], ["y"], POOLS[name])], {"x": IMAGE - 0.5})
    beside_onnxruntime.check(model, {"x": IMAGE - 0.5})


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norms_of_images(p: int) -> None:
    model = model_of([("GlobalLpPool", ["x"], ["y"], {"p": p})], {"x": IMAGE - 0.5})
    beside_onnxruntime.check(model, {"x": IMAGE - 0.5})


@pytest.mark.parametrize(
    ("attrs", "shape"),
    [
        ({"kernel_shape": [2, 2], "strides": [2, 2]}, None),
        ({"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 1, 0]}, None),
        ({"kernel_shape": [2, 2], "strides": [2, 2]}, [1, 2, 7, 6]),
    ],
)
def test_maxima_are_put_back(attrs: dict[str, Any], shape: list[int] | None) -> None:
    """Those that MaxPool gives, with their places."""
    names, sizes = (["v", "i"], {}) if shape is None else (["v", "i", "s"], {"s": np.array(shape)})
    pads = {"pads": attrs["pads"]} if "pads" in attrs else {}
    pool = {"kernel_shape": [2, 2], "strides": [2, 2], **pads}
    nodes = [("MaxPool", ["x"], ["v", "i"], pool), ("MaxUnpool", names, ["y"], attrs)]
    inputs = {"x": IMAGE[..., :4]}
    model = model_of(nodes, inputs, sizes)
    if shape is None:
        beside_onnxruntime.check(model, inputs)
    else:  # onnxruntime takes the places for those of the padded image
        check(model, inputs)


@pytest.mark.parametrize(
    "attrs", [{}, {"strides": [2, 1], "pads": [0, 1, 0, 1]}, {"dilations": [2, 1]}]
)
def test_sums_of_blocks(attrs: dict[str, Any]) -> None:
    image, block = [5, 4], [2, 3]
    steps, gaps = attrs.get("strides", [1, 1]), attrs.get("dilations", [1, 1])
    pads = attrs.get("pads", [0] * 4)
    counts = [
        (image[n] + pads[n] + pads[n + 2] - gaps[n] * (block[n] - 1) - 1) // steps[n] + 1
        for n in (0, 1)
    ]
    x = RNG.random((1, 2 * 6, counts[0] * counts[1]), dtype=np.float32)
    constants = {"image": np.array(image), "block": np.array(block)}
    check(model_of([("Col2Im", ["x", *constants], ["y"], attrs)], {"x": x}, constants), {"x": x})
