"""Quotients by sums of exponentials as products with reciprocals, where these are at least 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from te_sched.dlight.cpu.quotients import with_reciprocals
from te_sched.ir.stmt import PrimFunc

LLVM = te_sched.target.Target("llvm")
Compute = Callable[[Any], Any]


def function(compute: Compute, shape: Any = (8, 48), dtype: str = "float32") -> PrimFunc:
    x = te.placeholder(shape, name="x", dtype=dtype)
    return te.create_prim_func([x, compute(x)], index_dtype_override="int64")


def is_product(func: PrimFunc) -> bool:
    """Whether no quotient but reciprocals is left."""
    text = str(with_reciprocals(func))
    return " * (T.float" in text and text.count(" / ") == text.count("(1) / ")


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_softmax_has_one_quotient_for_each_row(axis: int, dtype: str) -> None:
    func = function(lambda x: topi.nn.softmax(x, axis), (4, 6, 5), dtype)
    assert is_product(func)
    schedule: Any = dlight.cpu.Default().apply(func, LLVM, False)
    x = np.random.default_rng(0).normal(0, 9, (4, 6, 5)).astype(dtype)
    x[1, 2, 3], x[0, 0, 0], x[3, 5, 0] = np.nan, -np.inf, np.inf
    results = [np.zeros_like(x), np.zeros_like(x)]
    te_sched.build(func, "llvm")(x, results[0])
    te_sched.build(schedule.mod, "llvm")(x, results[1])
    np.testing.assert_allclose(results[1], results[0], rtol=3 * np.finfo(dtype).eps)


def test_softmax_of_open_rows_has_one_quotient_for_each_row() -> None:
    assert is_product(function(topi.nn.softmax, (te.var("n", "int64"), te.var("m", "int64"))))


def test_narrow_floats_are_divided() -> None:
    assert not is_product(function(topi.nn.softmax, dtype="float16"))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: topi.divide(topi.exp(x), topi.sum(topi.exp(x), 1, keepdims=True)),
        lambda x: topi.divide(x, topi.max(x, 1, keepdims=True)),
        lambda x: normalized(x, topi.min(x, 1, keepdims=True)),
        lambda x: normalized(x, topi.max(topi.abs(x), 1, keepdims=True)),
        lambda x: normalized(x, topi.max(x, (0, 1), keepdims=True)),
    ],
)
def test_sums_that_may_be_small_divide(compute: Compute) -> None:
    func = function(compute)
    assert with_reciprocals(func) is func


def normalized(x: Any, shift: Any) -> Any:
    """The shares of exponentials of differences in their rows."""
    powers = topi.exp(topi.subtract(x, shift))
    return topi.divide(powers, topi.sum(powers, 1, keepdims=True))


def test_rows_in_another_order_divide() -> None:
    """The largest elements are those of columns, of a square."""
    func = function(lambda x: normalized(x, topi.expand_dims(topi.max(x, 0), 1)), (8, 8))
    assert with_reciprocals(func) is func


def test_sums_of_fewer_elements_divide() -> None:
    def shares(x: Any) -> Any:
        largest, k = topi.max(x, 1), te.reduce_axis((0, 7), "k")
        powers = te.compute(x.shape, lambda i, j: te.exp(x[i, j] - largest[i]))
        sums = te.compute((8,), lambda i: te.sum(powers[i, k], k))
        return te.compute(x.shape, lambda i, j: powers[i, j] / sums[i])

    func = function(shares)
    assert with_reciprocals(func) is func
