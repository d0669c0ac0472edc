"""Rules of users."""

from __future__ import annotations

import logging

import pytest

import te_sched
from te_sched import tir
from te_sched.errors import DeclarationError
from te_sched.meta_schedule import schedule_rule as rules
from tests.meta_schedule.schedule_rule.spaces import (
    TILING,
    annotated,
    space,
    steps,
)


def test_custom_rule_calls_the_function_of_a_key() -> None:
    def schedule(sch: tir.Schedule, block: tir.BlockRV) -> list[tir.Schedule]:
        sch.parallel(sch.get_loops(block)[0])
        return [sch]

    te_sched.register_func("meta_schedule.cpu.of_test", schedule)
    try:
        (sch,) = space(annotated("of_test"), rules.ApplyCustomRule(), TILING)
    finally:
        te_sched.runtime.remove_global_func("meta_schedule.cpu.of_test")
    assert steps(sch) == ["parallel"]


def test_custom_rule_that_is_not_registered_is_removed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        spaces = space(annotated("absent"), rules.ApplyCustomRule(), TILING)
    assert steps(spaces[0])[:2] == ["unannotate", "annotate"]
    assert "no schedule rule absent is registered; tried meta_schedule.cpu.absent" in caplog.text


def test_custom_rules_that_operators_name_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        space(annotated("meta_schedule.pool_max"), rules.ApplyCustomRule(), TILING)
    assert caplog.text == ""


def test_blocks_with_the_rule_none_are_left() -> None:
    (sch,) = space(annotated("None"), rules.ApplyCustomRule(), TILING)
    assert steps(sch) == []


def test_custom_rule_rejects_another_result() -> None:
    te_sched.register_func("meta_schedule.cpu.of_test", lambda sch, block: 3)
    try:
        with pytest.raises(DeclarationError, match="schedule rule of_test of block C returned an"):
            space(annotated("of_test"), rules.ApplyCustomRule())
    finally:
        te_sched.runtime.remove_global_func("meta_schedule.cpu.of_test")
