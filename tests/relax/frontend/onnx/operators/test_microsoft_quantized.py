"""Quantized operators of onnxruntime beside it: results differ by at most one step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.beside_onnxruntime import DOMAIN, check, helper, model_of

RNG = np.random.default_rng(0)


def node(name: str, inputs: list[str], outputs: list[str], **attrs: Any) -> Any:
    """A node of an operator of onnxruntime."""
    return helper.make_node(name, inputs, outputs, domain=DOMAIN, **attrs)


def integers(dtype: str, *shape: int) -> Any:
    """Integers of the whole range of a dtype."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def scalar(value: float, dtype: str = "float32") -> Any:
    """An array without dimensions."""
    return np.asarray(value, dtype)


def parameters(dtype: str, **scales: float) -> dict[str, Any]:
    """Scales, and zero points with the letter z before them."""
    zeros = {f"z{name}": scalar(n + 3, dtype) for n, name in enumerate(scales)}
    return {**{name: scalar(value) for name, value in scales.items()}, **zeros}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("name", ["QLinearAdd", "QLinearMul"])
def test_of_two(name: str, dtype: str) -> None:
    inputs = {"a": integers(dtype, 3, 4, 5), "b": integers(dtype, 4, 1)}
    constants = parameters(dtype, s=0.05, t=0.02, u=0.06)
    nodes = [node(name, ["a", "s", "zs", "b", "t", "zt", "u", "zu"], ["y"])]
    check(model_of(nodes, inputs, constants), inputs, steps=1)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    ("name", "shape", "attrs"),
    [
        ("QLinearSigmoid", (3, 50), {}),
        ("QLinearLeakyRelu", (3, 50), {"alpha": 0.3}),
        ("QLinearSoftmax", (3, 4, 10), {"axis": 1, "opset": 13}),
        ("QLinearSoftmax", (3, 4, 10), {"axis": 1, "opset": 11}),
        ("QLinearAveragePool", (1, 2, 8, 7), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        ("QLinearAveragePool", (1, 8, 7, 2), {"kernel_shape": [2, 2], "channels_last": 1}),
        ("QLinearGlobalAveragePool", (1, 6, 8, 7), {}),
        ("QLinearGlobalAveragePool", (1, 8, 7, 6), {"channels_last": 1}),
    ],
)
def test_of_one(name: str, shape: Any, attrs: Any, dtype: str) -> None:
    inputs = {"x": integers(dtype, *shape)}
    constants = parameters(dtype, s=0.04, t=0.02)
    nodes = [node(name, ["x", "s", "zs", "t", "zt"], ["y"], **attrs)]
    check(model_of(nodes, inputs, constants), inputs, steps=1)


def test_concat_and_where() -> None:
    inputs = {"a": integers("uint8", 3, 4), "b": integers("uint8", 3, 4)}
    constants = {**parameters("uint8", s=0.05, t=0.02, u=0.04), "c": RNG.random((3, 4)) < 0.5}
    names = ["a", "s", "zs", "b", "t", "zt"]
    joined = node("QLinearConcat", ["u", "zu", *names], ["y"], axis=1)
    check(model_of([joined], inputs, constants), inputs, steps=1)
    chosen = node("QLinearWhere", ["c", *names, "u", "zu"], ["y"])
    check(model_of([chosen], inputs, constants), inputs, steps=1)


@pytest.mark.parametrize("is_real", [False, True])
@pytest.mark.parametrize("attrs", [{}, {"transB": 1, "alpha": 0.5}, {"transA": 1}])
def test_gemm(attrs: Any, is_real: bool) -> None:
    shapes = [(16, 6), (20, 16)]
    a = integers("uint8", *shapes[0][:: 1 if attrs.get("transA") else -1])
    b = integers("int8", *shapes[1][:: 1 if attrs.get("transB") else -1])
    columns = {"t": np.linspace(0.01, 0.03, 20, dtype="float32"), "zt": np.zeros(20, "int8")}
    constants = {
        **parameters("uint8", s=0.05, u=0.4),
        **columns,
        "b": b,
        "c": integers("int32", 20) >> 20,
    }
    names = ["a", "s", "zs", "b", "t", "zt", "c", *([] if is_real else ["u", "zu"])]
    nodes = [node("QGemm", names, ["y"], **attrs)]
    check(model_of(nodes, {"a": a}, constants), {"a": a}, steps=1)


