"""Proofs by several engines, and bounds in symbols."""

from __future__ import annotations

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.arith.prove import ENGINES, OF_TVM, Proof, bounds, forms_of, prove
from te_sched.config import TO_RUN
from te_sched.ir import ops
from te_sched.ir.expr import EQ, LT, NE, And, Cast, Expr, Not, Or, Range, Var
from tests.lowering.build import read, temporary

i, j, n = Var("i"), Var("j"), Var("n")


def loop(least: object, extent: object) -> Range:
    return Range(ops.convert(least), ops.convert(extent))


def facts() -> Analyzer:
    analyzer = Analyzer()
    analyzer.bind(i, loop(0, 8))
    analyzer.bind(j, loop(0, n))
    return analyzer


@pytest.mark.parametrize(
    ("condition", "engine"),
    [
        (i + 1 < 9, "const_bounds"),
        (j * 8 + i < n * 8, "forms"),
        (ops.floormod(n * 4 + 2, 4) >= 2, "forms"),
        (ops.minimum(i, n) <= n, "simplifier"),
        (i < 7, None),
        (j < 7, None),
        (j < n - 1, None),
    ],
)
def test_first_engine_with_a_proof_is_named(condition: Expr, engine: str | None) -> None:
    assert prove(condition, facts()) == (engine and Proof(engine))


def test_engines_can_be_chosen() -> None:
    condition = j * 8 + i < n * 8
    assert prove(condition, facts(), ["const_bounds"]) is None
    assert prove(condition, facts(), OF_TVM) == Proof("int_sets")
    assert set(OF_TVM) < ENGINES.keys()


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (And(j < n, i < 8), True),
        (And(j < n, i < 7), False),
        (Or(i < 3, j * 2 < n * 2 - 1), True),
        (Not(LT(n, j + 1)), True),
        (NE(j, n), True),
        (NE(j, n - 1), False),
        (EQ(j * 2 + n, n + j + j), True),
        (EQ(j, n), False),
    ],
)
def test_forms_prove_conditions_made_of_comparisons(condition: Expr, holds: bool) -> None:
    assert (prove(condition, facts(), ["forms"]) is not None) == holds


def test_conditions_hold_in_multiples() -> None:
    analyzer, k = Analyzer(), Var("k")
    for var, extent in ((i, 64), (j, 2), (k, 2)):
        analyzer.bind(var, loop(0, extent))
    condition = i * 12 + j * 8 + k * 4 < 768
    assert prove(condition, analyzer) is None
    with analyzer.constraint(j * 2 + k < 3):
        assert prove(condition, analyzer) == Proof("forms")
    assert prove(condition, analyzer) is None


def test_two_conditions_are_combined() -> None:
    analyzer = Analyzer()
    with analyzer.constraint(And(i >= 1, j * 2 - n >= 1)):
        assert prove(i + j * 24 - n * 12 >= 13, analyzer) == Proof("forms")
        assert prove(i + j * 24 - n * 12 >= 14, analyzer) is None


def test_values_stand_for_variables() -> None:
    analyzer, x = facts(), Var("x")
    analyzer.bind(x, j * 4 + 3)
    assert prove(x < n * 4, analyzer) == Proof("forms")
    assert prove(x < n * 4 - 1, analyzer) is None


def test_ranges_of_each_other_are_not_followed() -> None:
    analyzer = Analyzer()
    analyzer.bind(i, loop(0, j))
    analyzer.bind(j, loop(0, i))
    assert prove(i < n, analyzer) is None
    assert forms_of(analyzer, i).ranges.keys() <= {i, j}


def test_nothing_is_proved_of_data_that_may_wrap_around() -> None:
    data, analyzer = temporary("data", 8, dtype="int32"), Analyzer(TO_RUN)
    assert prove(read(data, i) + 1 > read(data, i), analyzer) is None
    assert prove(read(data, i) + 1 > read(data, i), Analyzer()) is not None
    assert bounds(read(data, i) + 1, analyzer) == (None, None)


def test_comparisons_of_other_types_are_not_of_forms() -> None:
    x = Cast("uint8", i)
    assert prove(LT(x, x + ops.const(1, "uint8")), facts(), ["forms"]) is None


def test_bounds_have_no_variables_with_ranges() -> None:
    low, high = bounds(j * 8 + i, facts())
    assert low == {}
    assert high == forms_of(facts()).of(n * 8 - 1)
    assert bounds(n * 2, facts()) == ({(n,): 2}, {(n,): 2})


def test_bounds_follow_loops_that_begin_at_others() -> None:
    analyzer, k = facts(), Var("k")
    analyzer.bind(k, loop(j, 4))
    assert bounds(k, analyzer) == ({}, {(n,): 1, (): 2})
