"""Whether expressions are the same term, and their keys."""

from __future__ import annotations

import math

import pytest

from te_sched.ir.expr import Call, Cast, Expr, FloatImm, IntImm, Var
from te_sched.ir.term_keys import all_same, own_key, same, term_key
from tests.lowering.build import read, temporary

x, y = Var("x"), Var("y")
A, B = temporary("A", 8), temporary("A", 8)


def test_equal_trees_are_the_same() -> None:
    assert same((x + 1) * read(A, y), (x + 1) * read(A, y))
    assert same(Call("int32", "tir.f", (x, y)), Call("int32", "tir.f", (x, y)))


def test_nan_is_nan() -> None:
    assert same(FloatImm(math.nan), FloatImm(math.nan))
    assert not same(FloatImm(math.nan), FloatImm(-math.nan))


DIFFERENT = [
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
]


@pytest.mark.parametrize(("a", "b"), DIFFERENT, ids=str)
def test_rejects_what_differs(a: Expr, b: Expr) -> None:
    assert not same(a, b)
    assert term_key(a) != term_key(b)


def test_keys_are_equal_for_equal_expressions_only() -> None:
    def value(index: Expr) -> Expr:
        return read(A, index * 2 + 1) + 1

    assert term_key(value(x)) == term_key(value(x))
    assert term_key(value(x)) != term_key(value(y))
    assert len({term_key(x + 1), term_key(x + 1), term_key(x + 2)}) == 2


def test_own_keys_leave_out_the_parts() -> None:
    assert own_key(x + 1) == own_key(y + 2) != own_key(x - 1)
    assert own_key(Cast("int64", x)) == own_key(Cast("int64", y)) != own_key(Cast("int16", x))
    assert own_key(read(A, x)) == own_key(read(A, y)) != own_key(read(B, x))
    assert own_key(x) != own_key(y)


def test_sequences_need_one_length() -> None:
    assert all_same((x, x + 1), (x, x + 1))
    assert not all_same((x,), (x, x))
