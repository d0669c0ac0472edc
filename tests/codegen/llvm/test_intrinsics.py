"""Intrinsics that have no meaning of their own in numpy; the others are in
`test_intrinsic_table`.
"""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.errors import BuildError
from te_sched.ir import expr as E
from tests.codegen.programs import build, elementwise

N = 64


def call(name: str, *arguments: E.Expr, dtype: str = "") -> E.Call:
    return E.Call(dtype or arguments[0].dtype, f"tir.{name}", arguments)


def run(compute, *arrays: np.ndarray, lanes: int = 1, result: str | None = None) -> np.ndarray:
    output = np.zeros(N, result or arrays[0].dtype)
    build(elementwise(compute, [array.dtype.name for array in arrays], N, lanes=lanes))(
        *arrays, output
    )
    return output


def test_reinterpret_keeps_the_bits() -> None:
    a = np.linspace(-1, 1, N).astype("float32")
    np.testing.assert_array_equal(
        run(lambda x: call("reinterpret", x, dtype="int32"), a, result="int32"), a.view("int32")
    )


def test_unknown_intrinsic_is_refused() -> None:
    with pytest.raises(BuildError, match=r"intrinsic tir\.frobnicate"):
        build(elementwise(lambda x: call("frobnicate", x), ["float32"], N))


@pytest.mark.parametrize("shift", [-4, 0, 3])
def test_fixed_point_product_rounds_half_up(shift: int) -> None:
    a = np.arange(-32, 32, dtype="int32") * 1001
    factor, fraction = 1395864371, 31 - min(shift, 0)
    result = run(lambda x: call("q_multiply_shift", x, *map(E.IntImm, (factor, 31, shift))), a)
    exact = (a.astype("int64") << max(shift, 0)) * factor
    np.testing.assert_array_equal(result, (exact + (1 << (fraction - 1))) >> fraction)
