"""The rule that lets the threads of a block reduce together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from te_sched.errors import ScheduleError
from te_sched.ir.expr import Var
from te_sched.meta_schedule.schedule_rule.add_rfactor import fused_reduction, reseeded_copy
from te_sched.meta_schedule.schedule_rule.base import ScheduleRule
from te_sched.meta_schedule.schedule_rule.block_properties import (
    needs_parallel_reduction,
    split_factor,
)
from te_sched.meta_schedule.schedule_rule.targets import given
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.facts.nests import kind_of_loop
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

if TYPE_CHECKING:
    from te_sched.meta_schedule.tune_context import TuneContext

_AXIS = "threadIdx.x"


class CrossThreadReduction(ScheduleRule):
    """Splits the reduction of a block that has few data parallel iterations among the threads of a
    block, and computes it beside its consumer, if it has one.

    Parameters
    ----------
    thread_extents : the choices of the number of threads.
    """

    def __init__(self, thread_extents: Sequence[int]) -> None:
        self.thread_extents = [int(extent) for extent in thread_extents]
        self._most = -1

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._most = given(context.target).max_threads_per_block

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """A schedule with the reduction among threads, and the schedule as it was."""
        key = sch.block_key(block, "CrossThreadReduction")
        if not needs_parallel_reduction(sch, key, self._most):
            return [sch]
        new = reseeded_copy(sch)
        try:
            self._spread(new, block)
        except ScheduleError:
            return [sch]
        return [new, sch]

    def _spread(self, sch: Schedule, block: BlockRV) -> None:
        location = _place(sch, block)
        count = len(self.thread_extents)
        threads: Any = sch.sample_categorical(self.thread_extents, [1.0 / count] * count)
        if location is not None:
            target = location.loop
            existing_threads = _threads_around(sch, sch.get_loops(location.consumer))
            if existing_threads is None:
                outer, inner = sch.split(location.innermost, [None, threads])
                sch.bind(inner, _AXIS)
                target = outer if location.innermost is location.loop else target
            else:
                threads = existing_threads
            sch.compute_at(block, target, preserve_unit_loops=True)
            sch.set_scope(block, 0, "shared")
        reduction, _ = fused_reduction(sch, block)
        sch.bind(sch.split(reduction, [None, threads])[1], _AXIS)


class _Place(NamedTuple):
    """Where a reduction is computed for its consumers: in a loop of the first of them."""

    consumer: BlockRV
    loop: LoopRV
    innermost: LoopRV


def _place(sch: Schedule, block: BlockRV) -> _Place | None:
    """The loop of the consumers of a block that shares its data parallel iterations."""
    readers = sch.get_consumers(block)
    if not readers:
        return None
    common = _common_loop(sch, [reader.key for reader in readers])
    if common is None and len(readers) > 1:
        return None
    loops, own = sch.get_loops(readers[0]), sch.get_loops(block)
    count = 0
    for theirs, ours in zip(loops, own, strict=False):
        kinds = (
            kind_of_loop(sch, readers[0].key, theirs.key),
            kind_of_loop(sch, block.key, ours.key),
        )
        if kinds != (SPATIAL, SPATIAL):
            break
        count += 1
        if theirs.key is common:
            break
    return _Place(readers[0], loops[count - 1], loops[-1]) if count else None


def _common_loop(sch: Schedule, keys: Sequence[BlockKey]) -> Var | None:
    """The innermost loop around several blocks."""
    first, *others = [sch.loops_above(key) for key in keys]
    shared = [loop for loop in first if all(loop in loops for loops in others)]
    return shared[-1] if shared and others else None


def _threads_around(sch: Schedule, loops: Sequence[LoopRV]) -> Any:
    """The number of threads to which one of some loops is bound, as it was sampled; or None."""
    for loop in loops:
        node = sch.loop(loop.key)
        if node.thread_binding is not None and node.thread_binding.thread_tag == _AXIS:
            factor = split_factor(sch, loop.key)
            return node.extent if factor is None else factor
    return None
