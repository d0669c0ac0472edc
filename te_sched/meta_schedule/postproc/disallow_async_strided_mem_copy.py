"""The postprocessor that rejects asynchronous copies of elements that are not neighbors."""

from __future__ import annotations

from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferLoad
from te_sched.ir.stmt import BufferStore, For, SeqStmt
from te_sched.ir.visitor import walk
from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.meta_schedule.postproc.contiguity import copies_neighbors
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

_STAGE, _ASYNC = "software_pipeline_stage", "software_pipeline_async_stages"


class DisallowAsyncStridedMemCopy(Postproc):
    """Rejects programs in which an asynchronous stage of a software pipeline copies with strides.

    Such a stage is for engines that copy memory beside the processor, one piece at a time.

    >>> DisallowAsyncStridedMemCopy().apply(tir.Schedule(matmul_relu))
    True
    """

    def apply(self, sch: Schedule) -> bool:
        """Whether all asynchronous copies are of one piece of memory to one piece."""
        return all(_is_allowed(sch, key) for key in sch.keys.values())


def _is_allowed(sch: Schedule, key: BlockKey) -> bool:
    block = sch.block(key)
    if not (isinstance(block.body, BufferStore) and isinstance(block.body.value, BufferLoad)):
        return True
    loops = sch.loops_above(key)
    return all(
        not _is_asynchronous(sch.loop(loop), block)
        or copies_neighbors(sch, key, loops[depth + 1 :])
        for depth, loop in enumerate(loops)
    )


def _is_asynchronous(loop: For, block: Block) -> bool:
    """Whether a block is in an asynchronous stage of the pipeline of a loop."""
    stages = [int(stage) for stage in loop.annotations.get(_ASYNC, ())]
    own = [int(stage) for stage in loop.annotations.get(_STAGE, ())]
    parts = loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)
    return any(
        stage in stages and any(node is block for node in walk(part))
        for stage, part in zip(own, parts, strict=False)
    )
