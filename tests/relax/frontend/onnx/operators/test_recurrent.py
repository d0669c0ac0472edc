"""Recurrent layers beside onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.beside_onnxruntime import check
from tests.relax.frontend.onnx.models import model_of, onnx, run

RNG = np.random.default_rng(0)
STEPS, BATCH, INPUT, SIZE = 5, 2, 3, 4


def layer(kind: str, gates: int, directions: int, inputs=(), batch: int = BATCH, **attrs):
    """A model of a layer with constant weights, and its input."""
    shapes = {
        "w": (directions, gates * SIZE, INPUT),
        "r": (directions, gates * SIZE, SIZE),
        "b": (directions, 2 * gates * SIZE),
        "h": (directions, batch, SIZE),
        "c": (directions, batch, SIZE),
        "p": (directions, 3 * SIZE),
    }
    arrays = {name: RNG.uniform(-1, 1, shapes[name]).astype("float32") for name in shapes}
    arrays["l"] = np.array([5, 3], "int32")[:batch]
    names = ["x", "w", "r", *inputs]
    constants = {name: arrays[name] for name in names[1:] if name}
    x = RNG.uniform(-1, 1, (STEPS, batch, INPUT)).astype("float32")
    node = (kind, names, ["y"], {"hidden_size": SIZE, **attrs})
    return model_of([node], {"x": x}, constants, opset=14), x


@pytest.mark.parametrize(
    ("kind", "gates", "inputs", "attrs"),
    [
        ("LSTM", 4, ["b", "l", "h", "c", "p"], {}),
        ("LSTM", 4, ["b", "", "h", "c"], {"direction": "bidirectional", "clip": 0.7}),
        ("LSTM", 4, ["b", "l"], {"direction": "reverse", "input_forget": 1}),
        ("GRU", 3, ["b", "l", "h"], {"direction": "bidirectional"}),
        ("GRU", 3, ["b", "", "h"], {"linear_before_reset": 1}),
        ("RNN", 1, ["b", "l", "h"], {"direction": "reverse"}),
        ("RNN", 1, [], {"activations": ["Affine"], "activation_alpha": [0.5]}),
        ("GRU", 3, ["b"], {"activations": ["HardSigmoid", "Softsign"]}),
        ("LSTM", 4, ["b"], {"activations": ["Sigmoid", "Softplus", "LeakyRelu"]}),
        ("RNN", 1, ["b"], {"activations": ["Elu"]}),
        ("RNN", 1, ["b"], {"activations": ["ThresholdedRelu"], "activation_alpha": [0.2]}),
        ("RNN", 1, ["b"], {"activations": ["Relu"]}),
    ],
)
def test_layers(kind: str, gates: int, inputs, attrs) -> None:
    runtime = pytest.importorskip("onnxruntime")
    directions = 2 if attrs.get("direction") == "bidirectional" else 1
    model, x = layer(kind, gates, directions, inputs, **attrs)
    (wanted,) = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    result = run(from_onnx(model), nd.array(x))
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_an_unknown_activation_is_refused() -> None:
    model, _ = layer("RNN", 1, 1, activations=["Tan"])
    with pytest.raises(GraphError, match="the activation Tan of a recurrent layer"):
        from_onnx(model)


@pytest.mark.parametrize("is_per_column", [False, True])
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(
    ("direction", "inputs"),
    [
        ("forward", []),
        ("reverse", ["b", "l", "h", "c", "p"]),
        ("bidirectional", ["b", "", "h", "c"]),
    ],
)
def test_layers_that_onnxruntime_quantizes(
    direction: str, inputs: list[str], batch: int, is_per_column: bool, tmp_path: Path
) -> None:
    """onnxruntime chooses ranges of bytes for parts of a batch, of which threads decide."""
    quantization = pytest.importorskip("onnxruntime.quantization")
    directions = 2 if direction == "bidirectional" else 1
    model, x = layer("LSTM", 4, directions, inputs, batch, direction=direction)
    whole, quantized = tmp_path / "whole.onnx", tmp_path / "quantized.onnx"
    onnx.save(model, str(whole))
    quantization.quantize_dynamic(whole, quantized, per_channel=is_per_column)
    loaded = onnx.load(str(quantized))
    assert [node.op_type for node in loaded.graph.node] == ["DynamicQuantizeLSTM"]
    check(loaded, {"x": x}, atol=1e-6 if batch == 1 else 1e-2)
