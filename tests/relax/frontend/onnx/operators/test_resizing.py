"""Resize and Upsample beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import (
    IMAGE,
    X,
    check,
    check_against_onnxruntime,
    model_of,
)


@pytest.mark.parametrize(
    ("attrs", "inputs"),
    [
        ({"mode": "linear"}, {"k": np.array([1, 1, 0.6, 1.7], "float32")}),
        ({"mode": "cubic", "exclude_outside": 1}, {"k": np.array([1, 1, 0.8, 1.7], "float32")}),
        (
            {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
            {"k": np.array([1, 1, 0.6, 2.3], "float32")},
        ),
        (
            {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
            {"s": np.array([1, 2, 1, 3])},
        ),
        (
            {
                "nearest_mode": "round_prefer_ceil",
                "coordinate_transformation_mode": "asymmetric",
            },
            {"s": np.array([1, 2, 9, 8])},
        ),
        ({"nearest_mode": "ceil", "axes": [3, 2]}, {"k": np.array([1.5, 0.5], "float32")}),
        (
            {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]},
            {"s": np.array([9, 7])},
        ),
        (
            {
                "mode": "linear",
                "coordinate_transformation_mode": "tf_crop_and_resize",
                "extrapolation_value": 9.0,
            },
            {
                "r": np.array([0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], "float32"),
                "s": np.array([1, 2, 4, 1]),
            },
        ),
        ({"mode": "linear"}, {"s": np.array([1, 3, 6, 5])}),
    ],
)
def test_resize(attrs, inputs) -> None:
    names = ["x", *[one if one in inputs else "" for one in ("r", "k", "s")]]
    check(model_of([("Resize", names, ["y"], attrs)], {"x": IMAGE}, inputs, opset=19), {"x": IMAGE})


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        (
            [("Resize", ["x", "", "", "s"], ["y"], {"antialias": 1, "mode": "linear"})],
            {"x": X},
            {"s": np.array([2, 2, 3])},
            "antialias is not supported",
        ),
    ],
)
def test_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))


SCALES = {"k": np.array([1, 1, 1.7, 0.6], "float32")}


@pytest.mark.parametrize("is_open", [False, True], ids=["fixed sizes", "open sizes"])
@pytest.mark.parametrize(
    "attrs",
    [
        {"mode": "linear"},
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        {"mode": "cubic", "coordinate_transformation_mode": "align_corners"},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
        {
            "mode": "nearest",
            "nearest_mode": "floor",
            "coordinate_transformation_mode": "asymmetric",
        },
    ],
    ids=lambda attrs: " ".join(map(str, attrs.values())),
)
def test_resize_by_fractions(attrs, is_open) -> None:
    shapes = {"x": ["n", 2, "h", "w"] if is_open else [1, 2, 6, 5]}
    node = ("Resize", ["x", "", "k"], ["y"], attrs)
    model = model_of([node], {"x": IMAGE}, SCALES, opset=19, shapes=shapes)
    check_against_onnxruntime(model, [(1, 2, 6, 5), (2, 2, 7, 8)][: 1 + is_open])


def test_resize_of_open_sizes_to_one_element() -> None:
    attrs = {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}
    sizes = {"s": np.array([1, 2, 9, 1])}
    node = ("Resize", ["x", "", "", "s"], ["y"], attrs)
    model = model_of([node], {"x": IMAGE}, sizes, shapes={"x": [1, 2, "h", "w"]})
    check_against_onnxruntime(model, [(1, 2, 7, 8)])


def test_resize_of_open_sizes_of_another_rank() -> None:
    scales = {"k": np.array([1, 1, 2], "float32")}
    node = ("Resize", ["x", "", "k"], ["y"], {"mode": "linear"})
    model = model_of([node], {"x": X}, scales, shapes={"x": ["n", 3, "w"]})
    check_against_onnxruntime(model, [(1, 3, 5), (2, 3, 3)])


def test_regions_of_open_sizes_are_refused() -> None:
    attrs = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    constants = {"r": np.zeros(8, "float32"), "s": np.array([1, 2, 4, 1])}
    node = ("Resize", ["x", "r", "", "s"], ["y"], attrs)
    model = model_of([node], {"x": IMAGE}, constants, shapes={"x": [1, 2, "h", "w"]})
    with pytest.raises(GraphError, match=r"regions of dimensions \[2, 3\]"):
        from_onnx(model)
