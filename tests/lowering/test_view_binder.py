"""Declared buffers are made equal to regions: defined, proved, asserted or refused."""

from __future__ import annotations

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.errors import LoweringError
from te_sched.ir.expr import Buffer, Expr, IntImm, Range, Var
from te_sched.lowering.view_binder import ViewBinder
from tests.lowering.build import temporary

A, V = temporary("A", 16, 16), temporary("V", 4)
n, m, step = Var("n"), Var("m"), Var("step")


def binder(view: Buffer = V, values: dict[Var, Expr] | None = None) -> ViewBinder:
    analyzer = Analyzer()
    analyzer.bind(m, Range(IntImm(0), IntImm(4)))
    return ViewBinder(view, A, analyzer, {} if values is None else values)


def test_variables_are_defined_once_and_released() -> None:
    values: dict[Var, Expr] = {}
    one = binder(values=values)
    one.bind("stride", step, n)
    assert values == {step: n}
    one.bind("stride", step, n)
    assert not one.asserts
    one.bind("stride", step, m)
    ((condition, why),) = one.asserts
    assert why == "Argument V: its stride must match"
    assert str(condition) == "n == m"
    one.release()
    assert values == {}


def test_what_is_fixed_is_proved_or_asserted() -> None:
    one = binder()
    one.bind("shape", IntImm(4), IntImm(4))
    one.require(m < 4, "it is so")
    assert not one.asserts
    one.require(n < 4, "n is small")
    assert [(str(condition), why) for condition, why in one.asserts] == [
        ("n < 4", "Argument V: n is small")
    ]


def test_what_cannot_hold_is_refused() -> None:
    with pytest.raises(
        LoweringError, match=r"bind buffer V to a region of A: its shape must match"
    ):
        binder().bind("shape", IntImm(4), IntImm(5))


def test_scopes_are_the_same() -> None:
    binder().check_scope(A)
    with pytest.raises(LoweringError, match="declared in scope 'shared'"):
        binder(temporary("V", 4, scope="shared")).check_scope(A)


def test_dimensions_that_are_dropped_have_one_element() -> None:
    binder().check_rank([IntImm(1)], 1)
    with pytest.raises(LoweringError, match="more dimensions of more than one element"):
        binder().check_rank([n], 1)
    with pytest.raises(LoweringError, match="the region has fewer"):
        binder().check_rank([], -1)


def test_views_without_strides_are_compact() -> None:
    one = binder()
    one.check_compact([n, IntImm(8)], [IntImm(8), IntImm(1)])
    one.check_compact([IntImm(1), IntImm(8)], [IntImm(99), IntImm(1)])  # a single row
    assert not one.asserts
    with pytest.raises(LoweringError, match="the region is not compact"):
        one.check_compact([IntImm(4), IntImm(8)], [IntImm(16), IntImm(1)])
    one.check_compact([IntImm(4), IntImm(8)], [step, IntImm(1)])
    assert [str(condition) for condition, _ in one.asserts] == ["step == 8"]
