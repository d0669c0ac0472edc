"""Images at coordinates and regions, beside onnx's reference and onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import IMAGE, check, model_of, run

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_images_at_coordinates(mode: str) -> None:
    grid = RNG.uniform(-1, 1, (1, 3, 4, 2)).astype("float32")
    nodes = [("GridSample", ["x", "g"], ["y"], {"mode": mode, "align_corners": 1})]
    check(model_of(nodes, {"x": IMAGE}, {"g": grid}, opset=20), {"x": IMAGE})


@pytest.mark.parametrize("sizes", [[4, 7], [8, 2]])
def test_images_are_cropped_and_padded(sizes) -> None:
    nodes = [("CenterCropPad", ["x", "s"], ["y"], {"axes": [2, -1]})]
    check(model_of(nodes, {"x": IMAGE}, {"s": np.array(sizes)}), {"x": IMAGE})


def test_open_sizes_are_not_cropped() -> None:
    nodes = [("CenterCropPad", ["x", "s"], ["y"], {"axes": [2]})]
    model = model_of(nodes, {"x": IMAGE}, {"s": np.array([4])}, shapes={"x": [1, 2, "h", 5]})
    with pytest.raises(GraphError, match="are cropped or padded, of which calls give the sizes"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("kind", "attrs"),
    [
        ("RoiAlign", {"output_height": 2, "output_width": 3, "sampling_ratio": 2}),
        ("RoiAlign", {"output_height": 2, "output_width": 2, "spatial_scale": 0.5}),
        ("MaxRoiPool", {"pooled_shape": [2, 2], "spatial_scale": 0.5}),
    ],
)
def test_regions(kind: str, attrs) -> None:
    runtime = pytest.importorskip("onnxruntime")
    corners = np.array([[1, 0, 4, 5], [0, 2, 3, 3]], "float32")
    constants = {"r": corners, "b": np.array([0, 0])}
    if kind == "MaxRoiPool":
        constants = {"r": np.concatenate([np.zeros((2, 1), "float32"), corners], 1)}
    nodes = [(kind, ["x", *constants], ["y"], attrs)]
    model = model_of(nodes, {"x": IMAGE}, constants, opset=16)
    (wanted,) = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": IMAGE})
    np.testing.assert_allclose(run(from_onnx(model), nd.array(IMAGE)), wanted, 1e-4, 1e-5)
