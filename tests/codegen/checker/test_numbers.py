"""Numbers of the checked mode: types, wrapping, rounding."""

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.checker import check_program, numbers
from te_sched.errors import BuildError
from te_sched.lowering.device.pipeline import device_passes


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16", "int64", "bfloat16"])
def test_types(dtype):
    a = te.placeholder((64,), dtype, name="A")
    c = te.compute((64,), lambda i: a[i] * a[i] + a[i], name="C")
    s = te.create_schedule(c.op)
    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    module = device_passes(te_sched.lower(s, [a, c], name="main")["main"])
    values = np.arange(64) * 3
    if dtype == "bfloat16":  # 64 * 3 and its square need more than 8 bits: rounded twice
        data = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        result = np.zeros(64, np.uint16)
        assert check_program(module, [data, result]).ok
        kept = (result.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_allclose(kept, values * values + values, rtol=2**-7)
        return
    data, result = values.astype(dtype), np.zeros(64, dtype)
    assert check_program(module, [data, result]).ok
    np.testing.assert_array_equal(result, data * data + data)


NUMBERS = [
    (300, "int8", 44),
    (-129, "int8", 127),
    (-1, "uint16", 65535),
    (1 << 63, "int64", -(1 << 63)),
    (1 << 31, "handle", 1 << 31),
    (2, "bool", True),
    (0.1, "float32", np.float32(0.1)),
    (1.0 + 2.0**-8, "bfloat16", np.float32(1.0)),  # halves to even
    (1.0 + 3 * 2.0**-8, "bfloat16", np.float32(1.0 + 2.0**-6)),
]


@pytest.mark.parametrize(("value", "dtype", "expected"), NUMBERS)
def test_constant(value: float, dtype: str, expected: Any) -> None:
    result = numbers.constant(value, dtype)
    assert result == expected
    assert type(result) is type(expected)


def test_bfloat16_is_rounded_as_by_another_library() -> None:
    kind = pytest.importorskip("ml_dtypes").bfloat16
    values = np.random.default_rng(0).integers(0, 1 << 32, 4096, np.uint32).view(np.float32)
    values = np.concatenate([values, np.array([np.inf, -np.inf, np.nan, 3.4e38], np.float32)])
    with np.errstate(all="ignore"):  # NaN with a payload
        expected = values.astype(kind).astype(np.float32)
    np.testing.assert_array_equal(numbers.rounded(values, "bfloat16"), expected)
    assert numbers.rounded(values, "float32") is values


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float16", "bfloat16", "bool"])
@pytest.mark.parametrize("source", ["int32", "float32", "bool"])
def test_a_number_is_cast_as_an_array_is(source: str, dtype: str) -> None:
    array = np.array([0, 1, 2, 100, 127]).astype(source)
    cast = numbers.cast(array, source, dtype)
    for number, expected in zip(array, cast, strict=True):
        alone = numbers.cast(numbers.plain(number), source, dtype)
        assert alone == expected
        assert not isinstance(alone, np.integer | np.ndarray)


def test_bits_of_floats_are_compared() -> None:
    a, b = (np.array([0.0, np.nan, 1.0, other], np.float32) for other in (-0.0, 0.0))
    assert numbers.same_bits(a, b).tolist() == [True, True, True, False]
    assert numbers.same_bits(np.array([1, 2]), np.array([1, 3])).tolist() == [True, False]


def test_arguments_are_views_but_for_bfloat16() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.shares_memory(numbers.from_argument(array, "float32"), array)
    bits = np.array([[0x3F80, 0xC000]], np.uint16)
    kept = numbers.from_argument(bits, "bfloat16")
    np.testing.assert_array_equal(kept, np.array([1.0, -2.0], np.float32))
    result = np.zeros_like(bits)
    numbers.to_argument(kept, result, "bfloat16")
    np.testing.assert_array_equal(result, bits)
    columns = np.zeros((3, 2), np.float32).T  # a copy is kept
    numbers.to_argument(array.reshape(-1), columns, "float32")
    np.testing.assert_array_equal(columns, array)


def test_there_are_no_elements_of_void() -> None:
    assert numbers.numpy_dtype("bfloat16x2") == np.float32
    with pytest.raises(BuildError, match="cannot store a value of type void"):
        numbers.numpy_dtype("void")
