"""The conditions under which loops stay within their axes."""

from __future__ import annotations

import pytest

from te_sched.errors import ScheduleError
from te_sched.ir.expr import Expr, IntImm, IterVar
from te_sched.schedule.guards import bound_checks, check_promises, unproved_promises
from te_sched.schedule.relations import Ranges, range_of
from te_sched.schedule.stage import Stage
from tests.schedule.programs import chain


def split(factor: int, *, is_promised: bool = False) -> tuple[Stage, Ranges, dict[IterVar, Expr]]:
    """16 iterations in parts, with the ranges and values of all axes."""
    p = chain()
    stage: Stage = p.s[p.C]
    parent, other = p.C.op.axis
    outer, inner = stage.split(parent, factor=factor, disable_predication=is_promised)
    lengths = {parent: 16, other: 8, outer: -(-16 // factor), inner: factor}
    ranges = {axis: range_of(0, length) for axis, length in lengths.items()}
    return stage, ranges, {parent: inner.var + outer.var * factor, other: other.var}


@pytest.mark.parametrize(
    ("factor", "checks"), [(4, []), (16, []), (5, ["i_inner + i_outer * 5 < 16"])]
)
def test_loops_that_go_beyond_are_checked(factor: int, checks: list[str]) -> None:
    stage, ranges, values = split(factor)
    found = bound_checks(stage, ranges, values)
    assert [str(one).replace("T.likely", "") for one in found] == checks


def test_axes_that_are_skipped_are_not_checked() -> None:
    stage, ranges, values = split(4)
    parent, _ = stage.op.root_iter_vars()
    ranges = {**ranges, parent: range_of(2, 20)}
    assert [str(one) for one in bound_checks(stage, ranges, {**values, parent: values[parent] + 2})]
    skipped = frozenset([parent])
    assert not bound_checks(stage, ranges, values, skipped=skipped)
    assert not bound_checks(stage, ranges, values, domains_checked=False)


def test_promises_that_are_not_known_to_hold() -> None:
    uneven, ranges, _ = split(5, is_promised=True)
    (found,) = unproved_promises(uneven, ranges)
    assert isinstance(found.factor, IntImm)
    assert found.factor.value == 5
    even, ranges, _ = split(4, is_promised=True)
    assert not [*unproved_promises(even, ranges)]
    guarded, ranges, _ = split(5)
    assert not [*unproved_promises(guarded, ranges)]


def test_promises_are_refused_of_some_axes() -> None:
    stage, ranges, _ = split(5, is_promised=True)
    i, j = stage.op.root_iter_vars()
    check_promises(stage, ranges, "cache_write", [j])
    with pytest.raises(ScheduleError, match="axis i is split without a guard"):
        check_promises(stage, ranges, "cache_write", [i, j])
