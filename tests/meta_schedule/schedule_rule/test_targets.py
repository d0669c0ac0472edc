"""What rules need to know of targets."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    annotated,
    product,
    space,
)


def test_rules_need_the_number_of_processors() -> None:
    with pytest.raises(DeclarationError, match="has 0 processors, expected a positive number"):
        space(product(), rules.AddRFactor(), target="llvm -num-cores=0")


def test_rules_need_a_target() -> None:
    sch = tir.Schedule(annotated("of_test"))
    with pytest.raises(DeclarationError, match="the task has no target"):
        rules.ApplyCustomRule().apply(sch, sch.get_block("C"))
