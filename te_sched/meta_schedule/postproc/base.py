"""The base of postprocessors, which complete or reject a candidate."""

from __future__ import annotations

from te_sched.meta_schedule.component import Component, not_written
from te_sched.tir.schedule import Schedule


class Postproc(Component):
    """A step that follows the decisions of a candidate."""

    def apply(self, sch: Schedule) -> bool:
        """Change the schedule; False rejects it."""
        raise not_written(self, "PyPostproc", "apply")


PyPostproc = Postproc
