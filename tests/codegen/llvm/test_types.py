"""Types, constants and names in LLVM's syntax."""

from __future__ import annotations

import math

import pytest

from te_sched.codegen.llvm import types
from te_sched.errors import BuildError
from te_sched.ir import dtypes
from tests.codegen.llvm.instructions import run


@pytest.mark.parametrize(
    ("dtype", "register", "memory", "slot", "suffix"),
    [
        ("float32", "float", "float", "float", "f32"),
        ("float16x2", "<2 x half>", "<2 x half>", "[2 x half]", "v2f16"),
        ("bfloat16", "i16", "i16", "i16", "i16"),
        ("bool", "i1", "i8", "i8", "i1"),
        ("boolx3", "<3 x i1>", "<3 x i8>", "[3 x i8]", "v3i1"),
        ("uint8x8192", "<8192 x i8>", "<8192 x i8>", "[8192 x i8]", "v8192i8"),
        ("handle", "ptr", "ptr", "ptr", "p0"),
    ],
)
def test_spellings_of_types(dtype: str, register: str, memory: str, slot: str, suffix: str) -> None:
    assert types.llvm_type(dtype) == register
    assert types.memory_type(dtype) == memory
    assert types.slot_type(dtype) == slot
    assert types.intrinsic_suffix(dtype) == suffix
    assert types.mask_type(dtype) == types.llvm_type(dtypes.with_lanes("bool", dtypes.lanes(dtype)))


@pytest.mark.parametrize("lanes", [8193, 9000, 100000])
def test_long_vectors_are_refused_for_all_numbers_of_lanes(lanes: int) -> None:
    with pytest.raises(BuildError, match=f"vectors of {lanes} lanes exceed the limit of 8192"):
        types.llvm_type(f"float32x{lanes}")


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        *[
            ("int8", 200, -56),
            ("int8", -128, -128),
            ("uint8", -1, 255),
            ("int64", 1 << 63, -(1 << 63)),
        ],
        *[("uint64", -1, (1 << 64) - 1), ("bool", 2, 1), ("bool", 0, 0)],
    ],
)
def test_integers_wrap_to_their_type(dtype: str, value: int, expected: int) -> None:
    constant = types.integer(value, dtype)
    assert (constant.lo, constant.hi, constant.data) == (expected, expected, False)
    assert run(lambda out: constant, [], dtype) == expected


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        *[
            ("float64", 0.1, 0.1),
            ("float32", 0.1, 0.10000000149011612),
            ("float32", 1e39, math.inf),
        ],
        *[
            ("float16", 65519.99, 65504.0),
            ("float16", 65520.0, math.inf),
            ("float16", -1e9, -math.inf),
        ],
        *[
            ("float16", -0.0, -0.0),
            ("float64", math.nan, math.nan),
            ("float16", 6e-8, 5.960464477539063e-8),
        ],
        # As bits: rounded to even, at a tie too, and a NaN of which only low bits are set.
        *[
            ("bfloat16", 1.00390625, 0x3F80),
            ("bfloat16", 1.01171875, 0x3F82),
            ("bfloat16", 3.4e38, 0x7F80),
        ],
        ("bfloat16", math.nan, 0x7FC0),
    ],
)
def test_floats_round_to_their_type(dtype: str, value: float, expected: float) -> None:
    (number,) = run(lambda out: types.floating(value, dtype), [], dtype)
    assert math.isnan(number) if math.isnan(expected) else number == expected
    assert math.copysign(1, number) == math.copysign(1, expected)


@pytest.mark.parametrize(
    ("value", "power"), [(0, 4096), (1, 1), (24, 8), (-24, 8), (1 << 20, 4096)]
)
def test_powers_of_two_that_divide(value: int, power: int) -> None:
    assert types.power_of_two_in(value) == power
    assert types.integer(value, "int64").multiple == power
    assert types.unknown("%x", "int64").multiple == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *[
            ("te_sched.x_1", "te_sched.x_1"),
            ("1st", '"1st"'),
            ("a b", '"a b"'),
            ('a"\\', '"a\\22\\5C"'),
        ],
        *[("\u00e9", '"\\C3\\A9"'), ("\n", '"\\0A"')],
    ],
)
def test_names_and_strings_are_escaped(name: str, text: str) -> None:
    assert types.quote(name) == text
    size, body = types.string_bytes(name)
    assert size == len(name.encode()) + 1
    assert body == f'c"{text.strip(chr(34))}\\00"'


def test_a_value_knows_its_range() -> None:
    assert (types.unknown("%x", "uint16").lo, types.unknown("%x", "uint16").hi) == (0, 65535)
    assert types.integer_range("bool") == (0, 1)
    assert types.integer_range("float32") == types.integer_range("handle") == (0, 0)
    assert types.splat(types.integer(-1, "int8")) == "splat (i8 -1)"
    assert repr(types.Value("%x", "int8x4")) == "Value(<4 x i8> %x)"
