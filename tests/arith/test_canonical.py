"""Canonical forms: digits of sums, divisions and comparisons, without the rules' help."""

from __future__ import annotations

import itertools

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.canonical import Canonicalizer
from te_sched.arith.facts import Facts
from te_sched.arith.rewrite import Rewriter
from te_sched.config import TO_RUN
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir.expr import Expr, FloatImm, IntImm, Range, Select, Var
from tests.arith.brute import show, value

x, y, i = Var("x"), Var("y"), Var("i")  # 0 <= i < 8


def canonicalizer() -> Canonicalizer:
    facts = Facts()
    facts.bounds.bind(i, Range(IntImm(0), IntImm(8)))
    return Canonicalizer(facts)


FORMS = [
    ((x * 8 + i) // 8, "x"),
    ((x * 8 + i) % 8, "i"),
    ((x * 8 + i) // 4, "((x * 2) + (i // 4))"),
    ((x * 6 + 7) // 3, "((x * 2) + 2)"),
    (x // 4 * 4 + x % 4, "x"),
    (x // 2 % 4 * 2 + x % 2, "(x % 8)"),
    ((x + 9) % 4, "((x + 1) % 4)"),
    ((x + y) * 3 - x * 3, "(y * 3)"),
    (E.Div(x * 8 + i, IntImm(8)), "(((x * 8) + i) / 8)"),  # x may be negative
    (x * -2 - x, "(0 - (x * 3))"),
    (E.Mul(x + x, IntImm(-2)), "(0 - (x * 4))"),
    (x * -3, "(x * -3)"),
    (E.Mul(E.Sub(x, x), y), "0"),
    (E.Sub(E.Max(x, x), x + 3), "-3"),
    (x * 8 + i < y * 8, "((x - y) < 0)"),
]


@pytest.mark.parametrize(("e", "expected"), FORMS, ids=[show(e) for e, _ in FORMS])
def test_forms(e: E.Expr, expected: str) -> None:
    assert show(canonicalizer().visit(e)) == expected


@pytest.mark.parametrize("e", [e for e, _ in FORMS], ids=show)
def test_forms_have_the_same_value(e: E.Expr) -> None:
    form = canonicalizer().visit(e)
    for numbers in itertools.product((-5, -1, 0, 3), (-4, 1), (0, 3, 7)):
        env = dict(zip((x, y, i), numbers, strict=True))
        assert value(form, env) == value(e, env)


@pytest.mark.parametrize("e", [e for e, _ in FORMS], ids=show)
def test_forms_of_forms_are_the_same(e: E.Expr) -> None:
    found = canonicalizer()
    form = found.visit(e)
    assert show(found.visit(form)) == show(form)


@pytest.mark.parametrize("kind", [E.FloorDiv, E.FloorMod, E.Div, E.Mod])
@pytest.mark.parametrize("scale", [-3, -2, -1, 2])
def test_divisions_of_scaled_digits_have_the_same_value(kind: type, scale: int) -> None:
    """x // 2 * -1 // 2 is not x // -4, as TVM has it, since it rounds down and then up."""
    found = canonicalizer()
    for lower, extent, divisor in itertools.product((1, 2, 3), (None, 2, 3, 4, 6), (2, 3, 4, 6)):
        digit = E.FloorDiv(x, IntImm(lower))
        part = digit if extent is None else E.FloorMod(digit, IntImm(extent))
        e = kind(part * scale, IntImm(divisor))
        form = found.visit(e)
        assert all(value(form, {x: n}) == value(e, {x: n}) for n in range(-25, 26)), show(e)


def test_known_orders_are_negations_unless_they_are_run() -> None:
    """As in TVM, which shows them in sizes of flat buffers."""
    at_least = E.Select(E.LE(IntImm(0), i), x, y)
    assert show(canonicalizer().visit(at_least)) == show(E.Select(E.Not(IntImm(0, "bool")), x, y))
    facts = Facts(TO_RUN)
    facts.bounds.bind(i, Range(IntImm(0), IntImm(8)))
    assert Canonicalizer(facts).visit(at_least) is x


def test_choices_with_one_value_are_that_value() -> None:
    simplify = Analyzer().simplify
    inner = Select(y < 4, x + 3 - 1, 1 + x + 1)
    assert str(simplify(Select(x < y, x + 2, inner))) == "x + 2"
    assert str(simplify(Select(x < y, inner, x + 2))) == "x + 2"
    other = simplify(Select(x < y, x + 2, Select(y < 4, x + 2, x + 1)))
    assert str(other) == "T.Select(x < y, x + 2, T.Select(y < 4, x + 2, x + 1))"
    decided = Select(x < y, x + 2, Select(E.LT(IntImm(0), IntImm(1)), x + 2, x + 1))
    assert str(simplify(decided)) == "x + 2"


def test_nested_choices_are_visited_once_for_each_simplification(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = []
    original = Rewriter.visit_Select

    def visit(self: Rewriter, e: Select) -> object:
        counts.append(e)
        return original(self, e)

    monkeypatch.setattr(Rewriter, "visit_Select", visit)
    e: Expr = FloatImm(1.0)
    for k in range(30):
        e = Select(ops.equal(x, k), FloatImm(float(k)), e)
    Analyzer().simplify(e)
    assert len(counts) <= 60
