"""Operators of two tensors, broadcast as in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import te, topi
from te_sched.errors import DeclarationError
from tests.topi.numbers import COLUMN, FLAGS, INTS, OTHERS, POSITIVE, ROW, TRUTH, X, Y
from tests.topi.running import Case, case, check


def binary(name: str, reference: Any, *arrays: Any) -> Case:
    return case(name, getattr(topi, name), reference, *arrays)


CASES = [
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
    case("where", topi.where, np.where, TRUTH, X, ROW),
    case("where_ints", topi.where, lambda c, x, y: np.where(c != 0, x, y), INTS, X, Y),
]


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


@pytest.mark.parametrize("one", CASES, ids=str)
def test_computes_what_numpy_computes(one: Case) -> None:
    check(one)
