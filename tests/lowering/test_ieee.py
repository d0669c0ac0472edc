"""Floats are those of IEEE 754 in what is built, whatever the text takes them for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import te, tir

ENDS = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -2.5, 0.5, 1e-45, 3.4e38], "float32")
FIRST, SECOND = (np.ascontiguousarray(one.ravel()) for one in np.meshgrid(ENDS, ENDS))
N = len(FIRST)
ZERO, ONE, TINY = (np.float32(number) for number in (0, 1, 1e-40))

# Of two values for te, and for numpy.
FORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "difference": (lambda x, y: x - x, lambda x, y: x - x),
    "cancelled": (lambda x, y: (x + y) - x, lambda x, y: (x + y) - x),
    "times zero": (lambda x, y: x * 0.0, lambda x, y: x * ZERO),
    "times zero plus": (lambda x, y: 0 * x + y, lambda x, y: ZERO * x + y),
    "plus zero": (lambda x, y: x + 0.0, lambda x, y: x + ZERO),
    "zero by": (lambda x, y: 0.0 / x, lambda x, y: ZERO / x),
    "by a denormal": (lambda x, y: x / te.const(1e-40, "float32"), lambda x, y: x / TINY),
    "by infinity": (
        lambda x, y: x / te.const(float("inf"), "float32"),
        lambda x, y: x / np.float32(np.inf),
    ),
    # The sign of a zero is free.
    "smaller": (lambda x, y: te.min(x, y) + 0.0, lambda x, y: np.minimum(x, y) + 0),
    "larger": (lambda x, y: te.max(x, y) + 0.0, lambda x, y: np.maximum(x, y) + 0),
    "rounded": (lambda x, y: te.round(x), lambda x, y: np.round(x)),
}
CONDITIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "equal": (lambda x, y: x.equal(x), lambda x, y: x == x),
    "not equal": (lambda x, y: x != x, lambda x, y: x != x),
    "at most": (lambda x, y: x <= x, lambda x, y: x <= x),
    "not less": (lambda x, y: te.not_(x < y), lambda x, y: ~(x < y)),
    "not at most": (lambda x, y: te.not_(x <= y), lambda x, y: ~(x <= y)),
    "either": (lambda x, y: te.any(x <= y, x > y), lambda x, y: (x <= y) | (x > y)),
    "both": (
        lambda x, y: te.not_(te.all(x <= y, te.not_(x < y))),
        lambda x, y: ~((x <= y) & ~(x < y)),
    ),
    "else": (
        lambda x, y: te.if_then_else(x <= y, 1, te.if_then_else(x > y, 2, 3)).equal(3),
        lambda x, y: np.isnan(x + y * ZERO) & ~(x <= y) & ~(x > y),
    ),
    "selected": (
        lambda x, y: (
            tir.Select(x < y, te.const(1), tir.Select(x >= y, te.const(2), te.const(3))) < 3
        ),
        lambda x, y: (x < y) | (x >= y),
    ),
}


def computed(form: Callable[..., Any], how: str) -> np.ndarray:
    X, Y = te.placeholder((N,), name="X"), te.placeholder((N,), name="Y")
    Z = te.compute((N,), lambda i: form(X[i], Y[i]), name="Z")
    s = te.create_schedule(Z.op)
    arrays = [FIRST, SECOND, np.zeros(N, Z.dtype)]
    if how == "vectors":
        s[Z].vectorize(s[Z].split(Z.op.axis[0], 4)[1])
    if how not in ("emulated", "checked"):
        te_sched.build(s, [X, Y, Z], sanitize=how == "watched")(*arrays)
        return arrays[2]
    s[Z].bind(Z.op.axis[0], te.thread_axis("threadIdx.x"))
    module = te_sched.build(s, [X, Y, Z], "cuda")
    if how == "checked":
        module.check(*arrays)
        return arrays[2]
    there = [te_sched.nd.array(array, te_sched.emulated_cuda(0)) for array in arrays]
    module(*there)
    result: np.ndarray = there[2].numpy()
    return result


@pytest.mark.parametrize("how", ["plain", "vectors", "watched", "emulated", "checked"])
def test_values_are_numpys(how: str) -> None:
    with np.errstate(all="ignore"):
        for name, (form, expected) in FORMS.items():
            found, wanted = computed(form, how), np.asarray(expected(FIRST, SECOND))
            np.testing.assert_array_equal(found, wanted, name)
            number = ~np.isnan(wanted)
            assert (np.signbit(found) == np.signbit(wanted))[number].all(), name


@pytest.mark.parametrize("how", ["plain", "vectors", "emulated", "checked"])
def test_conditions_are_numpys(how: str) -> None:
    with np.errstate(all="ignore"):
        for name, (form, expected) in CONDITIONS.items():
            np.testing.assert_array_equal(computed(form, how), expected(FIRST, SECOND), name)


def test_index_by_a_condition_on_memory_is_numpys() -> None:
    X, T = te.placeholder((N,), name="X"), te.placeholder((2,), name="T")
    Z = te.compute((N,), lambda i: T[te.if_then_else(X[i].equal(X[i]), 1, 0)], name="Z")
    found = np.zeros(N, "float32")
    te_sched.build(te.create_schedule(Z.op), [X, T, Z])(FIRST, np.array([0, 1], "float32"), found)
    np.testing.assert_array_equal(found, FIRST == FIRST)


def test_what_is_multiplied_by_zero_is_computed() -> None:
    X = te.placeholder((N,), name="X")
    Y = te.compute((N,), lambda i: X[i] * 2.0, name="Y")
    Z = te.compute((N,), lambda i: Y[i] * 0.0, name="Z")
    found = np.zeros(N, "float32")
    te_sched.build(te.create_schedule(Z.op), [X, Z])(FIRST, found)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, FIRST * 2 * ZERO)


def test_conversion_of_a_constant_without_a_place_in_the_type_is_no_error() -> None:
    Z = te.compute((4,), lambda i: (i + 254).astype("uint8"), name="Z")
    s = te.create_schedule(Z.op)
    s[Z].unroll(Z.op.axis[0])
    found = np.zeros(4, "uint8")
    te_sched.build(s, [Z])(found)
    assert found.tolist() == [254, 255, 0, 1]


def test_debug_build_warns_of_extrema_that_are_not_numpys() -> None:
    X, k = te.placeholder((4,), name="X"), te.reduce_axis((0, 4), "k")
    Z = te.compute((1,), lambda i: te.max(X[k], axis=k), name="Z")
    with pytest.warns(UserWarning, match="max or min of floats in Z differs from numpy") as warned:
        function = te_sched.build(te.create_schedule(Z.op), [X, Z], sanitize=True)
    assert [one.filename for one in warned] == [__file__]
    found = np.zeros(1, "float32")
    function(np.full(4, -np.inf, "float32"), found)
    assert found[0] == np.finfo("float32").min


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("place", [0, 3, 7])
def test_extrema_propagate_nan_from_any_place_in_any_order(place: int, dtype: str) -> None:
    X, k = te.placeholder((8,), dtype, name="X"), te.reduce_axis((0, 8), "k")
    Z = te.compute((1,), lambda i: te.max(X[k], axis=k), name="Z")
    plain, split = te.create_schedule(Z.op), te.create_schedule(Z.op)
    outer, _ = split[Z].split(Z.op.reduce_axis[0], 4)
    split.rfactor(Z, outer)
    for schedule in (plain, split):
        data = np.arange(8, dtype="float32")
        data[place] = np.nan
        x, found = [te_sched.nd.empty(shape, dtype) for shape in ((8,), (1,))]
        x.copyfrom(data.astype(x.numpy().dtype))
        te_sched.build(schedule, [X, Z])(x, found)
        assert np.isnan(found.numpy().astype("float32")).all()
