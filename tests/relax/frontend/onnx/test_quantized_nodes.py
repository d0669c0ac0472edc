"""Which operators between conversions become those of integers, and their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.relax.frontend.onnx.quantized_nodes import integer_nodes
from tests.relax.frontend.onnx.beside_onnxruntime import check, helper, model_of, numpy_helper

node = helper.make_node
RNG = np.random.default_rng(0)


def constants_of(columns: int, **arrays: Any) -> dict[str, Any]:
    """Scales and zero points of x, of weights and of results, and other arrays."""
    scales = RNG.random(columns).astype("float32") / 50 + 0.005
    return {
        **{"xs": np.float32(0.02), "xz": np.uint8(100)},
        **{"ws": scales, "wz": np.zeros(columns, "int8")},
        **{"bs": np.float32(0.02) * scales, "bz": np.zeros(columns, "int32")},
        **{"ys": np.float32(0.05), "yz": np.uint8(0)},
        **arrays,
    }


def model_between(operator: Any, constants: Any, x: Any, axis: int, has_relu: bool = False) -> Any:
    """A model of an operator from v, w and b to r between conversions."""
    nodes = [
        node("DequantizeLinear", ["x", "xs", "xz"], ["v"]),
        node("DequantizeLinear", ["q", "ws", "wz"], ["w"], axis=axis),
        node("DequantizeLinear", ["c", "bs", "bz"], ["b"], axis=0),
        operator,
        *[node("Relu", ["r"], ["p"])] * has_relu,
        node("QuantizeLinear", ["p" if has_relu else "r", "ys", "yz"], ["y"]),
    ]
    return model_of(nodes, {"x": x}, constants)


def operators(model: Any) -> list[str]:
    """The operators of a model with operators of integers."""
    known = {array.name: numpy_helper.to_array(array) for array in model.graph.initializer}
    outputs = [output.name for output in model.graph.output]
    return [part.op_type for part in integer_nodes(model.graph.node, outputs, known)]


def image_model(has_relu: bool = False, **arrays: Any) -> tuple[Any, dict[str, Any]]:
    """A convolution between conversions, and its input."""
    x = RNG.integers(0, 256, (1, 4, 7, 7)).astype("uint8")
    weight = RNG.integers(-128, 128, (16, 4, 3, 3)).astype("int8")
    bias = RNG.integers(-9999, 9999, 16).astype("int32")
    constants = constants_of(16, q=weight, c=bias, **arrays)
    operator = node("Conv", ["v", "w", "b"], ["r"], pads=[1] * 4)
    return model_between(operator, constants, x, 0, has_relu), {"x": x}


@pytest.mark.parametrize("has_relu", [False, True])
def test_convolution(has_relu: bool) -> None:
    model, inputs = image_model(has_relu)
    assert operators(model) == ["QLinearConv"]
    check(model, inputs, steps=1)


@pytest.mark.parametrize("is_transposed", [0, 1])
def test_linear_layer(is_transposed: int) -> None:
    x = RNG.integers(0, 256, (5, 24)).astype("uint8")
    weight = RNG.integers(-128, 128, (12, 24)).astype("int8")
    bias = RNG.integers(-9999, 9999, 12).astype("int32")
    constants = constants_of(12, q=weight if is_transposed else weight.T.copy(), c=bias)
    operator = node("Gemm", ["v", "w", "b"], ["r"], transB=is_transposed)
    model = model_between(operator, constants, x, 1 - is_transposed)
    assert operators(model) == ["QGemm"]
    check(model, {"x": x}, steps=1)


def test_product() -> None:
    x = RNG.integers(0, 256, (2, 5, 24)).astype("uint8")
    weight = RNG.integers(-128, 128, (24, 12)).astype("int8")
    constants = constants_of(12, q=weight, c=np.zeros(12, "int32"))
    model = model_between(node("MatMul", ["v", "w"], ["r"]), constants, x, 1)
    assert operators(model) == ["QLinearMatMul"]
    check(model, {"x": x}, steps=1)


def test_reals_stay_where_integers_would_differ() -> None:
    kept = ["DequantizeLinear"] * 3 + ["Conv", "QuantizeLinear"]
    model, inputs = image_model(bs=RNG.random(16).astype("float32"))
    assert operators(model) == kept
    check(model, inputs, steps=1)
    model, _ = image_model(has_relu=True, yz=np.uint8(3))
    assert operators(model) == [*kept[:-1], "Relu", "QuantizeLinear"]
    model, _ = image_model()
    model.graph.output.append(helper.make_tensor_value_info("r", 1, None))
    assert operators(model) == kept
    model, _ = image_model()
    del model.graph.initializer[0]  # the scale of x is an input
    assert operators(model) == kept
