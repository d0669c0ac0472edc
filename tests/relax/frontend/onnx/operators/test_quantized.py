"""Quantized operators of ONNX beside onnxruntime: integers are exact, or differ by one step where
reals are rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import GraphError
from te_sched.relax.frontend.onnx import from_onnx
from tests.relax.frontend.onnx.beside_onnxruntime import check, helper, model_of, onnx, results_of

ml_dtypes = pytest.importorskip("ml_dtypes")
from onnx.reference import ReferenceEvaluator  # noqa: E402

node = helper.make_node
RNG = np.random.default_rng(0)
REALS = RNG.normal(size=(3, 4, 6)).astype("float32") * 3
HALVES = np.float32([-300, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 127.5, 254.5, 300, np.inf, -np.inf])


def integers(dtype: str, *shape: int) -> Any:
    """Integers of the whole range of a dtype."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def scalar(value: float, dtype: str = "float32") -> Any:
    """An array without dimensions."""
    return np.asarray(value, dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_quantize_rounds_halves_to_even_numbers_and_saturates(dtype: str) -> None:
    constants = {"s": scalar(1), "z": scalar(3, dtype)}
    model = model_of([node("QuantizeLinear", ["x", "s", "z"], ["y"])], {"x": HALVES}, constants)
    check(model, {"x": HALVES})


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantize_and_dequantize_along_an_axis(axis: int, dtype: str) -> None:
    size = REALS.shape[axis]
    constants = {
        "s": RNG.random(size).astype("float32") / 9 + 0.01,
        "z": integers(dtype, size),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis),
    ]
    check(model_of(nodes, {"x": REALS}, constants, ["q", "y"]), {"x": REALS}, steps=0)


@pytest.mark.parametrize("opset", [10, 13, 19, 21, 23])
def test_quantize_of_all_versions(opset: int) -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    constants = {"s": scalar(0.05), "z": scalar(120, "uint8")}
    check(model_of(nodes, {"x": REALS}, constants, ["q", "y"], opset), {"x": REALS})


@pytest.mark.parametrize("axis", [1, 2])
def test_quantize_in_blocks(axis: int) -> None:
    shape = [3, 4, 6]
    shape[axis] //= 2
    constants = {
        "s": RNG.random(shape).astype("float32") / 9 + 0.01,
        "z": integers("int8", *shape),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], axis=axis, block_size=2),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=axis, block_size=2),
    ]
    check(model_of(nodes, {"x": REALS}, constants, ["q", "y"]), {"x": REALS})


def test_last_block_may_be_smaller() -> None:
    values = {"q": integers("int8", 5)}
    constants = {"s": np.float32([1, 10]), "z": np.int8([0, 1])}
    nodes = [node("DequantizeLinear", ["q", "s", "z"], ["y"], axis=0, block_size=3)]
    (found,) = results_of(model_of(nodes, values, constants), values)
    whole = values["q"].astype("float32")
    expected = (whole - np.float32([0, 0, 0, 1, 1])) * np.float32([1, 1, 1, 10, 10])
    np.testing.assert_array_equal(found, expected)


def test_output_dtype_without_zero_point() -> None:
    constants = {"s": scalar(0.01)}
    nodes = [node("QuantizeLinear", ["x", "s"], ["y"], output_dtype=3)]
    check(model_of(nodes, {"x": REALS}, constants), {"x": REALS})


def test_quantize_of_halves_and_of_integers() -> None:
    for dtype, scale in (("float16", "float16"), ("int32", "float32")):
        x = (REALS * 20).astype(dtype)
        constants = {"s": scalar(0.5, scale), "z": scalar(1, "int8")}
        nodes = [node("QuantizeLinear", ["x", "s", "z"], ["y"])]
        model = model_of(nodes, {"x": x}, constants, opset=21 if dtype == "float16" else 13)
        (found,) = results_of(model, {"x": x})
        expected = np.clip(np.rint(x / constants["s"]) + 1, -128, 127).astype("int8")
        np.testing.assert_array_equal(found, expected)


def test_dequantize_of_sums() -> None:
    x = integers("int32", 4, 5) >> 8
    nodes = [node("DequantizeLinear", ["x", "s"], ["y"])]
    check(model_of(nodes, {"x": x}, {"s": scalar(0.001)}), {"x": x})


