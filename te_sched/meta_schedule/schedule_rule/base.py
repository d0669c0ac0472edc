"""The base of rules that schedule one block in several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from te_sched.meta_schedule.component import Component, named, not_written
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule


class ScheduleRule(Component):
    """A rule: from a schedule and one of its blocks to schedules."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """Schedules with the block transformed; `[sch]` if the rule does not apply."""
        raise not_written(self, "PyScheduleRule", "apply")

    @staticmethod
    def create(kind: Any) -> list[ScheduleRule]:
        """The default rules of a kind of target: "llvm", "cuda", ..."""
        rules: list[ScheduleRule] = named("kind of target", DEFAULTS, kind)()
        return rules


PyScheduleRule = ScheduleRule
DEFAULTS: dict[str, Callable[[], list[ScheduleRule]]] = {}  # filled by `defaults`
