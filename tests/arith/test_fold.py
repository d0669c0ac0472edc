"""Constants and neutral operands."""

from __future__ import annotations

import math

import pytest

from te_sched.arith.fold import fold, fold_call, fold_comparison
from te_sched.ir import expr as E
from te_sched.ir import intrinsics
from te_sched.ir.expr import FloatImm, IntImm, Var
from tests.arith.brute import show

x, f = Var("x"), Var("f", "float32")


def number(value: float) -> FloatImm:
    return FloatImm(value, "float32")


@pytest.mark.parametrize(
    ("e", "folded"),
    [
        (E.Add(IntImm(2), IntImm(3)), "5"),
        (E.FloorDiv(IntImm(-7), IntImm(2)), "-4"),
        (E.Div(IntImm(-7), IntImm(2)), "-3"),
        (E.Add(x, IntImm(0)), "x"),
        (E.Mul(x, IntImm(1)), "x"),
        (E.Max(IntImm(2), IntImm(3)), "3"),
    ],
    ids=str,
)
def test_integers(e: E.Expr, folded: str) -> None:
    assert show(fold(e, True)) == show(fold(e, False)) == folded


def test_what_is_not_constant_stays() -> None:
    assert fold(E.Add(x, IntImm(2)), False) is None
    assert fold(E.Add(x, x), False) is None


def test_neutral_zero_is_for_real_numbers_alone() -> None:
    assert fold(E.Add(f, number(0.0)), False) is f  # -0.0 + 0.0 is 0.0
    assert fold(E.Add(f, number(0.0)), True) is None
    assert fold(E.Mul(f, number(1.0)), True) is f


def test_floats_are_rounded_to_their_type() -> None:
    third = fold(E.Div(number(1.0), number(3.0)), False)
    assert third.value == 0.3333333432674408
    assert fold(E.Mul(number(3e38), number(10.0)), False).value == math.inf


def test_division_by_a_number_is_a_product_with_its_reciprocal() -> None:
    assert show(fold(E.Div(f, number(4.0)), True)) == "(f * 0.25)"
    assert fold(E.Div(f, number(1e-42)), True) is None
    assert fold(E.Div(number(1.0), number(0.0)), False) is None


def test_comparisons_of_constants() -> None:
    assert fold_comparison(E.LT, IntImm(2), IntImm(3)).value == 1
    assert fold_comparison(E.LE, number(3.0), number(2.0)).value == 0
    assert fold_comparison(E.EQ, IntImm(2), x) is None


@pytest.mark.parametrize(("value", "folded"), [(1.0, 0.0), (14.0, 4.0), (16.0, 4.0), (17.0, 5.0)])
def test_logarithm_of_a_number_is_rounded_up(value: float, folded: float) -> None:
    call = intrinsics.ceil(intrinsics.log2(FloatImm(value, "float64")))
    assert isinstance(call, E.Call)
    found = fold_call(call)
    assert isinstance(found, FloatImm)
    assert found.value == folded


@pytest.mark.parametrize("value", [0.0, -2.0, 1.5, math.inf, math.nan])
def test_other_logarithms_stay(value: float) -> None:
    call = intrinsics.ceil(intrinsics.log2(FloatImm(value, "float64")))
    assert fold_call(call) is None
