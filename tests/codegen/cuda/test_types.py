"""Names of types and constants in CUDA C++."""

from __future__ import annotations

import math

import numpy as np
import pytest

from te_sched.codegen.cuda import types
from te_sched.errors import BuildError

TYPES = [  # a type, its scalar, its vector, what carries it
    ("float32", "float", None, "unsigned int"),
    ("float32x2", "float", "float2", "float2"),
    ("float32x3", "float", None, None),
    ("float32x8", "float", None, None),
    ("float64x4", "double", None, None),
    ("int8x4", "signed char", "char4", "char4"),
    ("int8x16", "signed char", None, "uint4"),
    ("uint64x2", "unsigned long long", "ulonglong2", "ulonglong2"),
    ("float16x2", "half", "half2", "half2"),
    ("float16x4", "half", None, "uint2"),
    ("bfloat16x2", "nv_bfloat16", "nv_bfloat162", "nv_bfloat162"),
    ("boolx4", "bool", None, None),
]
CONSTANTS = [
    (0.1, "float32", "0.1f"),
    (-0.0, "float32", "-0.0f"),
    (1e20, "float32", "1e+20f"),
    (-float("inf"), "float32", "__int_as_float(0xff800000)"),
    (float("nan"), "float64", "__longlong_as_double(0x7ff8000000000000ll)"),
    (-3.4028234663852886e38, "float32", "-3.4028235e+38f"),
    (0.1, "float64", "0.1"),
    (0.5, "float16", "half(0.5f)"),
    (-(1 << 31), "int32", "(-2147483647 - 1)"),
    (-(1 << 63), "int64", "(-9223372036854775807ll - 1)"),
    (5, "int64", "5ll"),
    ((1 << 32) - 1, "uint32", "4294967295u"),
    (-128, "int8", "-128"),
    (1, "bool", "true"),
]


@pytest.mark.parametrize(("dtype", "scalar", "vector", "carrier"), TYPES)
def test_type(dtype: str, scalar: str, vector: str | None, carrier: str | None) -> None:
    assert types.scalar_type(dtype) == scalar
    assert types.vector_type(dtype) == vector
    assert types.carrier_type(dtype) == carrier


@pytest.mark.parametrize(("value", "dtype", "text"), CONSTANTS)
def test_constant(value: float, dtype: str, text: str) -> None:
    make = types.floating if "float" in dtype else types.integer
    piece = make(value, dtype)  # type: ignore[arg-type]
    assert piece.text == text
    assert piece.at(types.POSTFIX) == (f"({text})" if text.startswith("-") else text)


def test_floats_are_read_back_bit_by_bit() -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 500, dtype=np.uint32)
    edges = np.array([1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x3F800001], np.uint32)
    for value in np.concatenate([edges, bits]).view(np.float32):
        if math.isfinite(value):
            text = types.floating(float(value), "float32").text
            assert np.float32(text.removesuffix("f")).tobytes() == value.tobytes(), text


def test_constant_too_large_for_its_type_is_refused() -> None:
    with pytest.raises(BuildError, match=r"constant 1e\+39 is larger than the largest float32"):
        types.floating(1e39, "float32")


def test_lanes_and_makers() -> None:
    assert types.lane_of("v", "float32x4", 3).text == "v.w"
    assert types.lane_of("v", "float32x8", 3).text == "v[3]"
    assert [types.maker(x) for x in ("half2", "nv_bfloat162")] == ["make_half2", "make_bfloat162"]
    assert (types.header_of("float16x2"), types.header_of("float32")) == ("cuda_fp16.h", None)
