"""Rows of text become functions: what they match, and what they build."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.facts import Facts
from te_sched.arith.rewrite import Rewriter
from te_sched.arith.rules import Row, RuleTable, apply, compile_row, rows_of
from te_sched.config import AS_TVM, Lowering
from te_sched.ir import expr as E
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.intrinsics import if_then_else
from tests.arith.brute import show

x, y, z = (Var(name) for name in "xyz")
TWO = IntImm(2)


def applied(
    pattern: str,
    result: str,
    e: E.Expr,
    when: str = "",
    settings: Lowering = AS_TVM,
    **options: Any,
) -> str | None:
    found = compile_row(Row(pattern, result, when, **options))(e, Rewriter(Facts(settings)))
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


def test_newer_rows_are_off_where_the_older_lowering_is_asked_for() -> None:
    e = E.Add(x, y)
    assert applied("x + y", "x", e, "newer()") == "x"
    older = Lowering(as_older=True)
    assert applied("x + y", "x", e, "newer()", older) is None
    assert applied("x + y", "x", e, settings=older) == "x"


def test_a_table_gives_the_rows_that_may_match() -> None:
    text = """
        (x - y) + z -> x
        x + c1 -> x
        x * y -> x
        x + y -> y
    """
    table = RuleTable(Add=text, Mul=text)
    assert [len(table.rules(E.Add, E.Sub, kind)) for kind in (Var, IntImm)] == [2, 3]
    assert len(table.rules(E.Add, Var, Var)) == len(table.rules(E.Mul, Var, Var)) == 1
    engine = Rewriter(Facts())
    e = E.Add(E.Sub(x, y), TWO)
    assert apply(table.rules(E.Add, E.Sub, IntImm), e, engine) is x  # the first one
    assert apply((), e, engine) is None


def test_lines_are_rows() -> None:
    text = """
        x + c1 => x
            if c1 > 0
        # a remark
        [min([x + y], z)] -> z
        dual min(x, y) - y -> 0 if max(x, y) == y
    """
    assert [str(row) for row in rows_of(text)] == [
        "x + c1 => x if c1 > 0",
        "min(x + y, z) -> z",
        "min(y + x, z) -> z",
        "min(z, x + y) -> z",
        "min(z, y + x) -> z",
        "min(x, y) - y -> 0 if max(x, y) == y",
        "max(x, y) - y -> 0 if min(x, y) == y",
    ]


def test_negative_numbers_are_constants() -> None:
    e = E.FloorDiv(x, IntImm(-1))
    assert applied("x // -1", "x * -1", e) == "(x * -1)"
    assert applied("x // -1", "x * -1", E.FloorDiv(x, IntImm(1))) is None
