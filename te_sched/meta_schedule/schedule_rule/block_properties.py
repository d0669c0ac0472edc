"""What rules judge of a block: whether tiling or a parallel reduction pays, and what rules noted of
it. Facts are those of `te_sched.tensorir.facts`. Must not know any rule.
"""

from __future__ import annotations

from typing import Any

from te_sched.ir.blocks import Block
from te_sched.ir.expr import Var
from te_sched.ir.ops import is_const
from te_sched.tensorir.base import ScheduleBase
from te_sched.tensorir.blocks import why_not_reduction
from te_sched.tensorir.facts.axes import SPATIAL
from te_sched.tensorir.facts.computations import has_reduction, indices_of
from te_sched.tensorir.facts.nests import (
    has_several_statements,
    is_root,
    is_trivially_bound,
    lengths,
)
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

TILING = "meta_schedule.tiling_structure"
AUTO_TENSORIZE = "meta_schedule.auto_tensorize"


def is_tiled(block: Block) -> bool:
    """Whether a block was tiled by `MultiLevelTiling`."""
    return TILING in block.annotations


def needs_multi_level_tiling(sch: ScheduleBase, key: BlockKey) -> bool:
    """Whether a block is a reduction that reads elements several times: a read does not depend on
    all of its data parallel iterators, but for those of one iteration.
    """
    block = sch.block(key)
    if is_root(sch, key) or is_tiled(block) or not is_trivially_bound(sch, key):
        return False
    if not has_reduction(block) or len(block.writes) != 1:
        return False
    spatial = {
        axis.var
        for axis in block.iter_vars
        if axis.kind == SPATIAL and axis.dom is not None and not is_const(axis.dom.extent, 1)
    }
    return any(not spatial <= indices_of(region) for region in block.reads)


def needs_parallel_reduction(sch: ScheduleBase, key: BlockKey, jobs: int) -> bool:
    """Whether a reduction should be computed in parts, by `rfactor` or by the threads of a block.

    Parameters
    ----------
    jobs : the most iterations that run in parallel; if there are more data parallel ones, a block
        that can be tiled needs no others.
    """
    if is_root(sch, key) or why_not_reduction(sch, key) or not is_trivially_bound(sch, key):
        return False
    if any(has_several_statements(sch.loop(loop)) for loop in sch.loops_above(key)):
        return False
    counts = lengths(sch, key)
    if counts is None:
        return False
    spatial, reduction = counts
    if needs_multi_level_tiling(sch, key):
        return spatial < reduction and spatial <= jobs
    return reduction > 1


def split_factor(sch: Schedule, loop: Var) -> Any:
    """The factor, as it was given or sampled, by which `split` made a loop; None if it did not."""
    for entry in sch.trace.entries:
        if entry.method == "split":
            for factor, new_loop in zip(entry.arguments["factors"], entry.results, strict=True):
                if new_loop.key is loop:
                    return factor
    return None
