"""The rule that computes blocks at random loops of their consumers."""

from __future__ import annotations

from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.block_properties import is_tiled
from te_sched.tensorir.blocks import consumers
from te_sched.tensorir.facts.nests import has_several_statements, is_root
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

RANDOM_PRODUCER = "meta_schedule.random_compute_producer"


class RandomComputeLocation(ScheduleRule):
    """Moves a block that is not tiled to a sampled place, and the producer that `AddRFactor` made
    for it.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with the block moved if it has a consumer and a nest of its own."""
        key = sch.block_key(block, "RandomComputeLocation")
        if not _is_movable(sch, key):
            return [sch]
        producers: list[BlockRV] = []
        if RANDOM_PRODUCER in sch.block(key).annotations:
            producers = sch.get_producers(block)
            sch.unannotate(block, RANDOM_PRODUCER)
        for moved_block in (block, *producers):
            sch.compute_at(
                moved_block, sch.sample_compute_location(moved_block), preserve_unit_loops=True
            )
        return [sch]


def _is_movable(sch: Schedule, key: BlockKey) -> bool:
    scope, loops = sch.scope(key), sch.loops_above(key)
    if scope is None or not is_root(sch, scope) or not loops or is_tiled(sch.block(key)):
        return False
    return not has_several_statements(sch.loop(loops[0])) and bool(consumers(sch, key))
