"""Rows of text become functions: what they match, and what they build."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from te_sched.arith.facts import Facts
from te_sched.arith.rewrite import Rewriter
from te_sched.arith.rules import Row, RuleTable, apply, compile_row, parse_side
from te_sched.ir import expr as E
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.intrinsics import if_then_else
from tests.arith.brute import show

x, y, z = (Var(name) for name in "xyz")
TWO = IntImm(2)


def applied(pattern: str, result: str, e: E.Expr, when: str = "", **options: Any) -> str | None:
    found = compile_row(Row("r", pattern, result, when, **options))(e, Rewriter(Facts()))
    return None if found is None else show(found)


@pytest.mark.parametrize(
    ("pattern", "result", "e", "made"),
    [
        ("x + y", "y - x", E.Add(x, z), "(z - x)"),
        ("x + x", "x * 2", E.Add(x, x), "(x * 2)"),
        ("x + x", "x * 2", E.Add(x, y), None),
        ("(x + y) + y", "x", E.Add(E.Add(x, E.Mul(y, z)), E.Mul(y, z)), "x"),
        ("x + c1", "x - c1 * 3", E.Add(x, TWO), "(x - 6)"),
        ("x + c1", "x", E.Add(x, y), None),
        ("x // 2", "x", E.FloorDiv(x, IntImm(3)), None),
        ("x + y", "x", E.Sub(x, y), None),
        ("min(x, y) + z", "z", E.Add(E.Min(x, y), z), "z"),
        ("ite(x, y, z)", "z", if_then_else(x < 1, y, z), "z"),
        ("x < y", "True", E.LT(x, y), "1"),
        ("broadcast(x, n) + broadcast(y, n)", "broadcast(x + y, n)", None, "broadcast((x + y), 4)"),
    ],
)
def test_rows_match_and_build(pattern: str, result: str, e: Any, made: str | None) -> None:
    if e is None:
        e = E.Add(E.Broadcast(x, 4), E.Broadcast(y, 4))
    assert applied(pattern, result, e) == made


def test_lanes_are_the_same_number_everywhere() -> None:
    ramps = E.Add(E.Ramp(x, TWO, 4), E.Broadcast(y, 4))
    assert applied("ramp(x, y, n) + broadcast(z, m)", "x", ramps, "n == m") == "x"
    assert applied("ramp(x, y, n) + broadcast(z, m)", "x", ramps, "n < m") is None


def test_conditions_are_on_constants_and_bounds() -> None:
    e = E.Mul(x, IntImm(6))
    assert applied("x * c1", "x", e, "c1 % 3 == 0 and gcd(c1, 4) == 2") == "x"
    assert applied("x * c1", "x", e, "c1 < 0") is None
    assert applied("x * c1", "x", e, "low(x) >= 0") is None
    assert applied("x % y", "x", E.FloorMod(x, IntImm(0)), "not zero(y)") is None


def test_new_parts_are_rewritten_again() -> None:
    e = E.Add(E.Sub(x, y), z)
    assert applied("(x - y) + z", "(x + z) - z", e) == "((x + z) - z)"
    assert applied("(x - y) + z", "(x + z) - z", e, again=True) == "x"


def test_a_table_gives_the_rows_that_may_match() -> None:
    rows = [
        Row("sum", "(x - y) + z", "x"),
        Row("constant", "x + c1", "x"),
        Row("any", "x + y", "y"),
    ]
    table = RuleTable(rows)
    assert [len(table.rules(E.Sub, kind)) for kind in (Var, IntImm)] == [2, 3]
    assert len(table.rules(Var, Var)) == 1
    engine = Rewriter(Facts())
    e = E.Add(E.Sub(x, y), TWO)
    assert apply(table.rules(E.Sub, IntImm), e, engine) is x  # the first one
    assert apply((), e, engine) is None


def test_negative_numbers_are_constants() -> None:
    tree = parse_side("x * -1")
    assert isinstance(tree, ast.BinOp)
    assert isinstance(tree.right, ast.Constant)
    assert tree.right.value == -1
