"""Full simplification."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.facts import Facts
from te_sched.arith.full import Simplifier
from te_sched.ir import ops
from te_sched.ir.expr import Cast, IntImm, Mul, Range, Select, Var
from tests.arith.brute import show
from tests.lowering.build import read, temporary

x, i = Var("x"), Var("i")  # 0 <= i < 8
A = temporary("A", 8)


def simplifier() -> Simplifier:
    facts = Facts()
    facts.bounds.bind(i, Range(IntImm(0), IntImm(8)))
    return Simplifier(facts)


def test_equal_values_are_one_before_the_condition_makes_them_differ() -> None:
    """As TVM's canonical form has them: under i % 4 != 1 the second value is 1 + 2."""
    e = Select(ops.not_equal(i % 4, 1), i % 4 + 2, i % 4 + 2)
    assert show(simplifier().visit(e)) == "((i % 4) + 2)"


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        ((x * 8 + i) // 8 + i // 8, "x"),
        (Mul(IntImm(-1), x), "(x * -1)"),  # and 0 - x is a sum
        (0 - x, "(0 - x)"),
        (ops.maximum(i, 0) + 1, "(i + 1)"),
        (i + x * 0 < 8, "1"),
        (i * 8 + x < 60, "(((i * 8) + x) < 60)"),
        (x + i * 8 < 60, "(((i * 8) + x) < 60)"),
        (i < 0, "0"),
        (i * 2 - 3 >= i - 10, "1"),
        (i * 2 + 1 > i - 1, "1"),
        (i <= i - 1, "0"),
        (i * 3 <= i + 14, "1"),
        (i + 8 < i * 2, "0"),
        (Cast("int64", i + 1), "(int64(i) + 1)"),
    ],
    ids=str,
)
def test_simplified(e: Any, expected: str) -> None:
    assert show(simplifier().visit(e)) == expected


def test_indices_inside_of_loads_are_simplified() -> None:
    load = simplifier().visit(read(A, i + x - i) * 2.0)
    assert load.a.indices[0] is x


def test_what_is_simple_stays_the_same_object() -> None:
    e = read(A, x) + 1.0
    assert simplifier().visit(e) is e
