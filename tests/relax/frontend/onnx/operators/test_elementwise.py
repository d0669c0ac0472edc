"""Functions of elements beside onnx's reference."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched import nd
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.models import X, check, model_of, onnx, run


@pytest.mark.parametrize(
    ("kind", "attrs", "constants"),
    [
        ("Clip", {}, [np.float32(-0.1), np.float32(0.4)]),
        ("Div", {}, [np.float32(0.5)]),
        ("Pow", {}, [np.array([2], "int64")]),
        ("Cast", {"to": 6}, ()),
        ("Clip", {}, [np.float32(0.3), np.float32(-0.1)]),
        ("IsInf", {"detect_negative": 0}, ()),
        ("IsInf", {"detect_negative": 0, "detect_positive": 0}, ()),
        ("CastLike", {}, [np.array([1])]),
        ("Dropout", {}, ()),
    ],
)
def test_operators_of_a_tensor(kind, attrs, constants) -> None:
    names = {f"c{n}": np.asarray(one) for n, one in enumerate(constants)}
    check(model_of([(kind, ["x", *names], ["y"], attrs)], {"x": X}, names), {"x": X})


@pytest.mark.parametrize(
    ("kind", "attrs", "inputs"),
    [
        ("Div", {}, {"a": np.array([-7, 7, 8]), "b": np.array([2, -2, 3])}),
        ("Pow", {}, {"a": np.array([-7, 3, 2]), "b": np.array([3, 4, 0])}),
        ("Clip", {}, {"a": np.array([1.0, 2.0, 3.0], "float32"), "b": np.array(1.5, "float32")}),
        ("Clip", {}, {"a": np.array([1, 2, 3], "int8"), "b": np.array(2, "int8")}),
    ],
)
def test_operators_of_integers(kind, attrs, inputs) -> None:
    check(model_of([(kind, list(inputs), ["y"], attrs)], inputs), inputs)


def test_constants_are_divided_towards_zero() -> None:
    nodes = [("Div", ["p", "q"], ["d"], {}), ("Mul", ["x", "d"], ["y"], {})]
    x = np.array([1, 2])
    check(model_of(nodes, {"x": x}, {"p": np.array([-7, 7]), "q": np.array(2)}), {"x": x})


@pytest.mark.parametrize(
    ("nodes", "inputs", "constants", "message"),
    [
        (
            [("Dropout", ["x", "r", "t"], ["y"], {})],
            {"x": X},
            {"r": np.float32(0.5), "t": np.array(True)},
            "dropped as in training",
        ),
    ],
)
def test_rejects(nodes, inputs, constants, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        from_onnx(model_of(nodes, inputs, constants))


@pytest.mark.parametrize(
    ("x", "to"),
    [
        (np.float32([1.5, -2, np.inf, -0.0]), 6),
        (np.int32([1, -1, 1 << 30, -(1 << 31)]), 12),
        (np.int64([1 << 52, -3, 7]), 11),
        (np.array([True, False]), 2),
        (np.int8([1, -1, 127]), 2),
    ],
)
def test_bits_as_another_dtype(x, to: int) -> None:
    model = model_of([("BitCast", ["x"], ["y"], {"to": to})], {"x": x}, opset=26)
    result = run(from_onnx(model), nd.array(x))
    expected = x.view(onnx.helper.tensor_dtype_to_np_dtype(to))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def test_bits_of_another_width_are_refused() -> None:
    model = model_of([("BitCast", ["x"], ["y"], {"to": 7})], {"x": X}, opset=26)
    with pytest.raises(GraphError, match="of dtype float32 are read as int64"):
        from_onnx(model)
