"""Arithmetic on numbers and symbols, and steps of detection; test_iter_map has whole maps."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.iter_detect import Detector, Dividing, IterMapLevel, Prover, expr_of, is_number
from te_sched.arith.iter_expr import IterMark, IterSplitExpr, IterSumExpr
from te_sched.ir.expr import Expr, IntImm, Range, Var

x, y, n, m = (Var(name) for name in "xynm")


def detector(**extents: int) -> Detector:
    variables = {var.name: var for var in (x, y)}
    iters = {variables[name]: Range(IntImm(0), IntImm(size)) for name, size in extents.items()}
    level = IterMapLevel.BIJECTIVE
    return Detector(iters, level, Prover(None), False, Dividing.WHOLE)


def test_numbers_are_simplified() -> None:
    prover = Prover(Analyzer())
    assert prover.number(IntImm(3) + 4) == 7
    assert prover.number(n * 2 - n) is n
    assert is_number(3, 3)
    assert not is_number(n, 3)


@pytest.mark.parametrize(
    ("a", "b", "is_it"), [(3, 3, True), (n * m, m * n, True), (n + 1, n, False), (n, m, False)]
)
def test_equality(a: Any, b: Any, is_it: bool) -> None:
    assert Prover(None).is_equal(a, b) == is_it


@pytest.mark.parametrize(
    ("a", "b", "is_it"),
    [(4, 3, True), (n + 1, n, True), (n * m, n, True), (n, m, False), (n, n * 2, False)],
)
def test_order_of_sizes(a: Any, b: Any, is_it: bool) -> None:
    assert Prover(None).is_at_least(a, b) == is_it


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [(12, 4, 3), (12, 5, None), (n * 4, 4, "n"), (n * m, m, "n"), (n, 2, None), (0, n, 0)],
)
def test_quotients_are_exact_or_none(a: Any, b: Any, result: Any) -> None:
    found = Prover(None).quotient(a, b)
    assert (str(found) if isinstance(found, Expr) else found) == result


def test_scales_continue_values_once_or_repeat_them() -> None:
    continuing = Prover(None).continuing
    assert continuing([2, 4, 8, None], 4) == 1
    assert continuing([8, 2, 3, 3], 4) == 2
    assert continuing([8, n], 4) is None
    analyzer = Analyzer()
    analyzer.mark_nonnegative(n)
    assert continuing([n, n * 3, n * 8], n * 4) is None
    assert Prover(analyzer).continuing([n, n * 3, n * 8], n * 4) == 1


def test_rounding_up_and_extremes() -> None:
    prover = Prover(None)
    assert (prover.ceildiv(13, 4), prover.ceildiv(n * 4, 4)) == (4, n)
    assert (prover.least(None, 3), prover.least(5, 3), prover.most(None, 3), prover.most(5, 3)) == (
        *(3, 3, 3, 5),
    )
    assert prover.least(n, n + 1) is n


def test_parts_are_expressions_again() -> None:
    mark = IterMark(x, 12)
    assert str(expr_of(IterSplitExpr(mark, 4, 3))) == "x // 4"
    assert str(expr_of(IterSplitExpr(mark, 2, 3, 5))) == "x % 6 // 2 * 5"
    assert expr_of(IterSumExpr((), 7)) == 7
    assert str(expr_of(IterSumExpr((IterSplitExpr(mark, 1, 12),), -2))) == "x + -2"


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (x // 4 * 8 + x % 4, "x // 4 * 8 + x % 4"),
        (x + y * 12 - 3, "y * 12 + x - 3"),
        (x - x, "0"),
        (x % 24, "x"),
    ],
)
def test_sums_of_parts(index: Expr, text: str) -> None:
    found = expr_of(detector(x=12, y=5).sum_of(index))
    assert sorted(str(found).replace(" - ", " + -").split(" + ")) == sorted(
        text.replace(" - ", " + -").split(" + ")
    )


@pytest.mark.parametrize(
    ("indices", "is_map"),
    [([x, y], True), ([x * 5 + y], True), ([x + y], False), ([x // 5], False), ([x * y], False)],
)
def test_detection_gives_sums_or_reasons(indices: list[Expr], is_map: bool) -> None:
    found = detector(x=12, y=5).detect(indices, None)
    assert bool(found.indices) == is_map
    assert bool(found.errors) == (not is_map)


def test_iterators_without_values_are_no_map() -> None:
    found = detector(x=0, y=5).detect([x, y], None)
    assert found.errors == ("an iterator has no values",)
