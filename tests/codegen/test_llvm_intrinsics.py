"""Intrinsic functions against numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from te_sched.errors import BuildError
from te_sched.ir import expr as E
from tests.codegen.programs import build, elementwise

N = 64
NUMPY_NAMES = (
    *("exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan"),
    *("sinh", "cosh", "tanh", "floor", "ceil", "trunc", "fabs"),
)
FUNCTIONS = {
    **{name: getattr(np, name) for name in NUMPY_NAMES},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "tanh")},
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf),
    "nearbyint": np.rint,
    "round": np.round,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
TOLERANCE = {"float16": 2e-3, "float32": 1e-6, "float64": 1e-14}


def call(name: str, *arguments: E.Expr, dtype: str = "") -> E.Call:
    return E.Call(dtype or arguments[0].dtype, f"tir.{name}", arguments)


def run(compute, *arrays: np.ndarray, lanes: int = 1, result: str | None = None) -> np.ndarray:
    output = np.zeros(N, result or arrays[0].dtype)
    build(elementwise(compute, [array.dtype.name for array in arrays], N, lanes=lanes))(
        *arrays, output
    )
    return output


@pytest.mark.parametrize("name", FUNCTIONS)
def test_mathematics(name: str) -> None:
    for dtype, tolerance in TOLERANCE.items():
        a = np.random.default_rng(0).uniform(0.05, 0.9, N).astype(dtype)
        expected = FUNCTIONS[name](a.astype("float64"))
        for lanes in (1, 4):
            np.testing.assert_allclose(
                run(lambda x: call(name, x), a, lanes=lanes), expected, tolerance
            )


def test_powers_and_remainders() -> None:
    a, b = np.linspace(1, 5, N).astype("float32"), np.linspace(2, 3, N).astype("float32")
    np.testing.assert_allclose(run(lambda x, y: call("pow", x, y), a, b), a**b, 1e-6)
    np.testing.assert_allclose(run(lambda x, y: call("fmod", x, y), a, b), np.fmod(a, b), 1e-6)
    np.testing.assert_allclose(run(lambda x, y: call("atan2", x, y), a, b), np.arctan2(a, b), 1e-6)


def test_classification() -> None:
    a = np.array([0.0, np.nan, np.inf, -np.inf] * (N // 4), "float32")
    for name, expected in (("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite)):
        result = run(lambda x, n=name: call(n, x, dtype="bool"), a, result="bool")
        np.testing.assert_array_equal(result, expected(a))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_bits(dtype: str) -> None:
    a = np.arange(-8, N - 8).astype(dtype)
    two = E.IntImm(2, dtype)
    np.testing.assert_array_equal(run(lambda x: call("shift_right", x, two), a), a >> 2)
    np.testing.assert_array_equal(
        run(lambda x: call("bitwise_xor", call("shift_left", x, two), x), a), (a << 2) ^ a
    )
    np.testing.assert_array_equal(run(lambda x: call("bitwise_not", x), a), ~a)
    np.testing.assert_array_equal(
        run(lambda x: call("popcount", x), a), np.bitwise_count(a.view(f"u{a.itemsize}"))
    )


def test_reinterpret_keeps_the_bits() -> None:
    a = np.linspace(-1, 1, N).astype("float32")
    np.testing.assert_array_equal(
        run(lambda x: call("reinterpret", x, dtype="int32"), a, result="int32"), a.view("int32")
    )


def test_unknown_intrinsic_is_refused() -> None:
    with pytest.raises(BuildError, match=r"intrinsic tir\.frobnicate"):
        build(elementwise(lambda x: call("frobnicate", x), ["float32"], N))


def test_device_intrinsic_is_refused() -> None:
    with pytest.raises(BuildError, match="only on devices with threads"):
        build(elementwise(lambda x: call("tvm_thread_allreduce", x), ["float32"], N))


def test_mathematics_of_integers_is_refused() -> None:
    with pytest.raises(BuildError, match="exp of int32"):
        build(elementwise(lambda x: call("exp", x), ["int32"], N))


@pytest.mark.parametrize("shift", [-4, 0, 3])
def test_fixed_point_product_rounds_half_up(shift: int) -> None:
    a = np.arange(-32, 32, dtype="int32") * 1001
    factor, fraction = 1395864371, 31 - min(shift, 0)
    result = run(lambda x: call("q_multiply_shift", x, *map(E.IntImm, (factor, 31, shift))), a)
    exact = (a.astype("int64") << max(shift, 0)) * factor
    np.testing.assert_array_equal(result, (exact + (1 << (fraction - 1))) >> fraction)
