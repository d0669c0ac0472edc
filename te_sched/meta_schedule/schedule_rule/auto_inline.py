"""Rules that inline blocks: InlineConstantScalars, AutoInline."""

from __future__ import annotations

from collections.abc import Sequence

from te_sched.dlight.structure import attempt
from te_sched.ir.blocks import Block
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.tensorir.blocks import consumers, producers
from te_sched.tensorir.facts.computations import calls_of, correspondence, has_branch
from te_sched.tensorir.facts.nests import is_output, is_root, is_spatial_function
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule


class InlineConstantScalars(ScheduleRule):
    """Inlines blocks that compute one constant."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule; the block is inlined if it writes a scalar and reads nothing."""
        key = sch.block_key(block, "InlineConstantScalars")
        own = sch.block(key)
        is_scalar = len(own.writes) == 1 and not own.writes[0].region
        if is_scalar and not own.reads and not is_root(sch, key) and not is_output(sch, key):
            sch.compute_inline(block)
        return [sch]


class AutoInline(ScheduleRule):
    """Inlines blocks of which each element is cheap to compute again.

    Parameters
    ----------
    into_producer, into_consumer : where blocks may be inlined; consumers are tried first.
    inline_const_tensor : whether blocks that read nothing are inlined, whatever they compute.
    disallow_if_then_else : leave blocks that choose between values.
    require_injective, require_ordered : leave blocks that read an element several times, or in
        another order than they write. Functions without reductions have none of these limits.
    disallow_op : names of intrinsics, as "tir.exp"; blocks that call one are left.
    """

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str] | None = None,
    ) -> None:
        self.into_producer, self.into_consumer = into_producer, into_consumer
        self.inline_const_tensor = inline_const_tensor
        self.disallow_if_then_else = disallow_if_then_else
        self.require_injective, self.require_ordered = require_injective, require_ordered
        self.disallow_op = [str(op) for op in disallow_op or ()]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with the block inlined if it may be."""
        key = sch.block_key(block, "AutoInline")
        own = sch.block(key)
        if is_root(sch, key) or len(own.writes) != 1:
            return [sch]
        is_constant = self.inline_const_tensor and not own.reads
        if not is_constant and not is_spatial_function(sch, key) and not self._is_cheap(own):
            return [sch]
        if (
            self.into_consumer
            and consumers(sch, key)
            and attempt(lambda: sch.compute_inline(block))
        ):
            return [sch]
        if self.into_producer and not is_constant and self._has_one_producer(sch, key):
            attempt(lambda: sch.reverse_compute_inline(block))
        return [sch]

    def _is_cheap(self, block: Block) -> bool:
        if self.disallow_if_then_else and has_branch(block):
            return False
        if self.disallow_op and calls_of(block) & {*self.disallow_op}:
            return False
        if not (self.require_injective or self.require_ordered):
            return True
        relations = [correspondence(read, block.writes[0]) for read in block.reads]
        return all(
            relation is not None
            and (relation.is_injective or not self.require_injective)
            and (relation.is_ordered or not self.require_ordered)
            for relation in relations
        )

    def _has_one_producer(self, sch: Schedule, key: BlockKey) -> bool:
        return len(producers(sch, key)) == 1
