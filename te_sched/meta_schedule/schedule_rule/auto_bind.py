"""The rule that binds loops to the threads of a GPU, and what other rules need of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.block_properties import is_tiled
from te_sched.meta_schedule.schedule_rule.targets import given
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.facts.nests import has_several_statements, is_root, kind_of_loop, loop_extent
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext

_EXTENTS = (32, 64, 128, 256, 512, 1024)
Factor = Callable[[int], Any]  # the number of threads of a block, at most a given one


class AutoBind(ScheduleRule):
    """Binds the outer data parallel loops of blocks that no thread executes yet.

    Parameters
    ----------
    max_threadblocks : the most blocks of threads; larger loops run through a part in each thread.
    thread_extents : the choices of the number of threads of a block.
    max_threads_per_block : the most threads of a block; -1 for what the target allows.
    """

    def __init__(
        self,
        max_threadblocks: int = 256,
        thread_extents: Sequence[int] | None = None,
        max_threads_per_block: int = -1,
    ) -> None:
        self.max_threadblocks = max_threadblocks
        self.thread_extents = [int(extent) for extent in thread_extents or _EXTENTS]
        self.max_threads_per_block = max_threads_per_block

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        if self.max_threads_per_block == -1:
            self.max_threads_per_block = given(context.target).max_threads_per_block

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with loops of the block bound."""
        factor = factor_sampler(sch, self.thread_extents)
        bind_block(sch, block, self.max_threadblocks, self.max_threads_per_block, factor)
        return [sch]


def factor_sampler(sch: Schedule, extents: Sequence[int]) -> Factor:
    """A function that samples one of the extents which are not larger than a number."""

    def sample(most: int) -> Any:
        legal = [extent for extent in extents if extent <= most]
        if len(legal) < 2:
            return legal[0] if legal else most
        return sch.sample_categorical(legal, [1.0 / len(legal)] * len(legal))

    return sample


def bind_block(
    sch: Schedule, block: BlockRV, max_blocks: int, max_threads: int, factor: Factor
) -> None:
    """Bind the outer data parallel loops of a block to blocks and threads, as far as they are not.

    Parameters
    ----------
    max_blocks, max_threads : the most blocks of threads, and threads of a block.
    factor : chooses the number of threads of a block.
    """
    key = sch.block_key(block, "AutoBind")
    if is_root(sch, key) or is_tiled(sch.block(key)):
        return
    axes = [_axis(sch, loop) for loop in sch.loops_above(key)]
    if any(axis.startswith("blockIdx") for axis in axes):
        return
    is_threaded = any(axis.startswith("threadIdx") for axis in axes)
    if is_threaded:
        sch.get_loops(block)  # TVM asks twice; traces are alike
    loops = sch.get_loops(block)
    count = _outer_loops(sch, key, axes)
    outer = loops[:count] or [sch.add_unit_loop(loops[0] if loops else block)]
    fused = sch.fuse(*outer)
    if is_threaded:
        sch.bind(fused, "blockIdx.x")
    else:
        bind_loop(sch, fused, max_blocks, max_threads, factor)


def _axis(sch: Schedule, loop: Any) -> str:
    binding = sch.loop(loop).thread_binding
    return "" if binding is None else str(binding.thread_tag)


def _outer_loops(sch: Schedule, key: BlockKey, axes: Sequence[str]) -> int:
    """How many outer loops of a block are data parallel, neither unrolled nor bound to threads,
    and around nothing else.
    """
    loops = sch.loops_above(key)
    for depth, (loop, axis) in enumerate(zip(loops, axes, strict=True)):
        is_unrolled = sch.loop(loop).kind == "unrolled"
        if axis or is_unrolled or kind_of_loop(sch, key, loop) != SPATIAL:
            return depth
        if has_several_statements(sch.loop(loop)):
            return depth + 1
    return len(loops)


def bind_loop(
    sch: Schedule, loop: LoopRV, max_blocks: int, max_threads: int, factor: Factor
) -> None:
    """Split a data parallel loop and bind its parts to blocks and threads."""
    extent = loop_extent(sch, loop.key)
    if extent is not None and extent > max_blocks * max_threads:
        rest, outer, inner = sch.split(loop, [None, max_blocks, max_threads])
        sch.reorder(outer, inner, rest)
    else:
        threads = max_threads if extent is None else factor(min(extent, max_threads))
        outer, inner = sch.split(loop, [None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
