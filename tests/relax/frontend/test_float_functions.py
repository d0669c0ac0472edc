"""Functions of floats beside numpy in float64: near 0, far away, at infinities and NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import relax
from te_sched.ir.expr import Var
from te_sched.relax.frontend import float_functions
from te_sched.relax.frontend.float_functions import polynomial, prelu, scaled_tail

POINTS = [0.0, -0.0, 1e-7, -1e-7, 0.3, -0.3, 0.9, 1.0, -1.0, 3.0, -3.0, 9.0, -9.0, 30.0, -30.0]
X = np.array([*POINTS, math.inf, -math.inf, math.nan])
SAFE = X[X > -1]


def computed(dtype: str, *calls: tuple[Callable[..., Any], Any]) -> list[Any]:
    """The results of functions of arrays, which are constants of one program."""
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        values = [
            function(builder, *[relax.const(x.astype(dtype), dtype) for x in arrays], *options)
            for function, (arrays, options) in calls
        ]
        builder.emit_func_output(relax.Tuple(tuple(values)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm -opt-level=0"))
    results = [result.numpy() for result in machine["main"]()]
    assert {str(result.dtype) for result in results} == {dtype}
    return results


def soft(x: Any) -> Any:
    return np.logaddexp(x, 0)


# A function, its arguments, its options, and what numpy computes.
CASES: list[tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], Callable[..., Any]]] = [
    (float_functions.expm1, (X,), (), np.expm1),
    (float_functions.log1p, (SAFE,), (), np.log1p),
    (float_functions.hypot, (X, X[::-1]), (), np.hypot),
    (float_functions.hypot, (X * 1e30, X * 1e30), (), np.hypot),
    (float_functions.atan2, (X, X[::-1]), (), np.arctan2),
    (float_functions.softplus, (X,), (), soft),
    (
        *(float_functions.softplus, (X,), (2.0, 4.0)),
        lambda x: np.where(2 * x > 4, x, soft(2 * x) / 2),
    ),
    (float_functions.log_sigmoid, (X,), (), lambda x: -soft(-x)),
    (
        *(float_functions.elu, (X,), (0.5, 2.0, 3.0)),
        lambda x: np.where(x >= 0, 2 * x, np.expm1(3 * np.minimum(x, 0))),
    ),
    (float_functions.erfc, (X,), (), lambda x: np.array([math.erfc(v) for v in x])),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions(dtype: str) -> None:
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    results = computed(dtype, *[(function, (x, more)) for function, x, more, _ in CASES])
    for result, (function, arrays, _, expected) in zip(results, CASES, strict=True):
        rounded = [x.astype(dtype).astype("float64") for x in arrays]
        with np.errstate(all="ignore"):
            wanted = expected(*rounded).astype(dtype)
        least = np.finfo(dtype).tiny
        np.testing.assert_allclose(result, wanted, tolerance, least, err_msg=function.__name__)


def test_zeros_of_both_slopes() -> None:
    """No slope changes 0 if it is only of negative numbers."""
    x, slope = np.array([-2.0, 0.0, 3.0]), np.array([math.inf])
    of_not_positive, of_negative = computed(
        "float32", (prelu, ((x, slope), ())), (prelu, ((x, slope), (True,)))
    )
    np.testing.assert_array_equal(of_not_positive, np.array([-math.inf, math.nan, 3], "float32"))
    np.testing.assert_array_equal(of_negative, np.array([-math.inf, 0, 3], "float32"))


def test_small_floats_are_computed_as_float32() -> None:
    (result,) = computed("float16", (float_functions.softplus, ((X[:15],), ())))
    expected = soft(X[:15].astype("float16").astype("float64")).astype("float16")
    np.testing.assert_allclose(result, expected, 1e-3)


def test_polynomials_have_the_highest_power_first() -> None:
    x = Var("x", "float64")
    text = str(polynomial([2.0, 5.0, 3.0], x)).splitlines()[-1]
    assert text == "(T.float64(2) * x + T.float64(5)) * x + T.float64(3)"
    assert "T.Select(x < T.float64(8)" in str(scaled_tail(x))
    assert "T.Select" not in str(scaled_tail(Var("x", "float32")))
