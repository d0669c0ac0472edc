"""Accuracy, special values and widths of the functions that code generation brings itself."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from te_sched.codegen.llvm.vector_math import ULP
from te_sched.ir import expr as E
from tests.codegen.programs import build, elementwise

LONG = np.longdouble
WIDTHS = (1, 3, 16, 40)
N = 120 * 500  # a multiple of 3, 16 and 40


def sigmoid(x: np.ndarray) -> np.ndarray:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1) / (1 + power)


REFERENCES = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "log10", "expm1")},
    **{name: getattr(np, name) for name in ("log1p", "sinh", "cosh", "tanh", "sin", "cos", "tan")},
    "exp10": lambda x: np.power(LONG(10), x),
    "erf": np.vectorize(math.erf),
    "sigmoid": sigmoid,
}
CASES = [case for case in ULP if case[0] in REFERENCES]
TARGETS = ("llvm", "llvm -mcpu=x86-64")  # with fused multiply-adds (maybe), and without
needs_long_double = pytest.mark.skipif(
    np.finfo(LONG).nmant < 60, reason="long double is no longer than double"
)


def evaluate(name: str, *arrays: np.ndarray, lanes: int = 1, target: str = "llvm") -> np.ndarray:
    dtype, output = arrays[0].dtype.name, np.zeros_like(arrays[0])
    func = elementwise(
        lambda *x: E.Call(x[0].dtype, f"tir.{name}", x),
        [dtype] * len(arrays),
        len(output),
        lanes=lanes,
    )
    build(func, target)(*arrays, output)
    return output


@cache
def arguments(dtype: str) -> np.ndarray:
    """Numbers of every size, many near 1 and where functions are steep, and all special ones."""
    random, form = np.random.default_rng(3), np.finfo(dtype)
    bits = random.integers(0, 1 << 63, N // 4, dtype="uint64") * 2 + 1
    any_bits = (bits if dtype == "float64" else (bits >> 32).astype("uint32")).view(dtype)
    spread = random.normal(0, 1, N // 2) * np.exp2(random.uniform(-12, 10, N // 2))
    near_one = 1 + random.normal(0, 1, N // 4) * np.exp2(-random.uniform(0, 30, N // 4))
    special = [0.0, 1.0, math.inf, form.tiny, form.smallest_subnormal, form.max, math.nan]
    special += [-number for number in special]
    numbers = np.concatenate([any_bits, spread.astype(dtype), near_one.astype(dtype)])
    numbers[: len(special)] = special
    return numbers


def distance(result: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Units in the last place between results and exact ones; infinite for a wrong special one."""
    largest = np.finfo(result.dtype).max
    nearest = exact.astype(result.dtype)
    unit = np.spacing(np.minimum(np.abs(nearest), largest)).astype(LONG)
    ulps = np.abs(result.astype(LONG) - exact) / unit
    special = ~np.isfinite(nearest) | ~np.isfinite(result)
    alike = (result == nearest) | (np.isnan(result) & np.isnan(nearest))
    return np.where(special, np.where(alike, 0, math.inf), ulps)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("name", "dtype"), CASES)
@needs_long_double
@np.errstate(all="ignore")
def test_error_is_as_stated(name: str, dtype: str, target: str) -> None:
    x = arguments(dtype)
    # numpy's float64 functions of angles and powers are exact enough for float32
    exact = REFERENCES[name](x.astype("float64" if dtype == "float32" else LONG))
    result = evaluate(name, x, target=target)
    assert distance(result, exact.astype(LONG)).max() <= ULP[name, dtype]
    numbers = ~np.isnan(exact)
    np.testing.assert_array_equal(
        np.signbit(result[numbers]), np.signbit(exact[numbers].astype(dtype))
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("name", "least", "most"), [("erf", 0.9, 1.2), ("tanh", 0.9, 1.2), ("sigmoid", -4.2, -4.14)]
)
def test_error_is_as_stated_where_it_is_largest(
    name: str, least: float, most: float, target: str
) -> None:
    """Where formulas meet, or where the result has smaller units than what it is computed of."""
    x = np.linspace(least, most, N, dtype="float32")
    exact = REFERENCES[name](x.astype("float64")).astype(LONG)
    assert distance(evaluate(name, x, target=target), exact).max() <= ULP[name, "float32"]


