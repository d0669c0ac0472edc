"""The postprocessor that separates the initialisation of reductions."""

from __future__ import annotations

from te_sched.ir.expr import Var
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.schedule_rule.block_properties import blocks_inside, is_data_parallel
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

_THREADS = ("threadIdx", "blockIdx")


class RewriteReductionBlock(Postproc):
    """Moves the initialisation of reductions before their first reduction loop. Reductions over
    threads keep it.

    >>> sch = tir.Schedule(matmul_relu)
    >>> RewriteReductionBlock().apply(sch)
    True
    >>> [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
    ['C_init', 'C_update', 'D']
    """

    def apply(self, sch: Schedule) -> bool:
        """Decompose the reductions of all functions."""
        for name, func in sch.functions.items():
            for root in sch.blocks_in(func.body):
                for key in [*blocks_inside(sch, root)]:
                    place = _first_reduction(sch, key)
                    if place is not None:
                        block = sch.get_block(sch.block(key).name_hint, func_name=name)
                        sch.decompose_reduction(block, sch.get_loops(block)[place])
        return True


def _first_reduction(sch: Schedule, key: BlockKey) -> int | None:
    """The number of the first loop over which a block with an initialisation reduces; None if it
    has none, or threads reduce.
    """
    if sch.block(key).init is None:
        return None
    loops = sch.loops_above(key)
    reducing = [place for place, loop in enumerate(loops) if not is_data_parallel(sch, loop)]
    if not reducing or any(_is_thread(sch, loops[place]) for place in reducing):
        return None
    return reducing[0]


def _is_thread(sch: Schedule, loop: Var) -> bool:
    thread = sch.loop(loop).thread_binding
    return thread is not None and thread.thread_tag.startswith(_THREADS)
