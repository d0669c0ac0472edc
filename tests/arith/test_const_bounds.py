"""Constant intervals."""

from __future__ import annotations

import itertools

import pytest

from te_sched.arith import build
from te_sched.arith.const_bounds import BINARY, INFINITY, ConstBounds, add, of_dtype
from te_sched.ir import intrinsics, ops
from te_sched.ir.expr import Cast, Div, FloorDiv, FloorMod, IntImm, Mod, Mul, Range, Var
from tests.lowering.build import read, temporary

i, j, n = Var("i"), Var("j"), Var("n", is_size=True)
DATA = temporary("data", 8, dtype="int32")


def bounds(exact: bool = False) -> ConstBounds:
    """0 <= i < 8, -3 <= j < 4, 0 <= n."""
    found = ConstBounds(exact)
    found.bind(i, Range(IntImm(0), IntImm(8)))
    found.bind(j, Range(IntImm(-3), IntImm(7)))
    return found


@pytest.mark.parametrize(
    ("e", "interval"),
    [
        (i * 4 + j, (-3, 31)),
        (i - j, (-3, 10)),
        (i * j, (-21, 21)),
        (j // 2, (-2, 1)),
        (j % 5, (0, 4)),
        (i % 16, (0, 7)),
        (ops.minimum(i, j), (-3, 3)),
        (n, (0, INFINITY)),
        (n + i, (0, INFINITY)),
    ],
    ids=str,
)
def test_intervals(e: object, interval: tuple[int, int]) -> None:
    assert bounds().of(e) == interval


def test_infinity_absorbs() -> None:
    assert add(INFINITY, -5) == INFINITY
    assert add(-INFINITY, 5) == -INFINITY
    assert BINARY[Mul]((-2, INFINITY), (3, 3)) == (-6, INFINITY)


@pytest.mark.parametrize("kind", BINARY, ids=lambda kind: kind.__name__)
def test_operations_on_intervals_by_brute_force(kind: type) -> None:
    ends = range(-4, 5)
    intervals = [(low, high) for low in ends for high in ends if low <= high]
    for a, b in itertools.product(intervals, intervals):
        low, high = BINARY[kind](a, b)
        for x in range(a[0], a[1] + 1):
            for y in range(b[0], b[1] + 1):
                if y == 0 and kind in (FloorDiv, FloorMod, Div, Mod):
                    continue
                value = build.BINARY[kind](IntImm(x), IntImm(y)).value
                assert low <= value <= high


def test_values_of_a_type() -> None:
    assert of_dtype("int8") == (-128, 127)
    assert of_dtype("uint8") == (0, 255)
    assert of_dtype("bool") == (0, 1)


def test_sums_with_data_wrap_around_where_bounds_are_exact() -> None:
    load = read(DATA, 0)
    assert bounds(exact=True).of(load + 1) == of_dtype("int32")
    assert bounds(exact=True).wraps(load + 1)
    assert not bounds(exact=True).wraps(i + 1)


def test_facts_narrow_what_is_written_alike() -> None:
    found = bounds()
    found.facts.append((i + j, 2, 5))
    assert found.of(i + j) == (2, 5)
    assert found.of(j + i) == (-3, 10)


def test_logarithms_are_rounded_up() -> None:
    x = Var("x")
    bounds = ConstBounds(exact=False)
    bounds.bind(x, Range(IntImm(1025), IntImm(16)))
    steps = intrinsics.ceil(intrinsics.log2(Cast("float64", x)))
    assert bounds.of(Cast("int32", steps)) == (11, 11)
    exact = ConstBounds(exact=True)
    exact.bind(x, Range(IntImm(1025), IntImm(16)))
    assert exact.of(Cast("int32", steps))[0] < 0
