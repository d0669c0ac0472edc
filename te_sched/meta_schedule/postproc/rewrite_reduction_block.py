"""The postprocessor that separates the initialization of reductions."""

from __future__ import annotations

from te_sched.ir.blocks import Block
from te_sched.ir.expr import Var
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.schedule_rule.block_properties import AUTO_TENSORIZE
from te_sched.tensorir.facts.nests import blocks_inside, is_data_parallel
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

_OF_INIT = f"{AUTO_TENSORIZE}_init"
_THREADS = ("threadIdx", "blockIdx")


class RewriteReductionBlock(Postproc):
    """Moves the initialization of reductions before their first reduction loop. Reductions over
    threads keep it.

    >>> sch = tir.Schedule(matmul_relu)
    >>> RewriteReductionBlock().apply(sch)
    True
    >>> [block.name for block in sch.get_child_blocks(sch.get_block("root"))]
    ['C_init', 'C_update', 'D']
    """

    def apply(self, sch: Schedule) -> bool:
        """Decompose the reductions of all functions."""
        for name in sch.functions:
            while (
                reduction := _next(sch, name)
            ) is not None:  # the blocks are other ones afterwards
                block = sch.get_block(reduction[0], func_name=name)
                init = sch.decompose_reduction(block, sch.get_loops(block)[reduction[1]])
                _mark_tensorize(sch, block, init)
        return True


def _mark_tensorize(sch: Schedule, update: BlockRV, init: BlockRV) -> None:
    """Mark an initialization with its own intrinsic; with none if only the update has one."""
    block = sch.get(update)
    assert isinstance(block, Block)
    annotations = block.annotations
    if AUTO_TENSORIZE not in annotations:
        return
    sch.unannotate(init, AUTO_TENSORIZE)
    sch.annotate(init, AUTO_TENSORIZE, str(annotations.get(_OF_INIT, "")))
    if _OF_INIT in annotations:
        sch.unannotate(update, _OF_INIT)
        sch.unannotate(init, _OF_INIT)


def _next(sch: Schedule, name: str) -> tuple[str, int] | None:
    """The name of the first block to decompose in a function, and the number of the loop."""
    for root in sch.blocks_in(sch.functions[name].body):
        for key in blocks_inside(sch, root):
            depth = _first_reduction(sch, key)
            if depth is not None:
                return sch.block(key).name_hint, depth
    return None


def _first_reduction(sch: Schedule, key: BlockKey) -> int | None:
    """The number of the first loop over which a block with an initialization reduces; None if it
    has none, or threads reduce.
    """
    if sch.block(key).init is None:
        return None
    loops = sch.loops_above(key)
    reducing = [depth for depth, loop in enumerate(loops) if not is_data_parallel(sch, loop)]
    if not reducing or any(_is_thread(sch, loops[depth]) for depth in reducing):
        return None
    return reducing[0]


def _is_thread(sch: Schedule, loop: Var) -> bool:
    thread = sch.loop(loop).thread_binding
    return thread is not None and thread.thread_tag.startswith(_THREADS)
