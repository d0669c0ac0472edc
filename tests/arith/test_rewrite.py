"""Rewriting by rules, bounds and known conditions; test_tables checks the rules themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from te_sched import config
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.intrinsics import if_then_else
from tests.arith.brute import show

x, y, z = Var("x"), Var("y"), Var("z")
i = Var("i")  # 0 <= i < 8
f, g = Var("f", "float32"), Var("g", "float32")
p, q = Var("p", "bool"), Var("q", "bool")


def rewrite() -> Callable[[Any], Any]:
    analyzer = Analyzer()
    analyzer.bind(i, E.Range(IntImm(0), IntImm(8)))
    return analyzer.rewrite_simplify


@pytest.mark.parametrize(
    ("e", "made"),
    [
        (i // 8, "0"),
        (i % 8, "i"),
        ((x * 4 + 3) % 2, "1"),  # by its modular set
        (E.Min(i, IntImm(9)), "i"),
        (E.Max(i, IntImm(-1)), "i"),
        (E.GT(x, y), "(y < x)"),
        (E.LE(x, y), "(x <= y)"),
        (E.NE(i, IntImm(9)), "1"),
        (E.EQ(x + 1, x), "0"),
        (E.GE(i, IntImm(0)), "1"),
        (E.Not(E.EQ(x, y)), "(x != y)"),
        # As TVM rewrites them: a sum that begins with a constant stays as it is.
        (E.Add(IntImm(4), x), "(4 + x)"),
        (E.Add(E.Sub(IntImm(4), x), y), "((y - x) + 4)"),
        (x - y * 2, "(x + (y * -2))"),
        (E.Mul(IntImm(-1), y * 2), "(y * -2)"),
        (E.Mul(IntImm(3), x + 2), "((x * 3) + 6)"),
        (E.Mul(x, y * 2), "(x * (y * 2))"),
        (E.Mul(x, (y + z) * 2), "((x * (y + z)) * 2)"),
        (E.Mul(x, (y - z) * 2), "((x * (y - z)) * 2)"),
        (x + y * x, "(x * (y + 1))"),
        (E.Add(x + x, x + x), "(x * 4)"),
        (E.Add(E.Sub(IntImm(2), x), E.Add(IntImm(1), z)), "(((1 + z) - x) + 2)"),
        (E.Add(IntImm(2), E.Sub(IntImm(3), x)), "((3 - x) + 2)"),
        (E.Sub(IntImm(2), x + 3), "((-3 - x) + 2)"),
        (E.Sub(IntImm(0), x + 3), "(-3 - x)"),
        (E.Add(E.Sub(x, y), E.Sub(y, x)), "0"),
        (E.Sub(x + y, E.Add(x, E.Sub(z, y))), "((y * 2) - z)"),
        (E.Sub(x, E.Add(x, E.Sub(y, z))), "(z - y)"),
        (E.Sub(E.Max(x, y), E.Max(y, x)), "0"),
        (E.Sub(x, E.Min(x, IntImm(3))), "max(0, (x + -3))"),
        (E.Add(x + 4, E.Min(y, z)), "((min(y, z) + x) + 4)"),
        (E.Max(E.Max(x, y), E.Max(IntImm(3), y)), "max(max(x, y), 3)"),
        (E.Min(E.Sub(IntImm(2), x), E.Add(E.Sub(IntImm(0), x), IntImm(-1))), "(-1 - x)"),
        (E.Add(E.FloorMod(x * 3, IntImm(3)), x + y), "(x + y)"),
        (x * (y * 5 + 5), "((x * (y + 1)) * 5)"),
        (x * (IntImm(5) - y * 5), "((x * (1 - y)) * 5)"),
        (x * (y * 5 + 10), "(x * ((y * 5) + 10))"),
        (E.Min(x + y, x + i), "(min(y, i) + x)"),
        (E.Min(E.Min(E.Min(E.Min(x, y), i), z), y), "min(min(min(x, y), i), z)"),
        (E.Sub(f, f), "0.0"),
        (E.Sub(E.Add(f, g), f), "g"),
        (E.Let(x, i, x // 8), "0"),
        (E.Cast("int64", IntImm(3)), "3"),
        (E.Select(E.LT(i, IntImm(8)), x, y), "x"),
        (E.And(p, E.LT(i, IntImm(8))), "p"),
    ],
)
def test_what_is_known_is_used(e: E.Expr, made: str) -> None:
    assert show(rewrite()(e)) == made


def test_values_that_differ_are_not_equal_bounds() -> None:
    analyzer = Analyzer()
    with analyzer.constraint(E.NE(x, IntImm(5))):
        assert show(analyzer.simplify(E.LE(IntImm(5), x))) == "(5 < x)"
        assert show(analyzer.simplify(E.LE(x, IntImm(5)))) == "(x < 5)"


def test_what_is_called_twice_does_not_cancel() -> None:
    one = call_extern("float32", "f")
    assert type(rewrite()(E.Sub(one, one))) is E.Sub


def test_conditions_hold_in_their_branches() -> None:
    choice = if_then_else(x < 5, E.Min(x, IntImm(9)), E.Max(x, IntImm(4)))
    assert show(rewrite()(choice)) == "if_then_else((x < 5), x, max(x, 4))"
    inner = E.Select(x < 5, E.Select(x < 7, x, y), y)
    assert show(rewrite()(inner)) == "select((x < 5), x, y)"


def test_results_are_kept_until_facts_change() -> None:
    analyzer = Analyzer()
    e = E.LT(x, IntImm(10))
    assert analyzer.rewrite_simplify(e) is analyzer.rewrite_simplify(e)
    assert type(analyzer.rewrite_simplify(e)) is E.LT
    with analyzer.constraint(x < 3):
        assert show(analyzer.rewrite_simplify(e)) == "1"
    assert type(analyzer.rewrite_simplify(e)) is E.LT


def test_deep_expressions_are_left_alone() -> None:
    e: E.Expr = x
    for _ in range(60):
        e = E.Add(E.Mul(e, IntImm(2)), IntImm(0))
    assert rewrite()(e).dtype == "int32"


def test_lanes_are_rewritten_too() -> None:
    ramp = E.Add(E.Ramp(x, IntImm(1), 4), E.Broadcast(y, 4))
    assert show(rewrite()(ramp)) == "ramp((x + y), 1, 4)"
    assert show(rewrite()(E.FloorDiv(E.Ramp(i * 4, IntImm(1), 4), ops.const(4, "int32x4")))) == (
        "broadcast(i, 4)"
    )


def test_quotients_and_remainders_make_a_number() -> None:
    both = ops.logical_and(ops.equal(x // 4, 1), ops.equal(x % 4, 2))
    assert str(rewrite()(both)) == "x == 6"
    assert str(rewrite()(ops.logical_and(ops.equal(x % 4, 0), ops.equal(x // 4, 0)))) == "x == 0"
    other = ops.logical_and(ops.equal(x // 4, 1), ops.equal(y % 4, 2))
    assert str(rewrite()(other)) == "x // 4 == 1 and y % 4 == 2"


def test_the_smaller_of_equal_elements() -> None:
    for dtype, kept in (("int32", "A[0]"), ("float32", "T.min(A[0], A[0])")):
        buffer = decl_buffer((4,), dtype, "A")
        assert str(rewrite()(ops.minimum(buffer[0], buffer[0]))) == kept


@pytest.mark.parametrize(
    ("known", "e", "made"),
    [
        (ops.not_equal(x, 0), x <= 0, "x < 0"),
        (ops.not_equal(x, 0), x >= 0, "0 < x"),
        (ops.not_equal(x, y), x <= y, "x < y"),
        (ops.not_equal(y, x), x < y + 1, "x < y"),
        (ops.not_equal(x, 0), x * 2 <= 0, "x < 0"),
        (ops.not_equal(x, 3), x < 4, "x < 4"),  # as in TVM
    ],
)
def test_what_is_not_equal_is_less_or_greater(known: E.Expr, e: E.Expr, made: str) -> None:
    analyzer = Analyzer()
    with analyzer.constraint(known):
        assert str(analyzer.simplify(e)) == str(analyzer.rewrite_simplify(e)) == made


def test_equal_numbers_differ_from_the_same() -> None:
    z = Var("z")
    facts = ops.logical_and(ops.equal(x, y), ops.not_equal(y, z))
    for transitively, made in ((True, "T.bool(True)"), (False, "x != z")):
        analyzer = Analyzer(config.Lowering(prove_transitively=transitively))
        with analyzer.constraint(facts):
            assert str(analyzer.simplify(ops.not_equal(x, z))) == made
