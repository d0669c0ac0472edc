"""Literals of TVMScript, and parentheses; test_script has the nodes."""

from __future__ import annotations

import math

import pytest

import te_sched
from te_sched.ir import expr as E
from te_sched.ir.expr import Var
from te_sched.ir.printer.script_expr import float_text, quoted

x, y, z = (Var(name) for name in "xyz")


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain", '"plain"'),
        ('a"b\\', '"a\\"b\\\\"'),
        ("\t\r\n", '"\\t\\r\\x0A"'),
        ("é", '"\\xC3\\xA9"'),
    ],
)
def test_strings_are_quoted(text: str, literal: str) -> None:
    assert quoted(text) == literal


@pytest.mark.parametrize("value", [0.1, 1.0, -2.5e-300, 1e22, 2.0**-1074])
def test_numbers_are_given_back_exactly(value: float) -> None:
    assert float(float_text(value)) == value


def test_numbers_without_digits_are_strings() -> None:
    found = [float_text(value) for value in (math.nan, math.inf, -math.inf, 0.0, -0.0)]
    assert found == ['"nan"', '"inf"', '"-inf"', "0", "-0.0"]


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (E.Sub(x, E.Sub(y, z)), "x - (y - z)"),
        (E.Sub(E.Sub(x, y), z), "x - y - z"),
        (E.Mul(E.Add(x, y), z), "(x + y) * z"),
        (E.FloorDiv(x, E.Mul(y, z)), "x // (y * z)"),
        (E.And(E.Or(x < y, y < z), x < z), "(x < y or y < z) and x < z"),
        (E.Not(E.LT(x, y)), "not x < y"),
    ],
)
def test_parentheses_where_they_are_needed(e: E.Expr, text: str) -> None:
    assert str(e) == text


def test_what_a_let_expression_uses_is_declared_in_tvms_order() -> None:
    """The value's, the variable, then what is inside of the expression."""
    source = """@T.prim_func(private=True)
def main(A: T.handle("float32", "global"), B: T.handle("float32", "global"), C: T.Buffer((8,))):
    for i in range(8):
        B_1 = T.Buffer((8,), data=B)
        j = T.int32()
        A_1 = T.Buffer((8,), data=A)
        C[i] = T.Let(A_1[j], where={j: T.Cast("int32", B_1[i])})"""
    func = te_sched.script.from_source(source)
    assert [line.split()[0] for line in func.script().splitlines()[-5:]] == [
        "for", "B_1_1", "j", "A_1_1", "C[i]"
    ]  # fmt: skip
    te_sched.ir.assert_structural_equal(func, te_sched.script.from_source(func.script()))
