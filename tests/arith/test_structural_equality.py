"""Whether expressions are written alike."""

from __future__ import annotations

import pytest

from te_sched.arith.structural_equality import all_same, same
from te_sched.ir.expr import Call, Cast, FloatImm, IntImm, Var
from tests.lower.build import read, temporary

x, y = Var("x"), Var("y")
A, B = temporary("A", 8), temporary("A", 8)


def test_equal_trees_are_the_same() -> None:
    assert same((x + 1) * read(A, y), (x + 1) * read(A, y))
    assert same(Call("int32", "tir.f", (x, y)), Call("int32", "tir.f", (x, y)))


def test_nan_is_nan() -> None:
    assert same(FloatImm(float("nan")), FloatImm(float("nan")))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (x, Var("x")),
        (x + y, y + x),
        (x + y, x - y),
        (IntImm(1), IntImm(1, "int64")),
        (IntImm(1), FloatImm(1.0)),
        (FloatImm(0.0), FloatImm(-0.0)),
        (FloatImm(0.0), FloatImm(0.0, "float64")),
        (FloatImm(0.0), FloatImm(float("nan"))),
        (read(A, x), read(B, x)),
        (Cast("int64", x), Cast("int16", x)),
        (Call("int32", "tir.f", (x,)), Call("int32", "tir.g", (x,))),
        (Call("int32", "tir.f", (x,)), Call("int32", "tir.f", (x, y))),
    ],
    ids=str,
)
def test_rejects_what_differs(a: object, b: object) -> None:
    assert not same(a, b)


def test_sequences_need_one_length() -> None:
    assert all_same((x, x + 1), (x, x + 1))
    assert not all_same((x,), (x, x))
