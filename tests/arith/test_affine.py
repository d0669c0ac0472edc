"""Sums of scaled variables."""

from __future__ import annotations

import pytest

from te_sched.arith.affine import NotAffine, collect, is_negated, simplified, total
from te_sched.ir.expr import IntImm, Mul, Var
from tests.arith.brute import show

x, y = Var("x"), Var("y")


def test_scales_and_constant_are_collected() -> None:
    scales: dict[Var, int] = {}
    assert collect((x - y * 2 + 3) * 5, 2, scales, {}) == 30
    assert scales == {x: 10, y: -20}


def test_known_values_stand_for_variables() -> None:
    scales: dict[Var, int] = {}
    assert collect(x * 3, 1, scales, {x: y + 2}) == 6
    assert scales == {y: 3}


@pytest.mark.parametrize("e", [x * y, x // 2, x % 2, (x < y).astype("int32")])
def test_other_expressions_are_not_affine(e: object) -> None:
    with pytest.raises(NotAffine):
        collect(e, 1, {}, {})


def test_order_of_a_sum() -> None:
    assert show(total({x: 1, y: 3}, 5, "int32")) == "(((y * 3) + x) + 5)"
    assert show(total({x: -2, y: 3}, -5, "int32")) == "(((y * 3) - (x * 2)) - 5)"
    assert show(total({x: -1}, 0, "int32")) == "(0 - x)"
    assert show(total({x: 0}, 7, "int32")) == "7"


def test_negated_variable_stays_a_product() -> None:
    negated = Mul(x, IntImm(-1))
    assert is_negated(negated)
    assert not is_negated(Mul(x, IntImm(-2)))
    assert show(simplified(negated, {})) == "(x * -1)"
    assert simplified(x * y, {}) is None
