"""Schedule rules by kind of target."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from te_sched.meta_schedule.schedule_rule.base import DEFAULTS, ScheduleRule
from tests.meta_schedule.schedule_rule.spaces import product


def test_rules_of_a_kind_are_made_anew() -> None:
    first, second = ScheduleRule.create("llvm"), ScheduleRule.create("llvm")
    assert [type(one) for one in first] == [type(one) for one in second]
    assert not {*map(id, first)} & {*map(id, second)}
    assert set(DEFAULTS) >= {"llvm", "cuda"}
    with pytest.raises(DeclarationError, match="'tpu' is not a kind of target"):
        ScheduleRule.create("tpu")
    sch = tir.Schedule(product())
    with pytest.raises(DeclarationError, match="class ScheduleRule has no method apply"):
        rules.PyScheduleRule().apply(sch, sch.get_block("C"))