@pytest.mark.parametrize("lanes", [1, 16])
def test_powers_are_scaled_by_an_instruction(lanes: int) -> None:
    func = elementwise(lambda x: E.Call("float32", "tir.exp", (x,)), ["float32"], 64, lanes=lanes)
    sources = [build(func, f"llvm -mcpu={cpu}").get_source("asm") for cpu in ("znver4", "znver3")]
    assert ["vscalefps" in source for source in sources] == [True, False]
    assert not any("ldexp" in source for source in sources)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_vectors_and_scalars_give_the_same(name: str, dtype: str) -> None:
    x = arguments(dtype)
    first, *others = (evaluate(name, x, lanes=lanes) for lanes in WIDTHS)
    for other in others:
        np.testing.assert_array_equal(other, first)


@pytest.mark.parametrize("lanes", [9, 17, 33, 49])
@pytest.mark.parametrize(("name", "dtype"), [("log2", "float32"), ("sin", "float32"), CASES[-1]])
def test_one_lane_that_no_register_holds(name: str, dtype: str, lanes: int) -> None:
    x = arguments(dtype)[: 4 * lanes]
    np.testing.assert_array_equal(evaluate(name, x, lanes=lanes), evaluate(name, x))


def powers() -> tuple[np.ndarray, np.ndarray]:
    """Bases and exponents: of all sizes, with results of all sizes, and all special pairs."""
    random, count = np.random.default_rng(5), 48 * 500
    x = np.exp2(random.uniform(-149, 128, count)).astype("float32")
    with np.errstate(all="ignore"):
        y = (random.uniform(-155, 155, count) / np.log2(x)).astype("float32")
    x[::4], y[::4] = random.uniform(0, 4, count // 4), random.uniform(-4, 4, count // 4)
    special = [0, 1, 2, 3, 0.5, 2.5, 2**23 + 1, 2**24 + 2, 1e30, 1e-45, math.inf, math.nan]
    pairs = [(a * i, b * j) for a in special for b in special for i in (1, -1) for j in (1.0, -1.0)]
    x[: len(pairs)], y[: len(pairs)] = np.transpose(pairs)
    return x, y


@pytest.mark.parametrize("target", TARGETS)
@np.errstate(all="ignore")
def test_power_is_as_exact_as_stated_and_has_the_special_cases(target: str) -> None:
    x, y = powers()
    exact = np.power(x.astype("float64"), y.astype("float64"))
    for lanes in (1, 16):
        result = evaluate("pow", x, y, lanes=lanes, target=target)
        assert distance(result, exact.astype(LONG)).max() <= ULP["pow", "float32"]
        numbers = ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(result)[numbers], np.signbit(exact)[numbers])


def test_exact_powers_have_exact_logarithms() -> None:
    for dtype, last in (("float32", 38), ("float64", 300)):
        tens = np.array([10.0**k for k in range(last)] + [1.0] * (N - last), dtype)
        np.testing.assert_array_equal(evaluate("log10", tens)[:last], np.arange(last))
        twos = np.array([2.0**k for k in range(120)] + [1.0] * (N - 120), dtype)
        np.testing.assert_array_equal(evaluate("log2", twos)[:120], np.arange(120))


def test_no_function_is_called_in_a_loop_that_llvm_vectorizes() -> None:
    func = elementwise(lambda x: E.Call("float32", "tir.tanh", (x,)), ["float32"], 1 << 10)
    source = build(func, "llvm -mcpu=skylake-avx512").get_source("asm")
    assert "tanh" not in source.replace("te_sched", "")
    assert "zmm" in source or "ymm" in source