def test_four_bits() -> None:
    weight = RNG.integers(-8, 8, (4, 6)).astype(ml_dtypes.int4)
    constants = {"w": weight, "s": np.float32([1, 2, 3, 4]), "x": REALS[0]}
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["d"], axis=0),
        node("QuantizeLinear", ["i", "s"], ["q"], axis=0, output_dtype=22),
        node("DequantizeLinear", ["q", "s"], ["e"], axis=0),
        node("Add", ["d", "e"], ["y"]),
    ]
    check(model_of(nodes, {"i": REALS[0] * 9}, constants), {"i": REALS[0] * 9})


@pytest.mark.parametrize("values", [REALS, np.zeros(4, "float32"), -np.abs(REALS), np.abs(REALS)])
def test_dynamic_quantization(values: Any) -> None:
    nodes = [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])]
    check(model_of(nodes, {"x": values}, {}, ["y", "s", "z"]), {"x": values})


def test_dynamic_scales_of_open_sizes_are_exact() -> None:
    """One that differs in its last bit changes integers, and all of a large model after them."""
    nodes = [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])]
    model = model_of(nodes, {"x": REALS}, {}, ["y", "s", "z"])
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "n"
    machine = relax.VirtualMachine(relax.build(from_onnx(model), "llvm"))
    for size in range(2, 12):
        values = RNG.normal(size=(3, 4, size)).astype("float32")
        scale = machine["main"](nd.array(values))[1].numpy()
        assert scale == (values.max() - values.min()) / np.float32(255)


@pytest.mark.parametrize("left", ["uint8", "int8"])
@pytest.mark.parametrize("right", ["uint8", "int8"])
@pytest.mark.parametrize("is_constant", [False, True])
def test_integer_product(left: str, right: str, is_constant: bool) -> None:
    a, b = integers(left, 2, 5, 19), integers(right, 19, 21)
    weights = {"b": b, "za": integers(left, 1)[0], "zb": integers(right, 1)[0]}
    inputs = {"a": a} if is_constant else {"a": a, **weights}
    nodes = [node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])]
    model = model_of(nodes, inputs, weights if is_constant else {})
    (found,) = results_of(model, inputs)
    wide = [value.astype("int32") for value in (a, b, weights["za"], weights["zb"])]
    np.testing.assert_array_equal(found, (wide[0] - wide[2]) @ (wide[1] - wide[3]))


def test_integer_product_of_rows_and_columns() -> None:
    a, b = integers("uint8", 5, 8), integers("int8", 8, 6)
    zeros = {"za": integers("uint8", 5), "zb": integers("int8", 6)}
    nodes = [node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])]
    (found,) = results_of(model_of(nodes, {"a": a}, {"b": b, **zeros}), {"a": a})
    left = a.astype("int32") - zeros["za"][:, None]
    np.testing.assert_array_equal(found, left @ (b.astype("int32") - zeros["zb"]))


@pytest.mark.parametrize("shapes", [((8,), (8, 6)), ((5, 8), (8,)), ((8,), (8,))])
def test_integer_product_of_vectors(shapes: Any) -> None:
    a, b = integers("uint8", *shapes[0]), integers("int8", *shapes[1])
    nodes = [node("MatMulInteger", ["a", "b", "za"], ["y"])]
    model = model_of(nodes, {"a": a}, {"b": b, "za": scalar(7, "uint8")})
    (found,) = results_of(model, {"a": a})
    np.testing.assert_array_equal(found, (a.astype("int32") - 7) @ b.astype("int32"))


@pytest.mark.parametrize("dtypes", [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize("has_columns", [False, True])
def test_quantized_product(dtypes: Any, has_columns: bool) -> None:
    a, b = integers(dtypes[0], 7, 32), integers(dtypes[1], 32, 18)
    columns = [18] if has_columns else []
    constants = {
        "b": b,
        "as": scalar(0.02),
        "az": scalar(5, dtypes[0]),
        "bs": (RNG.random(columns) / 50 + 0.001).astype("float32"),
        "bz": np.full(columns, 3, dtypes[1]),
        "ys": scalar(0.9),
        "yz": scalar(100, dtypes[0]),
    }
    nodes = [node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])]
    check(model_of(nodes, {"a": a}, constants), {"a": a}, steps=1)


