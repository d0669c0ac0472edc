"""The postprocessor that lets the threads of a block fetch into shared memory together."""

from __future__ import annotations

from te_sched.meta_schedule.postproc.base import Postproc
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import BlockRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

_FETCHES, _WARP = "meta_schedule.cooperative_fetch", "warp_execution"
_WARP_SIZE = 32
_AXES = ("threadIdx.y", "threadIdx.x")


class RewriteCooperativeFetch(Postproc):
    """Splits the innermost loop of blocks that the trace annotates as fetched cooperatively into
    iterations, threads and the lanes of a vector, and binds it to the threads around the block.

    >>> RewriteCooperativeFetch().apply(tir.Schedule(matmul_relu))
    True
    """

    def apply(self, sch: Schedule) -> bool:
        """Change the blocks which the trace annotates."""
        marks = [
            (entry.arguments["block_or_loop"], entry.arguments["ann_key"])
            for entry in list(sch.trace.entries)
            if entry.method == "annotate"
        ]
        is_warp = any(mark == _WARP for _, mark in marks)
        for block, mark in marks:
            if mark == _FETCHES and isinstance(block, BlockRV):
                if block.key not in sch.nodes:
                    return False
                _fetch(sch, block, is_warp)
        return True


def _fetch(sch: Schedule, block: BlockRV, is_warp: bool) -> None:
    """Divide the innermost loop around a block between threads."""
    lanes = int(sch.block(block.key).annotations.get(_FETCHES, 1))
    threads = _threads(sch, block.key, is_warp)
    if not threads:
        return
    sch.unannotate(block, _FETCHES)
    loop = sch.get_loops(block)[-1]
    extent = loop_extent(sch, loop.key)
    is_vector = lanes > 1 and extent is not None and extent % lanes == 0
    extents = [*threads.values(), *([lanes] if is_vector else [])]
    _, *parts = sch.split(loop, [None, *extents])
    if is_vector:
        sch.vectorize(parts.pop())
    for part, axis in zip(reversed(parts), reversed(threads), strict=True):
        sch.bind(part, axis)


def _threads(sch: Schedule, key: BlockKey, is_warp: bool) -> dict[str, int]:
    """The thread axes around a block with their extents, the outer one first."""
    extents: dict[str, int] = {}
    for loop in sch.loops_above(key):
        thread, extent = sch.loop(loop).thread_binding, loop_extent(sch, loop)
        if thread is not None and extent is not None:
            extents[thread.thread_tag] = extent
    wanted = {name: most for name, most in extents.items() if name in _AXES}
    if is_warp:
        wanted["threadIdx.x"] = _WARP_SIZE
    return {name: wanted[name] for name in _AXES if name in wanted}
