"""The postprocessor that puts intrinsics in the place of blocks that rules marked."""

from __future__ import annotations

from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.schedule_rule.block_properties import AUTO_TENSORIZE
from te_sched.tensorir.facts.nests import blocks_inside
from te_sched.tir.schedule import Schedule


class RewriteTensorize(Postproc):
    """Tensorizes the blocks that are annotated with an intrinsic.

    Parameters
    ----------
    vectorize_init_loop : vectorize the innermost loop of blocks that are marked with an empty name:
        initializations that have no intrinsic.

    >>> RewriteTensorize().apply(tir.Schedule(matmul_relu))
    True
    """

    def __init__(self, vectorize_init_loop: bool = False) -> None:
        self.vectorize_init_loop = vectorize_init_loop

    def apply(self, sch: Schedule) -> bool:
        """Tensorize all marked blocks; an intrinsic that does not fit raises a ScheduleError."""
        marked = [
            (sch.block(key).name_hint, name, str(sch.block(key).annotations[AUTO_TENSORIZE]))
            for name, func in sch.functions.items()
            for root in sch.blocks_in(func.body)
            for key in blocks_inside(sch, root)
            if AUTO_TENSORIZE in sch.block(key).annotations
        ]
        for name, function, intrinsic in marked:
            if not intrinsic and not self.vectorize_init_loop:
                continue
            block = sch.get_block(name, func_name=function)
            sch.unannotate(block, AUTO_TENSORIZE)
            if intrinsic:
                sch.tensorize(block, intrinsic)
            else:
                inner = sch.get_child_blocks(block)
                sch.vectorize(sch.get_loops(inner[0] if inner else block)[-1])
        return True
