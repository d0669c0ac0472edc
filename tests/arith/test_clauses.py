"""Conditions as clauses: the same value, fewer literals, and guards stay before what they guard."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.clauses import Clauses
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import And, Expr, IntImm, Or, Var
from te_sched.ir.visitor import substitute

i, j, k = Var("i"), Var("j"), Var("k")
A = decl_buffer((8,), "bool", name="A")
B = decl_buffer((8,), "int32", name="B")


def rewritten(e: Any) -> str:
    analyzer = Analyzer()
    return str(Clauses(analyzer, analyzer.simplify).value(e))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (Or(A[0], And(A[1], A[2])), "(A[0] or A[1]) and (A[0] or A[2])"),
        (And(Or(A[0], A[1]), Or(A[1], A[0])), "A[0] or A[1]"),
        (Or(Or(i.equal(20), j.equal(0)), i != 30), "j == 0 or i != 30"),
        (
            And(k.equal(20), And(Or(i.equal(0), j.equal(1)), k != 30)),
            "(i == 0 or j == 1) and k == 20",
        ),
    ],
)
def test_clauses(given: Any, wanted: str) -> None:
    assert rewritten(given) == wanted


def test_reads_keep_their_guards() -> None:
    given = And(i < 8, And(B[i] < 5, i < 4))
    assert rewritten(given).index("i < 8") < rewritten(given).index("B[i]")


def test_large_conditions_stay() -> None:
    pairs = [And(Var(f"a{n}", "bool"), Var(f"b{n}", "bool")) for n in range(8)]
    given: Expr = pairs[0]
    for pair in pairs[1:]:
        given = Or(given, pair)
    assert rewritten(given).count("or") == 7


def test_value_stays_the_same() -> None:
    rng = random.Random(3)

    def random_condition(depth: int) -> Any:
        if not depth:
            var, value = rng.choice((i, j, k)), rng.randrange(3)
            return rng.choice((var.equal(value), var != value, var < value))
        return rng.choice((And, Or))(random_condition(depth - 1), random_condition(depth - 1))

    analyzer = Analyzer()
    for _ in range(60):
        given = random_condition(rng.randint(1, 3))
        new = Clauses(analyzer, analyzer.simplify).value(given)
        for values in itertools.product(range(-1, 4), repeat=3):
            at = {v: IntImm(n) for v, n in zip((i, j, k), values, strict=True)}
            a, b = (analyzer.simplify(substitute(e, at)) for e in (given, new))
            assert isinstance(a, IntImm)
            assert isinstance(b, IntImm)
            assert bool(a.value) == bool(b.value)
