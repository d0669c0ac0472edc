"""The postprocessor that binds loops which no thread executes yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.schedule_rule.auto_bind import bind_block
from te_sched.meta_schedule.schedule_rule.targets import given
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext


class RewriteUnboundBlock(Postproc):
    """Binds the outer data parallel loops of blocks to blocks of threads, and to as many threads as
    the target allows.

    Parameters
    ----------
    max_threadblocks : the most blocks of threads; larger loops run through a part in each thread.
    """

    def __init__(self, max_threadblocks: int = 256) -> None:
        self.max_threadblocks = max_threadblocks
        self._threads = 1024

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._threads = given(context.target).max_threads_per_block

    def apply(self, sch: Schedule) -> bool:
        """Bind the loops of all blocks that are in no other one."""
        for name, func in sch.functions.items():
            for root in sch.blocks_in(func.body):
                for key in sch.blocks_of(root):
                    if not _is_bound(sch, key):
                        block = sch.get_block(sch.block(key).name_hint, func_name=name)
                        bind_block(sch, block, self.max_threadblocks, self._threads, _all)
        return True


def _all(most: int) -> int:
    return most


def _is_bound(sch: Schedule, key: BlockKey) -> bool:
    threads = [sch.loop(loop).thread_binding for loop in sch.loops_above(key)]
    return any(
        thread is not None and thread.thread_tag.startswith("blockIdx") for thread in threads
    )
