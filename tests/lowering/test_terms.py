"""Expressions shared by structure."""

from __future__ import annotations

from typing import Any

from te_sched.ir.expr import Broadcast, Expr, IntImm, Ramp
from te_sched.lowering.terms import Terms
from tests.lowering.build import read, temporary, var

x, y = var("x"), var("y")


def terms_of(*exprs: Expr) -> list[Any]:
    """The terms of expressions, which live as long as those of a function."""
    terms = Terms()
    return [terms.of(e) for e in exprs]


def test_equal_expressions_are_one_term() -> None:
    first, second, other = terms_of((x + 1) * y, (x + 1) * y, y * (x + 1))
    assert first is second
    assert first is not other
    assert first.size == 5
    assert first.variables == {x, y}


def test_uses_count_the_terms_around() -> None:
    inner, *_ = terms_of(x + 1, (x + 1) * y, (x + 1) * y, (x + 1) - y)
    assert inner.uses == 2


def test_constants_differ_by_type() -> None:
    one, again, wide = terms_of(IntImm(1), IntImm(1), IntImm(1, "int64"))
    assert one is again
    assert one is not wide


def test_loads_are_no_terms() -> None:
    data = temporary("data", 8, dtype="int32")
    assert terms_of(read(data, x) + 1) == [None]


def test_variables_and_vectors_get_no_variable_of_their_own() -> None:
    found = terms_of(x, IntImm(1), Ramp(x, IntImm(1), 4), Broadcast(x, 4), x + 1)
    assert [term.is_candidate for term in found] == [False] * 4 + [True]


def test_term_is_rebuilt_of_other_parts() -> None:
    terms = Terms()
    before, after = x + 1, y + 1
    old, part = terms.of(before), terms.of(y)
    assert old is not None
    assert part is not None
    assert terms.rebuild(old, (part, old.parts[1])) is terms.of(after)
