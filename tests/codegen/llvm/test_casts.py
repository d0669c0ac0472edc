"""Conversions of numbers, scalar and in vectors, against numpy and torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.codegen.llvm.casts import cast, narrow, widen
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.memory import concatenate, lane
from te_sched.codegen.llvm.types import Value, integer
from te_sched.ir import dtypes
from tests.codegen.llvm.instructions import new_function, run

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "float32", "float64"]


def converted(numbers: Any, source: str, target: str) -> np.ndarray:
    """Numbers converted in a vector, but for the first, which is converted alone."""

    def write(out: FunctionText, value: Value) -> Value:
        vector = cast(out, value, result)
        first = cast(out, lane(out, value, 0), target)
        return concatenate(out, [first, *[lane(out, vector, k) for k in range(1, lanes)]])

    lanes = len(numbers)
    result = dtypes.with_lanes(target, lanes)
    return np.asarray(run(write, [(dtypes.with_lanes(source, lanes), numbers)], result))


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS])
def test_integers_are_extended_by_sign_and_cut(source: str, target: str) -> None:
    limits = np.iinfo(source)
    numbers = np.array([limits.min, 77, 0, limits.max], source)
    with np.errstate(over="ignore"):
        expected = numbers.astype(target)
    np.testing.assert_array_equal(converted(numbers, source, target), expected)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS])
def test_floats_are_truncated(source: str, target: str) -> None:
    numbers = np.array([0.0, 1.75, 100.5, 127.0], source)
    np.testing.assert_array_equal(converted(numbers, source, target), numbers.astype(target))
    if not target.startswith("u"):
        np.testing.assert_array_equal(
            converted(-numbers, source, target), (-numbers).astype(target)
        )


@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS])
def test_every_number_but_zero_is_true(source: str) -> None:
    numbers = np.array([0, 1, 2, 64], source)
    if source in FLOATS:
        numbers[2:] = np.nan, -0.0
    expected = numbers.astype("bool")
    np.testing.assert_array_equal(converted(numbers, source, "bool"), expected)
    back = converted(expected, "bool", source)
    np.testing.assert_array_equal(back, expected.astype(source))


# Beside ties of float16 and of bfloat16, by less than float32 can tell; largest, smallest, none.
_DOUBLES = [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, 1 + 2.0**-8 + 2.0**-40]
_DOUBLES += [-(1 + 2.0**-8 - 2.0**-40), 65519.999, 65520.0, 2.0**-25 + 2.0**-60, 2.0**-25]
_DOUBLES += [3.3961775e38, 1e308, -1e308, np.inf, -0.0, np.nan, 1.5, 2.0**-133]


def test_float64_rounds_once_to_float16() -> None:
    found = converted(np.array(_DOUBLES), "float64", "float16")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, np.array(_DOUBLES).astype("float16"))
    assert np.signbit(found[_DOUBLES.index(-0.0)])


def test_float64_rounds_once_to_bfloat16() -> None:
    def exact(number: float) -> float:
        """The nearest number of 8 bits, to even, in float64: one rounding."""
        scale = 2.0 ** (max(np.frexp(number)[1], -125) - 8)
        rounded = np.round(number / scale) * scale
        return rounded if abs(rounded) < 2.0**128 else np.copysign(np.inf, rounded)

    bits = converted(np.array(_DOUBLES), "float64", "bfloat16")
    found = (bits.astype("uint32") << 16).view("float32")
    expected = [exact(number) if np.isfinite(number) else number for number in _DOUBLES]
    np.testing.assert_array_equal(found, expected)


def test_bfloat16_is_the_high_half_of_a_float32() -> None:
    bits = np.array([0x3F80, 0xC000, 0x7F80, 0x0001], "uint16")
    singles = run(widen, [("bfloat16x4", bits)], "float32x4")
    np.testing.assert_array_equal(singles, (bits.astype("uint32") << 16).view("float32"))
    back = run(lambda out, x: narrow(out, x, "bfloat16x4"), [("float32x4", singles)], "bfloat16x4")
    np.testing.assert_array_equal(back, bits)
    with np.errstate(invalid="ignore"):
        nan = np.array([0x7F800001], "uint32").view("float32")  # cutting it would give infinity
    (quiet,) = run(lambda out, x: narrow(out, x, "bfloat16"), [("float32", nan)], "bfloat16")
    assert quiet == 0x7FC0


def test_facts_of_integers_are_kept_where_they_hold() -> None:
    out = new_function()
    value = Value("%x", "int32", 0, 100, data=False, multiple=8)
    wide, same, cut = (cast(out, value, kind) for kind in ("int64", "uint32", "int8"))
    assert [(v.lo, v.hi, v.data, v.multiple) for v in (wide, same, cut)] == [(0, 100, False, 8)] * 3
    assert same.text == "%x"
    negative = cast(out, Value("%x", "int32", -5, 100), "uint32")
    assert (negative.lo, negative.hi) == (0, 2**32 - 1)
    assert cast(out, integer(300, "int32"), "uint8").text == "44"
    assert cast(out, value, "int32") is value


def test_pointers_are_integers() -> None:
    number = run(
        lambda out, x: cast(out, cast(out, x, "handle"), "int64"), [("int64", 4096)], "int64"
    )
    assert number == 4096
