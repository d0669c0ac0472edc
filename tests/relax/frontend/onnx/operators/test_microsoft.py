"""Operators of transformers of onnxruntime beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.beside_onnxruntime import DOMAIN, check, helper, model_of, results_of

RNG = np.random.default_rng(0)
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}


def node(name: str, inputs: list[str], outputs: list[str], **attrs: Any) -> Any:
    """A node of an operator of onnxruntime."""
    return helper.make_node(name, inputs, outputs, domain=DOMAIN, **attrs)


def real(*shape: int) -> Any:
    """Normally distributed numbers."""
    return RNG.normal(size=shape).astype("float32")


@pytest.mark.parametrize(
    ("attrs", "shapes"),
    [
        ({"alpha": 0.5}, ((2, 3, 4), (2, 4, 5))),
        ({"transA": 1, "transB": 1}, ((2, 4, 3), (2, 5, 4))),
        ({"transB": 1}, ((3, 4), (5, 4))),
        ({"transBatchA": 1, "transBatchB": 1, "transB": 1}, ((3, 2, 4), (5, 2, 4))),
    ],
)
def test_fused_matmul(attrs: Any, shapes: Any) -> None:
    inputs = {"a": real(*shapes[0]), "b": real(*shapes[1])}
    check(model_of([node("FusedMatMul", ["a", "b"], ["y"], **attrs)], inputs, {}), inputs)


@pytest.mark.parametrize("name", ["Gelu", "BiasGelu", "FastGelu", "QuickGelu"])
def test_activations(name: str) -> None:
    inputs = {"x": real(3, 40) * 4}
    has_bias = name in ("BiasGelu", "FastGelu")
    nodes = [node(name, ["x", *["b"] * has_bias], ["y"])]
    check(model_of(nodes, inputs, {"b": real(40)} if has_bias else {}), inputs)


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("name", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_normalization_of_sums(name: str, has_bias: bool) -> None:
    inputs = {"x": real(2, 3, 16), "s": real(2, 3, 16)}
    constants = {"g": real(16), "b": real(16), "c": real(16)}
    shift = ["b"] if name == "SkipLayerNormalization" else []
    names = ["x", "s", "g", *shift, *["c"] * has_bias]
    nodes = [node(name, names, ["y", "", "", "sum"])]
    check(model_of(nodes, inputs, constants, ["y", "sum"]), inputs, **TOLERANCE)


@pytest.mark.parametrize("domain", ["", DOMAIN])
def test_simplified_normalization(domain: str) -> None:
    inputs, constants = {"x": real(2, 3, 16)}, {"g": real(16)}
    made = helper.make_node("SimplifiedLayerNormalization", ["x", "g"], ["y"], domain=domain)
    (found,) = results_of(model_of([made], inputs, constants), inputs)
    scale = np.sqrt(np.mean(inputs["x"] ** 2, -1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(found, inputs["x"] / scale * constants["g"], **TOLERANCE)


@pytest.mark.parametrize("has_segments", [False, True])
def test_embedding(has_segments: bool) -> None:
    inputs = {"i": RNG.integers(0, 9, (2, 5)).astype("int32")}
    inputs["m"] = np.int32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    constants = {"w": real(9, 8), "p": real(7, 8), "t": real(2, 8), "g": real(8), "b": real(8)}
    segments = ["s"] if has_segments else [""]
    if has_segments:
        inputs["s"] = np.int32([[0, 0, 1, 1, 1]] * 2)
    names = ["i", *segments, "w", "p", "t" if has_segments else "", "g", "b", "m"]
    nodes = [node("EmbedLayerNormalization", names, ["y", "l", "sum"])]
    check(model_of(nodes, inputs, constants, ["y", "l", "sum"]), inputs, **TOLERANCE)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ((2, 5, 24), {}),
        ((2, 3, 5, 8), {}),
        ((2, 2, 5, 16), {"num_heads": 2, "rotary_embedding_dim": 8}),
    ],
)
def test_rotary_embedding(shape: Any, attrs: Any, interleaved: int) -> None:
    inputs = {"x": real(*shape)}
    for positions in (np.int64([2]), RNG.integers(0, 10, (2, 5))):
        constants = {"p": positions, "c": real(10, 4), "s": real(10, 4)}
        options = {**attrs, "interleaved": interleaved}
        nodes = [node("RotaryEmbedding", ["x", "p", "c", "s"], ["y"], **options)]
        check(model_of(nodes, inputs, constants), inputs)


MASKS = {
    "none": None,
    "lengths": np.int32([3, 5]),
    "marks": np.int32([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1]]),
    "marks of rows": RNG.integers(0, 2, (2, 5, 5)).astype("int32"),
}


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS)
def test_attention(mask: str, is_causal: int) -> None:
    inputs = {"x": real(2, 5, 12)}
    constants = {"w": real(12, 36), "b": real(36)}
    if MASKS[mask] is not None:
        constants["m"] = MASKS[mask]
    names = ["x", "w", "b", *["m"] * (MASKS[mask] is not None)]
    nodes = [node("Attention", names, ["y"], num_heads=3, unidirectional=is_causal)]
    check(model_of(nodes, inputs, constants), inputs, **TOLERANCE)


@pytest.mark.parametrize("has_bias", [False, True])
def test_attention_of_several_heads(has_bias: bool) -> None:
    inputs = {"q": real(2, 4, 12), "k": real(2, 6, 12), "v": real(2, 6, 12)}
    inputs["m"] = np.int32([[1, 1, 0, 1, 0, 1], [1] * 6])
    constants = {"b": real(36), "a": real(2, 3, 4, 6)} if has_bias else {}
    names = ["q", "k", "v", "b" if has_bias else "", "m", "a" if has_bias else ""]
    nodes = [node("MultiHeadAttention", names, ["y"], num_heads=3)]
    check(model_of(nodes, inputs, constants), inputs, **TOLERANCE)


def test_import_rejects_packed_operands_and_caches() -> None:
    inputs = {"x": real(2, 5, 12), "w": real(12, 36), "b": real(36), "p": real(2, 2, 3, 4, 4)}
    packed = node("MultiHeadAttention", ["x"], ["y"], num_heads=3)
    with pytest.raises(GraphError, match="given operands that are packed"):
        from_onnx(model_of([packed], inputs, {}))
    cached = node("Attention", ["x", "w", "b", "", "p"], ["y", "q"], num_heads=3)
    with pytest.raises(GraphError, match="keys and values of earlier calls"):
        from_onnx(model_of([cached], inputs, {}))
    rotated = node("Attention", ["x", "w", "b"], ["y"], num_heads=3, do_rotary=1)
    with pytest.raises(GraphError, match="attention rotates its operands"):
        from_onnx(model_of([rotated], inputs, {}))
