"""Images at coordinates and regions, beside onnx's reference and onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import (
    IMAGE,
    ReferenceEvaluator,
    check,
    model_of,
    numpy_helper,
    run,
)

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


def _deformed(x, kernel, attrs, outputs=4, groups=1, mask=True, bias=True):
    """A model of a convolution of moved elements, and what onnx's reference computes."""
    rank = len(kernel)
    count = int(np.prod(kernel))
    pads = attrs.get("pads", [0] * 2 * rank)
    steps = zip(
        *(x.shape[2:], kernel, pads[:rank], pads[rank:]),
        *(attrs.get(name, [1] * rank) for name in ("strides", "dilations")),
        strict=True,
    )
    sizes = [(n + b + e - (k - 1) * d - 1) // s + 1 for n, k, b, e, s, d in steps]
    moved = attrs.get("offset_group", 1)
    constants = {
        "w": RNG.standard_normal((outputs, x.shape[1] // groups, *kernel)).astype("float32"),
        "o": RNG.uniform(-3, 3, (x.shape[0], moved * count * rank, *sizes)).astype("float32"),
    }
    names = ["x", "w", "o"]
    names.append("b" if bias else "")
    if bias:
        constants["b"] = RNG.standard_normal(outputs).astype("float32")
    if mask:
        names.append("m")
        constants["m"] = RNG.random((x.shape[0], moved * count, *sizes)).astype("float32")
    nodes = [("DeformConv", names, ["y"], attrs | {"group": groups})]
    return model_of(nodes, {"x": x}, constants, opset=22)


@pytest.mark.parametrize(
    ("kernel", "groups", "attrs"),
    [
        ([3, 2], 1, {}),
        ([2, 3], 1, {"strides": [2, 1], "pads": [1, 0, 2, 1]}),
        ([2, 2], 2, {"dilations": [2, 1], "offset_group": 2}),
        ([3, 3], 4, {"pads": [1, 1, 1, 1], "offset_group": 4, "kernel_shape": [3, 3]}),
        ([1, 1], 1, {"strides": [2, 3]}),
    ],
)
@pytest.mark.parametrize("has_others", [False, True])
def test_windows_of_moved_elements(kernel, groups, attrs, has_others) -> None:
    x = RNG.standard_normal((2, 4, 6, 7)).astype("float32")
    check(_deformed(x, kernel, attrs, 4, groups, has_others, has_others), {"x": x})


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 2, 1, 5), (3, 2, 5, 1)])
def test_windows_of_moved_elements_of_one_row(shape) -> None:
    """They are those of an image with zeros around it, which onnx's reference computes."""
    x = RNG.standard_normal(shape).astype("float32")
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    padded = _deformed(wide, [2, 2], {})
    model = _deformed(x, [2, 2], {"pads": [1, 1, 1, 1]})
    del model.graph.initializer[:]
    model.graph.initializer.extend(padded.graph.initializer)
    (wanted,) = ReferenceEvaluator(padded).run(None, {"x": wide})
    np.testing.assert_allclose(run(from_onnx(model), nd.array(x)), wanted, 1e-4, 1e-5)


def test_moved_elements_of_volumes() -> None:
    """Offsets of 0 leave a convolution."""
    x = RNG.standard_normal((1, 2, 4, 3, 5)).astype("float32")
    torch = pytest.importorskip("torch")
    model = _deformed(x, [2, 2, 2], {}, 3, mask=False)
    model.graph.initializer[1].CopyFrom(
        numpy_helper.from_array(np.zeros((1, 24, 3, 2, 4), "float32"), "o")
    )
    weight, bias = [numpy_helper.to_array(model.graph.initializer[n]) for n in (0, 2)]
    wanted = torch.conv3d(*map(torch.tensor, (x, weight, bias)))
    np.testing.assert_allclose(run(from_onnx(model), nd.array(x)), wanted.numpy(), 1e-4, 1e-5)


def test_missing_values_move() -> None:
    x = RNG.standard_normal((1, 1, 9, 9)).astype("float32")
    x[0, 0, 4, 4] = np.nan
    model = _deformed(x, [1, 1], {}, 1, mask=False)
    result = run(from_onnx(model), nd.array(x))
    assert 0 < np.isnan(result).sum() < 81
    check(model, {"x": x})


def test_kernel_shape_is_that_of_the_weights() -> None:
    x = RNG.standard_normal((1, 1, 3, 3)).astype("float32")
    with pytest.raises(GraphError, match=r"the attribute kernel_shape is \[3, 3\]"):
        from_onnx(_deformed(x, [2, 2], {"kernel_shape": [3, 3]}))
