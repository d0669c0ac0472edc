"""The rule that computes reductions in parts, which may run in parallel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_sched.errors import ScheduleError
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.block_properties import needs_parallel_reduction
from te_sched.meta_schedule.schedule_rule.random_compute_location import RANDOM_PRODUCER
from te_sched.meta_schedule.schedule_rule.targets import cores_of
from te_sched.tensorir.facts.axes import REDUCTION
from te_sched.tensorir.facts.nests import kind_of_loop
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class AddRFactor(ScheduleRule):
    """Splits the reduction of a block that has few data parallel iterations, and factors either of
    the two loops out.

    Parameters
    ----------
    max_jobs_per_core : parallel iterations for each processor, -1 for no limit.
    max_innermost_factor : the largest extent of the inner loop; None for any.
    """

    def __init__(
        self, max_jobs_per_core: int = 16, max_innermost_factor: int | None = None
    ) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self.max_innermost_factor = max_innermost_factor
        self._jobs = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if self.max_jobs_per_core != -1:
            self._jobs = self.max_jobs_per_core * cores_of(context.target)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """Schedules with the outer loop factored out, with the inner one, and without either."""
        key = sch.block_key(block, "AddRFactor")
        if not needs_parallel_reduction(sch, key, self._jobs):
            return [sch]
        plain = reseeded_copy(sch)
        reduction, spatial = fused_reduction(sch, block)
        factors = sch.sample_perfect_tile(reduction, 2, self.max_innermost_factor or 0)
        schedules = []
        for loop in sch.split(reduction, factors):
            factored = reseeded_copy(sch)
            try:
                rfactor_block = factored.rfactor(loop, len(spatial))
            except ScheduleError:
                continue
            factored.get_loops(rfactor_block)
            factored.annotate(block, RANDOM_PRODUCER, 1)
            schedules.append(factored)
        return [*schedules, plain]


def reseeded_copy(sch: Schedule) -> Schedule:
    """A copy with another seed than `copy` gives it, as TVM has it: decisions are then TVM's."""
    twin = sch.copy()
    twin.seed(sch.fork_seed())
    return twin


def fused_reduction(sch: Schedule, block: BlockRV) -> tuple[LoopRV, list[LoopRV]]:
    """One loop of all reduction loops of a block, innermost, and the other loops."""
    key, loops = sch.block_key(block, "fused_reduction"), sch.get_loops(block)
    reduction = [loop for loop in loops if kind_of_loop(sch, key, loop.key) == REDUCTION]
    spatial = [loop for loop in loops if loop not in reduction]
    if loops != [*spatial, *reduction]:
        sch.reorder(*spatial, *reduction)
    return (reduction[0] if len(reduction) == 1 else sch.fuse(*reduction)), spatial
