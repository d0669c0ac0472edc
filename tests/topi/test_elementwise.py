"""Elementwise and broadcasting operators compute what numpy computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.running import Case, booleans, case, check, floats, integers

X, Y = floats(3, 5), floats(3, 5, seed=1)
ROW, COLUMN = floats(5, low=0.5), floats(3, 1, low=0.5)
POSITIVE, UNIT, ABOVE = floats(3, 5, low=0.5), floats(3, 5, low=-0.9, high=0.9), floats(4, low=1.1)
INTS, OTHERS = integers(3, 5), integers(3, 5, low=1, seed=2)
TRUTH, FLAGS = booleans(3, 5), booleans(3, 5, seed=3)
SPECIAL = np.array([0, np.nan, np.inf, -np.inf, 2.5], "float32")


def unary(name: str, reference: Any, array: Any) -> Case:
    return case(name, getattr(topi, name), reference, array)


def binary(name: str, reference: Any, *arrays: Any) -> Case:
    return case(name, getattr(topi, name), reference, *arrays)


CASES = [
    *[unary(n, getattr(np, n), X) for n in ("exp", "tanh", "sin", "cos", "abs", "sign", "floor")],
    *[unary(n, getattr(np, n), X) for n in ("ceil", "trunc", "negative", "sinh", "cosh")],
    *[unary(n, getattr(np, n), POSITIVE) for n in ("log", "log2", "log10", "sqrt", "tan")],
    *[unary(f"a{n}", getattr(np, f"arc{n}"), UNIT) for n in ("sin", "cos", "tan", "sinh", "tanh")],
    unary("acosh", np.arccosh, ABOVE),
    unary("round", np.round, X),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), POSITIVE),
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), X),
    unary("erf", np.vectorize(math.erf), X),
    unary("identity", lambda x: x, X),
    *[unary(n, lambda x: x, INTS) for n in ("floor", "ceil", "trunc", "round")],
    *[unary(n, getattr(np, n), INTS) for n in ("abs", "sign", "negative")],
    *[unary(n, getattr(np, n), SPECIAL) for n in ("isnan", "isinf", "isfinite")],
    unary("logical_not", np.logical_not, TRUTH),
    unary("bitwise_not", np.invert, INTS),
    case("clip", lambda x: topi.clip(x, -0.5, 1), lambda x: np.clip(x, -0.5, 1), X),
    case("clip_ints", lambda x: topi.clip(x, -2, 3), lambda x: np.clip(x, -2, 3), INTS),
    case("clip_whole_ints", lambda x: topi.clip(x, -math.inf, 1 << 40), lambda x: x, INTS),
    case("cast", lambda x: topi.cast(x, "int32"), lambda x: x.astype("int32"), X),
    case("cast_bool", lambda x: topi.cast(x, "bool"), lambda x: x.astype("bool"), INTS),
    case("astype", lambda x: x.astype("float64"), lambda x: x.astype("float64"), INTS),
    case("reinterpret", lambda x: topi.reinterpret(x, "int32"), lambda x: x.view("int32"), X),
    case("full", lambda: topi.full((2, 3), "float32", 1.5), lambda: np.full((2, 3), 1.5)),
    case("full_like", lambda x: topi.full_like(x, 2), lambda x: np.full_like(x, 2), X),
    case("elemwise_sum", lambda *x: topi.elemwise_sum(x), lambda x, y: x + y, X, Y),
    case("relu", topi.nn.relu, lambda x: np.maximum(x, 0), X),
    case("relu_ints", topi.nn.relu, lambda x: np.maximum(x, 0), INTS),
    case("leaky", lambda x: topi.nn.leaky_relu(x, 0.1), lambda x: np.where(x > 0, x, x * 0.1), X),
    case("prelu", topi.nn.prelu, lambda x, s: np.where(x > 0, x, x * s), X, ROW),
    *[
        binary(n, getattr(np, n), X, array)
        for n in ("add", "subtract", "multiply", "divide", "maximum", "minimum")
        for array in (ROW, COLUMN)
    ],
    binary("add", np.add, ROW, COLUMN),
    binary("power", np.power, POSITIVE, Y),
    *[binary(n, getattr(np, n), INTS, OTHERS) for n in ("floor_divide", "bitwise_and")],
    *[binary(n, getattr(np, n), INTS, OTHERS) for n in ("bitwise_or", "bitwise_xor")],
    binary("floor_mod", np.mod, INTS, OTHERS),
    binary("mod", np.fmod, INTS, OTHERS),
    binary("divide", lambda a, b: np.trunc(a / b).astype("int32"), INTS, OTHERS),
    binary("floor_divide", np.floor_divide, X, ROW),
    binary("floor_mod", np.mod, X, ROW),
    binary("mod", np.fmod, X, ROW),
    *[binary(n, getattr(np, n), OTHERS, OTHERS % 3) for n in ("left_shift", "right_shift")],
    *[
        binary(n, getattr(np, n), INTS, OTHERS[:1])
        for n in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    ],
    *[binary(f"logical_{n}", getattr(np, f"logical_{n}"), TRUTH, FLAGS) for n in ("and", "or")],
    binary("logical_xor", np.logical_xor, TRUTH, FLAGS),
    case("scalar", lambda x: topi.subtract(2, x), lambda x: 2 - x, X),
    case("scalar_ints", lambda x: topi.multiply(x, 3), lambda x: x * 3, INTS),
    case("mixed", topi.add, lambda a, b: a.astype("float32") + b, INTS, X),
    case("operators", lambda x, y: -(x + y) * 2 / 3 - y, lambda x, y: -(x + y) * 2 / 3 - y, X, ROW),
    case("reflected", lambda x: 1 - 2 / x, lambda x: 1 - 2 / x, POSITIVE),
    case(
        "to", lambda x: topi.broadcast_to(x, (2, 3, 5)), lambda x: x + np.zeros((2, 3, 5)), COLUMN
    ),
    case("where", topi.where, np.where, TRUTH, X, ROW),
    case("where_ints", topi.where, lambda c, x, y: np.where(c != 0, x, y), INTS, X, Y),
]


@pytest.mark.parametrize("one", CASES, ids=str)
def test_operator_computes_what_numpy_computes(one: Case) -> None:
    check(one)


def test_operator_of_numbers_is_an_expression() -> None:
    assert str(topi.add(te.var("n"), 1)) == "n + 1"


def test_symbolic_extent_meets_a_constant_one() -> None:
    n = te.var("n")
    out = topi.add(te.placeholder((n, 4)), te.placeholder((1, 4)))
    assert out.shape[0] is n


def test_broadcast_rejects_shapes_that_do_not_fit() -> None:
    with pytest.raises(
        DeclarationError, match=r"add cannot broadcast shapes \(3, 5\) and \(4, 5\)"
    ):
        topi.add(te.placeholder((3, 5)), te.placeholder((4, 5)))


def test_broadcast_to_rejects_a_smaller_shape() -> None:
    with pytest.raises(DeclarationError, match="broadcast_to"):
        topi.broadcast_to(te.placeholder((3, 5)), (1, 5))


def test_elementwise_rejects_what_is_no_tensor() -> None:
    with pytest.raises(DeclarationError, match=r"x of topi\.exp is 3, expected a Tensor"):
        topi.exp(3)


def test_prelu_rejects_a_slope_of_another_extent() -> None:
    with pytest.raises(DeclarationError, match=r"nn\.prelu"):
        topi.nn.prelu(te.placeholder((3, 5)), te.placeholder((4,)))
