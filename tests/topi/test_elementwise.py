"""Elementwise and broadcasting operators compute what numpy computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.numbers import ABOVE, COLUMN, INTS, POSITIVE, ROW, TRUTH, UNIT, X, Y
from tests.topi.running import Case, case, check

SPECIAL = np.array([0, np.nan, np.inf, -np.inf, 2.5], "float32")


def unary(name: str, reference: Any, array: Any) -> Case:
    return case(name, getattr(topi, name), reference, array)


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
    case("scalar", lambda x: topi.subtract(2, x), lambda x: 2 - x, X),
    case("scalar_ints", lambda x: topi.multiply(x, 3), lambda x: x * 3, INTS),
    case("mixed", topi.add, lambda a, b: a.astype("float32") + b, INTS, X),
    case("operators", lambda x, y: -(x + y) * 2 / 3 - y, lambda x, y: -(x + y) * 2 / 3 - y, X, ROW),
    case("reflected", lambda x: 1 - 2 / x, lambda x: 1 - 2 / x, POSITIVE),
    case(
        "to", lambda x: topi.broadcast_to(x, (2, 3, 5)), lambda x: x + np.zeros((2, 3, 5)), COLUMN
    ),
]


def test_operator_of_numbers_is_an_expression() -> None:
    assert str(topi.add(te.var("n"), 1)) == "n + 1"


def test_elementwise_rejects_what_is_no_tensor() -> None:
    with pytest.raises(DeclarationError, match=r"x of topi\.exp is 3, expected a Tensor"):
        topi.exp(3)


LAYERS = [
    case("fast_exp", topi.fast_exp, np.exp, X),
    case("fast_tanh", topi.fast_tanh, np.tanh, X),
    case(
        "ceil_log2",
        topi.ceil_log2,
        lambda x: np.ceil(np.log2(x)),
        np.array([1, 3, 4, 5, 1000], "float32"),
    ),
]


@pytest.mark.parametrize("one", [*LAYERS, *CASES], ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
