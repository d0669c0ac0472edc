"""The rule that marks a function for parallel, vectorized and unrolled loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.targets import cores_of
from te_sched.tensorir.facts.nests import is_root, is_spatial_function
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class ParallelizeVectorizeUnroll(ScheduleRule):
    """Annotates the root block; `RewriteParallelVectorizeUnroll` then changes the loops.

    Parameters
    ----------
    max_jobs_per_core : parallel iterations for each processor; -1 for no parallel loops.
    max_vectorize_extent : the most lanes of a vector; -1 for no vectors.
    unroll_max_steps : choices of the most statements that unrolling makes; none for no unrolling.
    unroll_explicit : unroll in the program, not by a pragma.
    """

    def __init__(
        self,
        max_jobs_per_core: int = 16,
        max_vectorize_extent: int = 16,
        unroll_max_steps: Sequence[int] | None = None,
        unroll_explicit: bool = True,
    ) -> None:
        self.max_jobs_per_core, self.max_vectorize_extent = max_jobs_per_core, max_vectorize_extent
        self.unroll_max_steps = [int(step) for step in unroll_max_steps or ()]
        self.unroll_explicit = unroll_explicit
        self._jobs = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if self.max_jobs_per_core != -1:
            self._jobs = self.max_jobs_per_core * cores_of(context.target)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with annotations of the root block."""
        key = sch.block_key(block, "ParallelizeVectorizeUnroll")
        if not is_root(sch, key):
            return [sch]
        if self._jobs != -1:
            sch.annotate(block, "meta_schedule.parallel", self._jobs)
        if self.max_vectorize_extent != -1:
            sch.annotate(block, "meta_schedule.vectorize", self.max_vectorize_extent)
        if self.unroll_max_steps and not is_spatial_function(sch, key):
            count = len(self.unroll_max_steps)
            steps = sch.sample_categorical(self.unroll_max_steps, [1.0 / count] * count)
            how = "explicit" if self.unroll_explicit else "implicit"
            sch.annotate(block, f"meta_schedule.unroll_{how}", steps)
        return [sch]