@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")])
def test_product_to_float(dtypes: Any) -> None:
    inputs = {"a": integers(dtypes[0], 2, 5, 12)}
    constants = {
        "b": integers(dtypes[1], 12, 9),
        **{"s": scalar(0.02), "t": np.linspace(0.1, 0.2, 9, dtype="float32")},
        **{"zs": scalar(11, dtypes[0]), "zt": integers(dtypes[1], 9)},
        "c": RNG.random(9).astype("float32"),
    }
    nodes = [node("MatMulIntegerToFloat", ["a", "b", "s", "t", "zs", "zt", "c"], ["y"])]
    check(model_of(nodes, inputs, constants), inputs, atol=1e-2)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_dynamically_quantized_product(dtype: str) -> None:
    inputs = {"a": RNG.normal(size=(2, 5, 12)).astype("float32")}
    constants = {"b": integers(dtype, 12, 16), "s": scalar(0.02), "z": scalar(5, dtype)}
    constants["c"] = RNG.random(16).astype("float32")
    nodes = [node("DynamicQuantizeMatMul", ["a", "b", "s", "z", "c"], ["y"])]
    check(model_of(nodes, inputs, constants), inputs, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("bits", "depth", "block", "zeros"),
    [
        *[(4, 64, 32, zeros) for zeros in ("", "uint8", "float32")],
        *[(4, 40, 16, "uint8"), (8, 48, 16, ""), (8, 48, 16, "uint8")],
    ],
)
def test_product_of_few_bits(bits: int, depth: int, block: int, zeros: str) -> None:
    columns, count = 24, -(-depth // block)
    inputs = {"a": RNG.normal(size=(3, depth)).astype("float32")}
    constants = {
        "b": integers("uint8", columns, count, block * bits // 8),
        "s": (RNG.random(columns * count) / 10).astype("float32"),
        "c": RNG.random(columns).astype("float32"),
    }
    if zeros == "uint8":
        constants["z"] = integers("uint8", columns * -(-count * bits // 8))
    elif zeros:
        constants["z"] = (RNG.random(columns * count) * 15).astype(zeros)
    sizes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    names = ["a", "b", "s", "z" if zeros else "", "", "c"]
    nodes = [node("MatMulNBits", names, ["y"], **sizes)]
    check(model_of(nodes, inputs, constants), inputs, rtol=1e-3, atol=1e-3)


def test_import_rejects_few_bits_in_another_order() -> None:
    inputs = {"a": np.ones((3, 32), "float32")}
    constants = {
        "b": integers("uint8", 8, 1, 16),
        "s": np.ones(8, "float32"),
        "g": np.zeros(32, "int32"),
    }
    sizes = {"K": 32, "N": 8, "bits": 4, "block_size": 32}
    nodes = [node("MatMulNBits", ["a", "b", "s", "", "g"], ["y"], **sizes)]
    with pytest.raises(GraphError, match="in another order than that of its columns"):
        from_onnx(model_of(nodes, inputs, constants))
    nodes = [node("MatMulNBits", ["a", "b", "s"], ["y"], **{**sizes, "bits": 3})]
    with pytest.raises(GraphError, match="the weight has 3 bits in blocks of 32"):
        from_onnx(model_of(nodes, inputs, constants))


def test_attention() -> None:
    inputs = {"x": integers("uint8", 2, 5, 12)}
    constants = {
        **{"w": integers("int8", 12, 36), "b": RNG.random(36).astype("float32")},
        **{"s": scalar(0.02), "t": scalar(0.01), "m": np.int32([3, 5])},
        **{"zs": scalar(120, "uint8"), "zt": scalar(0, "int8")},
    }
    nodes = [node("QAttention", ["x", "w", "b", "s", "t", "m", "zs", "zt"], ["y"], num_heads=3)]
    check(model_of(nodes, inputs, constants), inputs, rtol=1e-3, atol=1e-3)
