"""Resize and Upsample beside onnx's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
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


SIZES = [
    *[{"s": np.array([1, 2, *sizes])} for sizes in [(3, 5), (14, 18), (1, 1), (10, 31)]],
    *[{"k": np.array([1, 1, *factors], "float32")} for factors in [(0.6, 1.7), (1.33, 0.33)]],
]
TRANSFORMATIONS = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize(
    "attrs",
    [
        *[{"nearest_mode": f"{kind}"} for kind in ("floor", "ceil", "round_prefer_ceil")],
        {"mode": "linear"},
        {"mode": "linear", "antialias": 1, "exclude_outside": 1},
        {"mode": "cubic", "antialias": 1},
    ],
)
def test_resize_as_onnxruntime(transformation: str, attrs: dict[str, Any]) -> None:
    runtime = pytest.importorskip("onnxruntime")
    attrs = {**attrs, "coordinate_transformation_mode": transformation}
    nodes, constants = [], {}
    for place, inputs in enumerate(SIZES):
        ((kind, value),) = inputs.items()
        constants[f"{kind}{place}"] = value
        names = ["x", "", *[""] * (kind == "s"), f"{kind}{place}"]
        nodes.append(("Resize", names, [f"y{place}"], attrs))
    results = [node[2][0] for node in nodes]
    model = model_of(nodes, {"x": IMAGE}, constants, results, opset=19)
    session = runtime.InferenceSession(model.SerializeToString())
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu()
    )
    for found, expected in zip(
        machine["main"](nd.array(IMAGE)), session.run(None, {"x": IMAGE}), strict=True
    ):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_resize_of_open_sizes_keeps_the_aspect_ratio(policy: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    attrs = {"mode": "linear", "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
    nodes = [("Resize", ["x", "", "", "s"], ["y"], attrs)]
    sizes, shapes = {"s": np.array([9, 7])}, {"x": [1, 2, "h", "w"]}
    model = model_of(nodes, {"x": IMAGE}, sizes, opset=19, shapes=shapes)
    session = runtime.InferenceSession(model.SerializeToString())
    machine = relax.VirtualMachine(
        relax.build(from_onnx(model), "llvm -opt-level=0"), te_sched.cpu()
    )
    for x in (IMAGE, IMAGE[:, :, :4]):
        (expected,) = session.run(None, {"x": x})
        found = machine["main"](nd.array(np.ascontiguousarray(x))).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


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


def test_regions_of_open_sizes() -> None:
    attrs = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    constants = {
        "r": np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 1.2], "float32"),
        "s": np.array([1, 2, 4, 3]),
    }
    node = ("Resize", ["x", "r", "", "s"], ["y"], attrs)
    model = model_of([node], {"x": IMAGE}, constants, shapes={"x": [1, 2, "h", "w"]})
    check_against_onnxruntime(model, [(1, 2, 7, 8)])
