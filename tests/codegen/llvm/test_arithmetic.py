"""Arithmetic of every data type, scalar and vector, against numpy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.codegen.llvm.arithmetic import binary
from te_sched.codegen.llvm.types import Value
from te_sched.ir import expr as E
from te_sched.ir import ops
from tests.codegen.llvm.instructions import new_function, text_of
from tests.codegen.programs import build, elementwise

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


N = 64


def values(dtype: str, low: int = -100, high: int = 100) -> np.ndarray:
    generator = np.random.default_rng(1)
    if dtype.startswith("float"):
        return generator.uniform(low, high, N).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(max(low, limits.min), min(high, limits.max), N).astype(dtype)


def run(compute, *arrays: np.ndarray, lanes: int = 1, result: str | None = None) -> np.ndarray:
    output = np.zeros(N, result or arrays[0].dtype)
    build(elementwise(compute, [array.dtype.name for array in arrays], N, lanes=lanes))(
        *arrays, output
    )
    return output


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap(dtype: str, lanes: int) -> None:
    a, b = values(dtype, -(1 << 62), 1 << 62), values(dtype, -(1 << 62), 1 << 62)[::-1].copy()
    np.testing.assert_array_equal(
        run(lambda x, y: E.Sub(E.Mul(x, y), E.Add(x, y)), a, b, lanes=lanes), a * b - (a + b)
    )


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_floor_division_follows_the_divisor_sign(dtype: str, lanes: int) -> None:
    a, b = values(dtype, -9, 9), values(dtype, -3, 4)[::-1].copy()
    b[b == 0] = 2
    quotient = run(lambda x, y: E.FloorDiv(x, y), a, b, lanes=lanes)
    rest = run(lambda x, y: E.FloorMod(x, y), a, b, lanes=lanes)
    np.testing.assert_array_equal(quotient, a // b)
    np.testing.assert_array_equal(rest, a % b)


def test_truncated_division_follows_the_dividend_sign() -> None:
    a, b = values("int32", -9, 9), np.where(np.arange(N) % 2, 3, -3).astype("int32")
    np.testing.assert_array_equal(run(lambda x, y: E.Div(x, y), a, b), np.trunc(a / b))
    np.testing.assert_array_equal(run(lambda x, y: E.Mod(x, y), a, b), np.fmod(a, b))


@pytest.mark.parametrize("node", [E.FloorDiv, E.FloorMod, E.Div, E.Mod])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_division_by_zero_gives_zero(node: type, dtype: str) -> None:
    a = values(dtype)
    np.testing.assert_array_equal(
        run(lambda x, y: node(x, y), a, np.zeros_like(a)), np.zeros_like(a)
    )


def test_division_of_the_smallest_integer_by_minus_one_does_not_trap() -> None:
    a = np.full(N, np.iinfo("int32").min, "int32")
    np.testing.assert_array_equal(run(lambda x, y: E.FloorDiv(x, y), a, np.full_like(a, -1)), a)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64"])
def test_comparisons_and_extrema(dtype: str, lanes: int) -> None:
    a, b = values(dtype, -5, 5), values(dtype, -5, 5)[::-1].copy()
    greatest = run(lambda x, y: E.Max(E.Min(x, y), y), a, b, lanes=lanes)
    np.testing.assert_array_equal(greatest, np.maximum(np.minimum(a, b), b))
    for node, expected in (
        (E.LT, a < b),
        (E.LE, a <= b),
        (E.EQ, a == b),
        (E.NE, a != b),
        (E.GE, a >= b),
    ):
        np.testing.assert_array_equal(
            run(lambda x, y, n=node: n(x, y), a, b, lanes=lanes, result="bool"), expected
        )


NUMBERS = [math.nan, 1.0, -1.0, math.inf, -math.inf, 2.5]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("node", [E.Min, E.Max])
def test_extrema_of_floats_are_nan_if_an_operand_is(node: type[E.BinaryOp], dtype: str) -> None:
    pairs = list(itertools.product(NUMBERS, NUMBERS))
    a, b = np.resize(np.array(pairs, dtype), (N, 2)).T.copy()
    expected = (np.minimum if node is E.Min else np.maximum)(a, b)
    for lanes in (1, 4):
        np.testing.assert_array_equal(run(node, a, b, lanes=lanes), expected)
    for number in NUMBERS:  # constants take fewer instructions
        constant = E.FloatImm(number, dtype)
        right = (np.minimum if node is E.Min else np.maximum)(a, np.asarray(number, dtype))
        np.testing.assert_array_equal(run(lambda x, c=constant: node(x, c), a), right)
        np.testing.assert_array_equal(run(lambda x, c=constant: node(c, x), a), right)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extrema_wait_for_no_comparison_of_the_result_so_far(name: str) -> None:
    """The first operand is the one that is compared with itself."""
    out = new_function()
    binary(out, name, Value("%so_far", "float32x16"), Value("%element", "float32x16"))
    assert "(<16 x float> %element, <16 x float> %so_far)" in text_of(out)


def test_constants_of_small_floats_are_exact() -> None:
    a = np.ones(N, "float16")
    result = run(lambda x: E.Mul(x, ops.const(0.1, "float16")), a)
    np.testing.assert_array_equal(result, np.full(N, 0.1, "float16"))
    assert np.isinf(run(lambda x: E.Mul(x, E.FloatImm(1e9, "float16")), a)).all()


def test_multiply_and_add_are_fused() -> None:
    program = elementwise(lambda x, y: E.Add(E.Mul(x, y), x), ["float32", "float32"], N)
    assert "vfmadd" in build(program, "llvm -mcpu=haswell").get_source("asm")


def test_index_arithmetic_of_data_wraps() -> None:
    a = np.full(N, np.iinfo("int32").max, "int32")
    result = run(lambda x: E.Select(E.LT(E.Add(x, E.IntImm(1)), x), E.IntImm(1), E.IntImm(0)), a)
    np.testing.assert_array_equal(result, np.ones(N, "int32"))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_numbers_are_divided_as_such(dtype: str) -> None:
    high = np.iinfo(dtype).max
    values = np.array([high, high - 1, 200, 7], dtype)
    divisors = np.array([2, high, 130, 3], dtype)
    a, b = te.placeholder((4,), dtype, name="a"), te.placeholder((4,), dtype, name="b")
    for function, expected in ((te.floordiv, values // divisors), (te.floormod, values % divisors)):
        c = te.compute((4,), lambda i, f=function: f(a[i], b[i]), name="c")
        out = np.zeros(4, dtype)
        te_sched.build(te.create_schedule(c.op), [a, b, c])(values, divisors, out)
        np.testing.assert_array_equal(out, expected)


def test_quotients_by_sizes_need_no_correction_of_signs() -> None:
    out = new_function()
    place, size = (Value(f"%{name}", "int64", 0, 1 << 62) for name in "ab")
    quotient = binary(out, "floordiv", place, size)
    assert (quotient.lo, quotient.hi) == (0, 1 << 62)
    assert binary(out, "floordiv", Value("%d", "int64", 8, 9), size).lo == 0  # of a size 0
    assert "udiv" in text_of(out)
    assert "xor" not in text_of(out)
    binary(out, "floordiv", place, Value("%c", "int64", -1, 8))
    assert "xor" in text_of(out)
