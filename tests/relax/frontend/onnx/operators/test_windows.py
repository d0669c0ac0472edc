"""Convolutions and pools beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import (
    IMAGE,
    RNG,
    check,
    check_against_onnxruntime,
    model_of,
)


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
            {"x": np.ones((1, 2, 3, 3, 3, 3), "float32")},
            {"w": np.ones((2, 1, 1, 1, 1, 1), "float32")},
            "convolutions and pools along 4 dimensions",
        ),
    ],
)
def test_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Conv", {"strides": [2, 2]}, {"w": RNG.random((3, 2, 3, 3), dtype=np.float32)}),
        ("ConvTranspose", {"strides": [2, 2]}, {"w": RNG.random((2, 3, 3, 3), dtype=np.float32)}),
        ("MaxPool", {"strides": [2, 3], "kernel_shape": [3, 3]}, {}),
        ("AveragePool", {"strides": [2, 2], "kernel_shape": [3, 2]}, {}),
        ("AveragePool", {"strides": [2, 2], "kernel_shape": [2, 3], "count_include_pad": 1}, {}),
    ],
)
def test_open_sizes_are_padded_automatically(kind, attrs, constants, auto_pad) -> None:
    node = (kind, ["x", *constants], ["y"], {**attrs, "auto_pad": auto_pad})
    model = model_of([node], {"x": IMAGE}, constants, shapes={"x": ["n", 2, "h", "w"]})
    check_against_onnxruntime(model, [(1, 2, 7, 8), (2, 2, 6, 5), (1, 2, 3, 1)])


@pytest.mark.parametrize("kind", ["MaxPool", "AveragePool"])
def test_windows_of_open_sizes_that_begin_in_the_padding_are_left_out(kind) -> None:
    attrs = {"ceil_mode": 1, "strides": [2, 2], "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    model = model_of([(kind, ["x"], ["y"], attrs)], {"x": IMAGE}, shapes={"x": ["n", 2, "h", "w"]})
    check_against_onnxruntime(model, [(1, 2, 7, 8), (2, 2, 6, 5)])


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_convolutions_of_open_sizes_are_fused_with_what_follows(auto_pad) -> None:
    constants = {
        name: RNG.random(shape, dtype=np.float32) - 0.5
        for name, shape in (("w", (8, 2, 3, 3)), ("b", (8,)), ("v", (16, 8, 3, 3)))
    }
    attrs = {"auto_pad": auto_pad, "strides": [2, 2]}
    nodes = [
        ("Conv", ["x", "w", "b"], ["c"], attrs),
        ("Relu", ["c"], ["r"], {}),
        ("Conv", ["r", "v"], ["d"], attrs),
        ("Relu", ["d"], ["y"], {}),
    ]
    model = model_of(nodes, {"x": IMAGE}, constants, shapes={"x": ["n", 2, "h", "w"]})
    module = relax.get_pipeline("zero")(from_onnx(model))
    assert sorted(module.functions_of_loops) == ["fused_conv2d1_relu1", "fused_conv2d_add_relu"]
    check_against_onnxruntime(model, [(1, 2, 7, 8), (2, 2, 6, 5), (1, 2, 1, 33)])
