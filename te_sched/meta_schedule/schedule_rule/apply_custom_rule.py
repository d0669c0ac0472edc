"""The rule of blocks that name a function which schedules them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from te_sched.errors import DeclarationError, kind_of
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.targets import given
from te_sched.runtime.registry import get_global_func
from te_sched.signatures import is_sequence
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.codegen.target import Target
    from te_sched.meta_schedule.tune_context import TuneContext

CUSTOM_RULE = "schedule_rule"  # an annotation of blocks
NO_RULE = "None"


class ApplyCustomRule(ScheduleRule):
    """Calls the function that a block names by its annotation `schedule_rule`.

    Of a block with the rule "name", the function registered as `meta_schedule.KEY.name` is called
    with the schedule and the block, for the first key of the target that has one. It returns
    schedules. Without one, the annotation is removed, so that the other rules apply. They leave
    annotated blocks alone, also those with the rule "None".
    """

    def __init__(self) -> None:
        self._target: Target | None = None
        self._log = logging.getLogger(__name__)

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._target, self._log = given(context.target), context.logger

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules of the function."""
        own = sch.block(sch.block_key(block, "ApplyCustomRule"))
        name = own.annotations.get(CUSTOM_RULE)
        if name in (None, NO_RULE):
            return [sch]
        function = self._function(str(name))
        if function is None:
            sch.unannotate(block, CUSTOM_RULE)
            return [sch]
        schedules = function(sch, block)
        if not is_sequence(schedules) or not all(isinstance(item, Schedule) for item in schedules):
            raise DeclarationError(
                f"schedule rule {name} of block {own.name_hint} returned {kind_of(schedules)}",
                "the space consists of schedules",
                "return a list of schedules",
            )
        return list(schedules)

    def _function(self, name: str) -> Callable[[Schedule, BlockRV], Any] | None:
        names = [f"meta_schedule.{key}.{name}" for key in given(self._target).keys]
        for full_name in names:
            function = get_global_func(full_name, allow_missing=True)
            if function is not None:
                return function
        # Operators of topi name a rule each, for targets that have one.
        level = logging.INFO if name.startswith("meta_schedule.") else logging.WARNING
        self._log.log(
            level, "no schedule rule %s is registered; tried %s", name, ", ".join(names) or "none"
        )
        return None
