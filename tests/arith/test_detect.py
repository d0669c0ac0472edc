"""Detecting linear expressions."""

from __future__ import annotations

from te_sched.arith.detect import detect_linear_equation
from te_sched.ir import expr as E
from tests.arith.brute import show

x, y, n = (E.Var(name) for name in "xyn")


def test_coefficients_may_be_symbolic() -> None:
    found = detect_linear_equation(x * n + y * 4 + 3, (x, y))
    assert found is not None
    assert [show(part) for part in found] == ["n", "4", "3"]


def test_absent_variables_have_coefficient_zero() -> None:
    found = detect_linear_equation(n + 1, (x,))
    assert found is not None
    assert [show(part) for part in found] == ["0", "(n + 1)"]


def test_products_and_divisions_are_not_linear() -> None:
    assert detect_linear_equation(x * x, (x,)) is None
    assert detect_linear_equation(x // 2, (x,)) is None
    assert detect_linear_equation(x * y, (x, y)) is None
