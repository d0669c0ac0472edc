"""Sums of split parts: written as TVM writes them, and digits that are put together again."""

from __future__ import annotations

import pytest

from te_sched.arith.iter_expr import (
    IterSumExpr,
    NotAffine,
    collect,
    divided,
    merged,
    plus,
    simplified,
    split_multiples,
    split_of,
    sum_of,
    times,
    to_expr,
)
from te_sched.ir.expr import Add, Expr, IntImm, Mul, Var
from tests.arith.brute import show

x, y = Var("x"), Var("y")


def total(*terms: tuple[Expr, int], base: int = 0) -> IterSumExpr:
    return IterSumExpr(tuple([split_of(e).scaled(scale) for e, scale in terms]), base, "int32")


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
    assert show(sum_of({x: 1, y: 3}, 5, "int32")) == "(((y * 3) + x) + 5)"
    assert show(sum_of({x: -2, y: 3}, -5, "int32")) == "(((y * 3) - (x * 2)) - 5)"
    assert show(sum_of({x: -1}, 0, "int32")) == "(0 - x)"
    assert show(sum_of({x: 0}, 7, "int32")) == "7"


def test_negated_variable_stays_a_product() -> None:
    found = simplified(Mul(x, IntImm(-1)), {})
    assert found is not None
    assert show(found) == "(x * -1)"
    assert simplified(x * y, {}) is None


def test_digit_of_an_index_is_one_part() -> None:
    digit = split_of(x % 32 // 8 * 5)
    assert (digit.lower_factor, digit.scale) == (8, 5)
    assert show(digit.extent if isinstance(digit.extent, Expr) else IntImm(digit.extent)) == "4"
    assert split_of(x).is_whole


def test_remainder_that_the_quotient_does_not_divide_stays_whole() -> None:
    assert show(to_expr(total((x % 30 // 8, 1)))) == "((x % 30) // 8)"


def test_equal_parts_add_up_and_cancel() -> None:
    both = plus(total((x, 2), base=1), total((x, 3), (y, 1), base=4))
    assert show(to_expr(both)) == "(((x * 5) + y) + 5)"
    gone = plus(total((x, 2), base=1), total((x, 2), base=1), -1)
    assert show(to_expr(gone)) == "0"


def test_products_and_quotients_scale_each_part() -> None:
    assert show(to_expr(times(total((x, 2), base=3), 4))) == "((x * 8) + 12)"
    assert show(to_expr(times(total((x, 2), base=3), 0))) == "0"
    assert show(to_expr(divided(total((x, 8), base=12), 4))) == "((x * 2) + 3)"


def test_multiples_are_parted_from_the_rest() -> None:
    multiples, rest = split_multiples(total((x, 8), (y, 3), base=5), 4)
    assert (show(to_expr(multiples)), show(to_expr(rest))) == ("(x * 8)", "((y * 3) + 5)")


def test_digits_that_meet_become_one() -> None:
    coarse, fine = split_of(x // 4).scaled(4), split_of(x % 4)
    assert show(to_expr(IterSumExpr(tuple(merged((coarse, fine))), 0, "int32"))) == "x"
    assert len(merged((split_of(x // 4).scaled(5), fine))) == 2


def test_negative_parts_stand_last() -> None:
    assert show(to_expr(total((x, -2), (y, 3), base=-4))) == "(((y * 3) - (x * 2)) - 4)"
    assert show(to_expr(total((x, -1), base=5))) == "(5 - x)"


@pytest.mark.parametrize(
    ("e", "is_written"),
    [
        (x * 8 + y, True),
        (x * 8 + y + 3, True),
        (x * 8 + y - 3, True),
        (x * 4 + y * 4, True),
        (x, True),
        (x * -1 + y, False),
        (y + x * 8, False),
        (x * 8 + x, False),
        (x + 3 + y, False),
        (Add(x, IntImm(0)), False),
        (Mul(x, IntImm(1)), False),
    ],
    ids=str,
)
def test_a_sum_that_is_written_in_order_stays_the_same_object(e: Expr, is_written: bool) -> None:
    assert (simplified(e, {}) is e) == is_written
    assert e is x or simplified(e, {x: IntImm(2)}) is not e


def test_quotients_are_terms_of_a_sum_if_asked() -> None:
    scales: dict[Expr, int] = {}
    quotient = x // 3
    assert collect(quotient * 4 + y + 1, 2, scales, {}, lambda e: e) == 2
    assert scales == {quotient: 8, y: 2}
    with pytest.raises(NotAffine):
        collect(quotient * 4 + y + 1, 2, {}, {}, lambda e: None)
