"""Comparisons of sums with numbers: the short way gives what the three steps give."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.comparisons import Comparisons
from te_sched.arith.facts import Facts
from te_sched.arith.full import Simplifier
from te_sched.config import AS_TVM
from te_sched.ir.expr import GE, GT, LE, LT, NE, Add, FloorDiv, FloorMod, IntImm, Mul, Range, Var
from te_sched.ir.term_keys import same
from tests.arith.brute import show

x, y = Var("x"), Var("y")
i, j = Var("i"), Var("j")  # 0 <= i < 8, 0 <= j < 16
NUMBERS = (-5, -1, 0, 0, 1, 1, 2, 3, 7, 8, 16, 31, 32, 64, 100, 190)
SETTINGS = (AS_TVM, AS_TVM, replace(AS_TVM, as_older=True), replace(AS_TVM, to_run=True))


def comparisons() -> Comparisons:
    facts = Facts()
    for var, extent in ((i, 8), (j, 16)):
        facts.bounds.bind(var, Range(IntImm(0), IntImm(extent)))
    return Comparisons(Simplifier(facts))


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (i + x * 8 < 60, "(((x * 8) + i) < 60)"),
        (x * 16 + j >= 1, "(1 <= ((x * 16) + j))"),
        ((x * 66 + j) // 6 < 1, None),  # x * 11 + j // 6 < 1
        ((x * 66 + j) // 4 < 1, "(((x * 66) + j) < 4)"),
        ((x * 2 + 1) // 7 < 1, "(x < 3)"),
        (x * 16 <= 0, "(x <= 0)"),
        (j * 16 <= 0, "(j == 0)"),
        ((x * 64 + y) // 20 <= 0, "(((x * 64) + y) <= 19)"),
        (x * 8 + i < 64, None),  # x < 8
        (x - y < 3, None),
        (i < 8, "1"),
        (x * x < 3, None),
        (x < y, None),
    ],
    ids=str,
)
def test_form(e: Any, expected: str | None) -> None:
    form = comparisons().form(e)
    assert (None if form is None else show(form)) == expected


def test_conditions_that_hold_decide() -> None:
    analyzer = Analyzer()
    with analyzer.constraint(analyzer.simplify(x * 8 + y < 60)):
        assert analyzer.can_prove(y + x * 8 < 61)
        assert analyzer.can_prove(y + x * 8 < 60)
        assert not analyzer.can_prove(y + x * 8 < 59)


def test_a_sum_that_differs_from_the_number_is_not_at_most_it() -> None:
    analyzer = Analyzer()
    with analyzer.constraint(NE(x, IntImm(3))):
        assert str(analyzer.simplify(x <= 3)) == "x < 3"


def term(draw: random.Random, variables: Sequence[Var]) -> Any:
    e: Any = draw.choice(variables)
    kind = draw.random()
    if kind < 0.4:
        e = Add(Mul(e, IntImm(draw.choice((1, 2, 4, 64)))), draw.choice(variables))
    if kind < 0.6:
        e = (FloorDiv if draw.random() < 0.6 else FloorMod)(e, IntImm(draw.choice((2, 3, 4, 28))))
    return e * draw.choice((1, 1, 1, 2, 3, 4, 8, 16, -1))


def comparison(draw: random.Random, variables: Sequence[Var]) -> Any:
    e = term(draw, variables)
    for _ in range(draw.randrange(3)):
        e = e + term(draw, variables)
    if draw.random() < 0.3:
        e = e + draw.randint(-9, 40)
    if draw.random() < 0.3:
        e = FloorDiv(e, IntImm(draw.choice((2, 3, 5, 7, 8, 16, 33))))
    operands = [e, IntImm(draw.choice(NUMBERS))]
    draw.shuffle(operands)
    return draw.choice((LT, LE, GT, GE))(*operands)


def bound(draw: random.Random, variables: Sequence[Var]) -> Analyzer:
    """An analyzer with ranges of variables: of numbers, of another variable, or none."""
    analyzer = Analyzer(draw.choice(SETTINGS))
    for var in variables:
        extent: Any = IntImm(draw.choice((1, 2, 4, 7, 8, 16, 33, 64)))
        if draw.random() < 0.1 and var is not variables[0]:
            extent = variables[0]
        if draw.random() < 0.75:
            analyzer.bind(var, Range(IntImm(draw.choice((0, 0, 0, 1, -3))), extent))
    return analyzer


@pytest.mark.parametrize("seed", range(8))
def test_the_short_way_ends_where_the_steps_end(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    short_way, pairs = Comparisons.form, []

    def both_ways(self: Any, e: Any) -> Any:
        form = short_way(self, e)
        if form is not None:
            simplifier = self._simplifier
            decided = None if simplifier.facts.differences else simplifier.decided(e)
            pairs.append((e, form, simplifier.in_steps(e) if decided is None else decided))
        return form

    monkeypatch.setattr(Comparisons, "form", both_ways)
    draw = random.Random(seed)
    for _ in range(100):
        variables = [Var(name) for name in "ijkx"]
        analyzer = bound(draw, variables)
        with ExitStack() as scope:
            if draw.random() < 0.4:
                fact = analyzer.simplify(comparison(draw, variables))
                if type(fact) is not IntImm:  # one that does not hold proves anything
                    scope.enter_context(analyzer.constraint(fact))
            for _ in range(6):
                analyzer.simplify(comparison(draw, variables))
    assert len(pairs) > 80
    assert [pair for pair in pairs if not same(pair[1], pair[2])] == []