CONVOLUTIONS: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "padded": ((2, 8, 7, 6), (16, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
    "three channels": ((1, 3, 9, 8), (8, 3, 3, 3), {"strides": [2, 2], "pads": [1, 0, 1, 2]}),
    "1x1": ((1, 16, 5, 5), (24, 16, 1, 1), {}),
    "depthwise": ((1, 6, 7, 7), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    "dilated": ((1, 4, 9, 9), (5, 4, 3, 3), {"dilations": [2, 2], "pads": [2, 1, 2, 1]}),
    "one dimension": ((2, 4, 9), (8, 4, 3), {"pads": [1, 1]}),
}


@pytest.mark.parametrize("dtypes", [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_quantized_convolution(name: str, dtypes: Any) -> None:
    shape, kernel, attrs = CONVOLUTIONS[name]
    x, w = integers(dtypes[0], *shape), integers(dtypes[1], *kernel)
    channels = kernel[0]
    has_channels = dtypes[1] == "int8"
    constants = {
        "w": w,
        "b": integers("int32", channels) >> 18,
        "xs": scalar(0.02),
        "xz": scalar(17, dtypes[0]),
        "ws": (RNG.random([channels] * has_channels) / 50 + 0.001).astype("float32"),
        "wz": np.zeros(channels, "int8") if has_channels else scalar(128, "uint8"),
        "ys": scalar(0.4),
        "yz": scalar(100, dtypes[0]),
    }
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    nodes = [node("QLinearConv", names, ["y"], **attrs)]
    check(model_of(nodes, {"x": x}, constants), {"x": x}, steps=1)


FEW_BITS = ["int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]


def few_bits(dtype: str, *shape: int) -> Any:
    """Numbers of a dtype of few bits."""
    low = 0 if dtype.startswith("u") else -8
    return RNG.integers(low, 8, shape).astype(getattr(ml_dtypes, dtype))


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("dtype", FEW_BITS)
def test_weights_of_few_bits_beside_the_reference(dtype: str, is_kept: bool) -> None:
    constants = {
        "w": few_bits(dtype, 4, 6),
        "s": np.float32([1, 0.5, 3, -4]),
        "z": np.asarray([0, 1, 0, 1] if "int" in dtype else [0] * 4).astype(
            getattr(ml_dtypes, dtype)
        ),
    }
    nodes = [
        node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0),
        node("Cast", ["w"], ["c"], to=1),
        node("Transpose", ["w"], ["t"], perm=[1, 0]),
        node("Cast", ["t"], ["u"], to=1),
        node("Add", ["x", "d"], ["a"]),
        node("MatMul", ["a", "u"], ["m"]),
        node("MatMul", ["m", "c"], ["y"]),
    ]
    model, x = model_of(nodes, {"x": REALS}, constants), {"x": REALS}
    (expected,) = ReferenceEvaluator(model).run(None, x)
    kept = {"s": constants["s"]} if is_kept else {}
    (result,) = results_of(model, {**x, **kept}, keep_params_in_input=is_kept)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("kind", ["FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ"])
def test_casts_of_known_values_to_eight_bits(kind: str, saturate: int) -> None:
    to = getattr(onnx.TensorProto, kind)
    constants = {"w": np.float32([0.3, -1.7, 449, 1e6, -1e6, np.inf, -np.inf, 17, 0])}
    nodes = [
        node("Cast", ["w"], ["c"], to=to, saturate=saturate),
        node("Cast", ["c"], ["d"], to=1),
        node("Add", ["x", "d"], ["y"]),
    ]
    x = {"x": np.zeros(9, "float32")}
    model = model_of(nodes, x, constants)
    check(model, x)


SPECIAL = [
    0.3,
    -1.7,
    449,
    465,
    1e6,
    -1e6,
    np.inf,
    -np.inf,
    np.nan,
    17,
    0.0,
    -0.0,
    2e-3,
    3e-5,
    -1e-9,
]
FLOATS = ["FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ", "FLOAT8E5M2FNUZ"]


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("kind", FLOATS)
def test_casts_of_calls_to_eight_bits(kind: str, saturate: int) -> None:
    """All floats of 16 bits, and those between them."""
    halves = np.arange(1 << 16, dtype="uint16").view("float16").astype("float32")
    halves = halves[~np.isnan(halves)]
    x = {"x": np.concatenate([np.float32(SPECIAL), halves, halves * np.float32(1.0001)])}
    to = getattr(onnx.TensorProto, kind)
    nodes = [node("Cast", ["x"], ["c"], to=to, saturate=saturate), node("Cast", ["c"], ["y"], to=1)]
    model = model_of(nodes, x, {})
    (expected,) = ReferenceEvaluator(model).run(None, x)
    (result,) = results_of(model, x)
    np.testing.assert_array_equal(result, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result)[is_number], np.signbit(expected)[is_number])


@pytest.mark.parametrize("kind", [*FLOATS, "INT4", "UINT4", "FLOAT4E2M1"])
def test_values_are_quantized_to_few_bits_and_back(kind: str) -> None:
    to = getattr(onnx.TensorProto, kind)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(to)
    constants = {"s": np.float32([0.5, 3, 0.01, 7]), "z": np.zeros(4, dtype)}
    nodes = [
        node("QuantizeLinear", ["x", "s"], ["q"], axis=1, output_dtype=to),
        node("QuantizeLinear", ["x", "s", "z"], ["p"], axis=1),
        node("DequantizeLinear", ["q", "s"], ["d"], axis=1),
        node("DequantizeLinear", ["p", "s", "z"], ["e"], axis=1),
        node("Add", ["d", "e"], ["y"]),
    ]
    x = {"x": np.concatenate([REALS, REALS * 100, REALS / 100]).reshape(-1, 4)}
    model = model_of(nodes, x, constants)
    (expected,) = ReferenceEvaluator(model).run(None, x)
    np.testing.assert_allclose(results_of(model, x)[0], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "INT2", "UINT2"])
def test_integers_of_calls_are_cast_to_few_bits(kind: str) -> None:
    x = {"x": np.arange(-128, 128).astype("int8")}
    to = getattr(onnx.TensorProto, kind)
    nodes = [node("Cast", ["x"], ["c"], to=to), node("Cast", ["c"], ["y"], to=1)]
    model = model_of(nodes, x, {})
    np.testing.assert_array_equal(results_of(model, x), ReferenceEvaluator(model).run(None, x))


def test_inputs_and_results_of_few_bits_are_int8() -> None:
    numbers = few_bits("int4", 3)
    nodes = [node("Cast", ["x"], ["y"], to=1), node("Identity", ["x"], ["z"])]
    model = model_of(nodes, {"x": numbers}, {})
    (result,) = results_of(model, {"x": numbers.astype("int8")})
    np.testing.assert_array_equal(result, numbers.astype("float32"))


def test_powers_of_two_of_calls_are_refused() -> None:
    x = {"x": REALS}
    to = onnx.TensorProto.FLOAT8E8M0
    model = model_of([node("Cast", ["x"], ["y"], name="narrow", to=to)], x, {})
    with pytest.raises(GraphError, match=r"(?s)are cast to float8_e8m0fnu.*narrow"):
        from_onnx(model)


def test_integer_convolution_with_zero_points_of_calls() -> None:
    x, w = integers("uint8", 1, 4, 6, 6), integers("uint8", 8, 4, 3, 3)
    inputs = {"x": x, "w": w, "xz": scalar(9, "uint8"), "wz": scalar(77, "uint8")}
    nodes = [node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 1, 1, 1])]
    check(model_of(nodes, inputs, {}), inputs)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "message"),
    [
        ("QuantizeLinear", ["x", "s"], {"output_dtype": 1}, "quantized to float32"),
        ("QuantizeLinear", ["x", "t"], {"axis": 5}, "quantized along axis 5"),
        ("QuantizeLinear", ["x", "x"], {}, "has 3 dimensions"),
        ("DequantizeLinear", ["b", "s"], {}, "quantized to int64"),
    ],
)
def test_import_rejects(name: str, inputs: list[str], attrs: Any, message: str) -> None:
    constants = {"s": scalar(1), "t": np.ones(4, "float32"), "b": np.ones(4, "int64")}
    model = model_of([node(name, inputs, ["y"], **attrs)], {"x": REALS}, constants)
    with pytest.raises(GraphError, match=message):
        from_onnx(model)


def test_convolutions_of_integers_of_open_sizes_have_fixed_padding() -> None:
    conv = node("ConvInteger", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2])
    data = integers("uint8", 1, 1, 4, 4)
    model = model_of([conv], {"x": data}, {"w": integers("uint8", 1, 1, 3, 3)})
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "h"
    with pytest.raises(GraphError, match=r"depends on the sizes R.shape\(\[h, 4\]\)"):
        from_onnx(model)
