"""Generators of spaces: schedules whose sampled decisions a search may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from te_sched.meta_schedule.component import Component, named, not_written
from te_sched.meta_schedule.mutator import Mutator
from te_sched.meta_schedule.postproc import Postproc
from te_sched.meta_schedule.schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from te_sched.ir.stmt import IRModule
    from te_sched.meta_schedule.tune_context import TuneContext
    from te_sched.tir.schedule import Schedule


class SpaceGenerator(Component):
    """A generator of a space, with the rules, postprocessors and mutators of the search.

    Parameters
    ----------
    sch_rules, postprocs, mutator_probs : parts, or the kind of target whose defaults are used;
        "from-target" takes them from the target of the task.
    """

    sch_rules: Any = None
    postprocs: Any = None
    mutator_probs: Any = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        raise not_written(self, "PySpaceGenerator", "_initialize_with_tune_context")

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The schedules of the space."""
        raise not_written(self, "PySpaceGenerator", "generate_design_space")

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **kwargs: Any) -> SpaceGenerator:
        """A generator by its name, or of a function of a schedule."""
        if isinstance(kind, SpaceGenerator):
            return kind
        found: SpaceGenerator = named("space generator", _GENERATORS, kind)(*args, **kwargs)
        return found


PySpaceGenerator = SpaceGenerator
_GENERATORS: dict[str, type[SpaceGenerator]] = {}
create = SpaceGenerator.create
__all__ = ["Mutator", "Postproc", "PySpaceGenerator", "ScheduleRule", "SpaceGenerator", "create"]
