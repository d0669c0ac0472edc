"""Models that onnxruntime's quantizer writes, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.onnx.beside_onnxruntime import check, helper, model_of, onnx

quantization = pytest.importorskip("onnxruntime.quantization")
RNG = np.random.default_rng(0)
node = helper.make_node


def weights(*shape: int) -> Any:
    """Normally distributed weights of a layer."""
    return (RNG.normal(size=shape) / np.sqrt(np.prod(shape[1:]))).astype("float32")


def image_classifier() -> tuple[Any, dict[str, Any]]:
    """Convolutions with a residual connection, pools, and a linear layer."""
    inputs = {"x": RNG.normal(size=(2, 3, 16, 16)).astype("float32")}
    constants = {
        **{"w0": weights(16, 3, 3, 3), "b0": weights(16), "w1": weights(16, 16, 3, 3)},
        **{"w2": weights(16, 1, 3, 3), "w3": weights(10, 16), "b3": weights(10)},
    }
    nodes = [
        node("Conv", ["x", "w0", "b0"], ["c0"], pads=[1] * 4, strides=[2, 2]),
        node("Relu", ["c0"], ["r0"]),
        node("Conv", ["r0", "w1"], ["c1"], pads=[1] * 4),
        node("Add", ["c1", "r0"], ["a1"]),
        node("LeakyRelu", ["a1"], ["r1"]),
        node("Conv", ["r1", "w2"], ["c2"], pads=[1] * 4, group=16),
        node("Sigmoid", ["c2"], ["s2"]),
        node("Concat", ["s2", "r1"], ["j2"], axis=2),
        node("MaxPool", ["j2"], ["m2"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["m2"], ["g2"]),
        node("Flatten", ["g2"], ["f2"]),
        node("Gemm", ["f2", "w3", "b3"], ["y"], transB=1),
    ]
    return model_of(nodes, inputs, constants, opset=17), inputs


def perceptron() -> tuple[Any, dict[str, Any]]:
    """Products of matrices with biases and activations."""
    inputs = {"x": RNG.normal(size=(6, 24)).astype("float32")}
    constants = {"w0": weights(24, 40), "b0": weights(40), "w1": weights(40, 12)}
    nodes = [
        node("MatMul", ["x", "w0"], ["p0"]),
        node("Add", ["p0", "b0"], ["a0"]),
        node("Relu", ["a0"], ["r0"]),
        node("MatMul", ["r0", "w1"], ["p1"]),
        node("Softmax", ["p1"], ["y"], axis=-1),
    ]
    return model_of(nodes, inputs, constants, opset=17), inputs


def attention() -> tuple[Any, dict[str, Any]]:
    """A head of attention with a normalization."""
    inputs = {"x": RNG.normal(size=(2, 8, 16)).astype("float32")}
    constants = {
        **{name: weights(16, 16) for name in ("wq", "wk", "wv")},
        **{"g": np.ones(16, "float32"), "b": np.zeros(16, "float32")},
    }
    nodes = [
        *[node("MatMul", ["x", f"w{name}"], [name]) for name in "qkv"],
        node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Softmax", ["scores"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["h"]),
        node("Add", ["h", "x"], ["r"]),
        node("LayerNormalization", ["r", "g", "b"], ["y"], axis=-1),
    ]
    return model_of(nodes, inputs, constants, opset=17), inputs


MODELS = {"images": image_classifier, "perceptron": perceptron, "attention": attention}


class Calibration(quantization.CalibrationDataReader):  # type: ignore[misc]
    """The inputs, once."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self.rows: Iterator[dict[str, Any]] = iter([inputs])

    def get_next(self) -> dict[str, Any] | None:
        """The next inputs."""
        return next(self.rows, None)


def files_of(model: Any, folder: Path) -> tuple[Path, Path]:
    """A file with the model, and one for the quantized model."""
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx", folder / "quantized.onnx"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("format_name", "per_channel"), [("QDQ", True), ("QOperator", False)])
def test_static(name: str, format_name: str, per_channel: bool, tmp_path: Path) -> None:
    model, inputs = MODELS[name]()
    source, target = files_of(model, tmp_path)
    quantization.quantize_static(
        source,
        target,
        Calibration(inputs),
        quant_format=quantization.QuantFormat[format_name],
        per_channel=per_channel,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    # Other fusions round at other places, and a normalization makes steps larger.
    check(onnx.load(target), inputs, rtol=0.02, atol=0.03, is_optimized=format_name != "QDQ")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("weight", ["QInt8", "QUInt8"])
def test_dynamic(name: str, weight: str, tmp_path: Path) -> None:
    model, inputs = MODELS[name]()
    source, target = files_of(model, tmp_path)
    kind = quantization.QuantType[weight]
    quantization.quantize_dynamic(source, target, weight_type=kind)
    check(onnx.load(target), inputs, rtol=0.01, atol=0.01)
