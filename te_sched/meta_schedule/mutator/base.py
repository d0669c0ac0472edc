"""The base of mutators, which change decisions of a trace."""

from __future__ import annotations

from te_sched.meta_schedule.component import Component, not_written
from te_sched.tensorir.random_numbers import RandomNumbers
from te_sched.tensorir.traces import BlockTrace


class Mutator(Component):
    """A way to change the decisions of a trace."""

    def apply(
        self, trace: BlockTrace, rand_state: RandomNumbers | None = None
    ) -> BlockTrace | None:
        """A trace with changed decisions; None if there is nothing to change."""
        raise not_written(self, "PyMutator", "apply")


PyMutator = Mutator
