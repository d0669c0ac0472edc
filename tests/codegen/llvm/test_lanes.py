"""Numbers of some lanes, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.lanes import LaneBuilder, Number
from te_sched.codegen.llvm.types import Value, llvm_type
from te_sched.ir import dtypes
from tests.codegen.llvm.instructions import run

KINDS = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64", "bool": "i1"}
NAN = float("nan")
TABLE = "@table = private constant [4 x i64] [i64 2, i64 3, i64 5, i64 7]"


def computed(
    compute: Callable[..., Number], dtype: str, result: str, *operands: Any, lanes: int = 4
) -> np.ndarray:
    """What a function of numbers computes of operands."""

    def write(out: FunctionText, *values: Value) -> Value:
        builder = LaneBuilder(lanes)
        parameters = [Number(builder, f"%p{k}", KINDS[dtype]) for k in range(len(values))]
        number = compute(*parameters)
        assert number.kind == KINDS[result]
        types = ", ".join(f"{llvm_type(value.dtype)} %p{k}" for k, value in enumerate(values))
        kind, body = builder.type(number.kind), "\n".join(builder.lines)
        text = f"define {kind} @g({types}) {{\nentry:\n{body}\n  ret {kind} {number.text}\n}}"
        out.module.functions += [TABLE, text]
        for name, (returned, types_of_parameters) in builder.declarations.items():
            out.module.declare(name, returned, types_of_parameters)
        arguments = ", ".join(f"{llvm_type(value.dtype)} {value.text}" for value in values)
        return Value(out.emit(f"call {kind} @g({arguments})"), dtypes.with_lanes(result, lanes))

    wide = dtypes.with_lanes(dtype, lanes)
    cut = [(wide, operand[:lanes]) for operand in operands]
    return np.asarray(run(write, cut, dtypes.with_lanes(result, lanes)))


X, Y = np.array([1.5, -2.0, 0.0, NAN]), np.array([0.5, -2.0, -1.0, 1.0])
SIGNED, COUNTS = np.array([7, -7, 1 << 30, -1]), np.array([2, 1, 3, 31])


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        *[(lambda x, y: x + y, X + Y), (lambda x, y: x - y, X - Y), (lambda x, y: x * y, X * Y)],
        *[
            (lambda x, y: x / y, X / Y),
            (lambda x, y: 1 - x * 2, 1 - X * 2),
            (lambda x, y: 1 / y, 1 / Y),
        ],
        *[(lambda x, y: -x, -X), (lambda x, y: x.magnitude(), np.abs(X))],
        (lambda x, y: x.with_sign_of(y), np.copysign(X, Y)),
        (lambda x, y: x.times_plus(y, 3), X * Y + 3),
        (lambda x, y: x.at_most(1), np.minimum(X, 1)),
        (lambda x, y: x.at_least(-1), np.maximum(X, -1)),
        (lambda x, y: x.bits().from_bits(), X),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats(compute: Any, expected: np.ndarray, dtype: str, lanes: int) -> None:
    found = computed(compute, dtype, dtype, X, Y, lanes=lanes)
    np.testing.assert_array_equal(found, expected.astype(dtype)[:lanes])
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected)[:lanes])


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        *[
            (lambda i, j: i + j, SIGNED + COUNTS),
            (lambda i, j: i - j, SIGNED - COUNTS),
            (lambda i, j: i & j, SIGNED & COUNTS),
        ],
        *[
            (lambda i, j: i | j, SIGNED | COUNTS),
            (lambda i, j: i ^ j, SIGNED ^ COUNTS),
            (lambda i, j: i >> j, SIGNED >> COUNTS),
        ],
        (lambda i, j: i << 2, (SIGNED << 2).astype("int32")),
        (lambda i, j: (i < j).choose(i, 5), np.where(SIGNED < COUNTS, SIGNED, 5)),
        (lambda i, j: (i > j).choose(j, i), np.minimum(SIGNED, COUNTS)),
        (lambda i, j: i.equals(-7).choose(j, 0), np.where(SIGNED == -7, COUNTS, 0)),
    ],
)
def test_integers(compute: Any, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(computed(compute, "int32", "int32", SIGNED, COUNTS), expected)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [(lambda x, y: x < y, X < Y), (lambda x, y: x > y, X > Y), (lambda x, y: x.equals(x), X == X)],
)
def test_comparisons_with_nan_are_false(compute: Any, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(computed(compute, "float64", "bool", X, Y), expected)


@pytest.mark.parametrize(
    ("source", "target", "values"),
    [
        *[("float32", "float64", X), ("float64", "float32", X / 3), ("int32", "int64", SIGNED)],
        *[
            ("int64", "int32", SIGNED + (1 << 40)),
            ("int32", "float64", SIGNED),
            ("int32", "float32", SIGNED),
        ],
    ],
)
def test_conversions(source: str, target: str, values: np.ndarray) -> None:
    found = computed(lambda x: x.to(KINDS[target]), source, target, values)
    np.testing.assert_array_equal(found, values.astype(source).astype(target))


@pytest.mark.parametrize("count", range(1, 10))
def test_polynomials_have_their_constant_term_first(count: int) -> None:
    coefficients = [float(k + 1) for k in range(count)]
    x = np.array([0.0, 1.0, -2.0, 0.5])
    found = computed(lambda number: number.polynomial(coefficients), "float64", "float64", x)
    np.testing.assert_allclose(found, np.polynomial.polynomial.polyval(x, coefficients), 1e-15)


def test_polynomials_by_one_instruction_for_each_power() -> None:
    x, coefficients = np.array([0.0, 1.0, -2.0, 0.5]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    found = computed(lambda number: number.horner(coefficients), "float64", "float64", x)
    np.testing.assert_allclose(found, np.polynomial.polynomial.polyval(x, coefficients), 1e-15)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_powers_of_two_round_once(dtype: str, lanes: int) -> None:
    tiny, count = np.finfo(dtype).tiny, np.finfo(dtype).nmant - 1
    x = np.array([1.75, NAN, -1.625, 1.5]).astype(dtype)
    found = computed(
        lambda number: (number * float(tiny)).times_power_of_two(number.like(0).bits() - count),
        *(dtype, dtype, x),
        lanes=lanes,
    )
    np.testing.assert_array_equal(found, np.ldexp(x * tiny, -count)[:lanes])


@pytest.mark.parametrize("lanes", [1, 4])
def test_elements_of_a_table(lanes: int) -> None:
    places = np.array([3, 0, 0, 2])
    found = computed(
        lambda index: index.lanes.look_up("@table", "i64", index),
        "int64",
        "int64",
        places,
        lanes=lanes,
    )
    np.testing.assert_array_equal(found, np.array([2, 3, 5, 7])[places][:lanes])
