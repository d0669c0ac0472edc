"""What rules ask about a block: its kinds of loops, whether tiling or a parallel reduction pays,
and how its reads follow its writes. Must not know any rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferRegion, Call, Expr, IntImm, Select, Var
from te_sched.ir.ops import is_const
from te_sched.ir.stmt import For, IfThenElse, SeqStmt
from te_sched.ir.visitor import variables_of, walk
from te_sched.tensorir.base import ScheduleBase
from te_sched.tensorir.blocks import bound_kinds, output_buffers, why_not_reduction
from te_sched.tensorir.state import BlockKey
from te_sched.tir.schedule import Schedule

TILING = "meta_schedule.tiling_structure"
AUTO_TENSORIZE = "meta_schedule.auto_tensorize"
SPATIAL, REDUCTION, OTHER = "DataPar", "CommReduce", ""


def is_root(sch: ScheduleBase, key: BlockKey) -> bool:
    """Whether a block is the body of its function."""
    return sch.parents[key] is None


def blocks_inside(sch: ScheduleBase, key: BlockKey) -> Iterator[BlockKey]:
    """A block and those in it, in program order, each before those in it."""
    yield key
    for one in sch.blocks_of(key):
        yield from blocks_inside(sch, one)


def is_tiled(block: Block) -> bool:
    """Whether a block was tiled by `MultiLevelTiling`."""
    return TILING in block.annotations


def is_output(sch: ScheduleBase, key: BlockKey) -> bool:
    """Whether a block writes a result of its function."""
    results = output_buffers(sch, key)
    return any(region.buffer in results for region in sch.block(key).writes)


def is_spatial_function(sch: ScheduleBase, key: BlockKey) -> bool:
    """Whether all blocks of the function of a block have data parallel iterators only."""
    function = sch.functions[sch.function_of(key)]
    return all(
        axis.kind == SPATIAL
        for part in walk(function.body)
        if type(part) is Block
        for axis in part.iter_vars
    )


def kind_of_loop(sch: ScheduleBase, key: BlockKey, loop: Var) -> str:
    """The kind of the iterators of a block that depend on a loop; "" if it has several or none."""
    kinds = {kind for _, kind in bound_kinds(sch.realize(key), loop)}
    return kinds.pop() if len(kinds) == 1 else OTHER


def is_data_parallel(sch: ScheduleBase, loop: Var) -> bool:
    """Whether only data parallel iterators of the blocks in a loop depend on it."""
    return all(
        kind == SPATIAL
        for key in sch.blocks_of(loop)
        for _, kind in bound_kinds(sch.realize(key), loop)
    )


def extent_of(sch: ScheduleBase, loop: Var) -> int | None:
    """The constant extent of a loop, or None."""
    extent = sch.loop(loop).extent
    return extent.value if isinstance(extent, IntImm) else None


def is_trivially_bound(sch: ScheduleBase, key: BlockKey) -> bool:
    """Whether the iterators of a block are the loops around it, in order."""
    values, loops = sch.realize(key).iter_values, sch.loops_above(key)
    return len(values) == len(loops) and all(
        value is loop for value, loop in zip(values, loops, strict=True)
    )


def has_several_statements(loop: For) -> bool:
    """Whether statements follow each other directly in a loop."""
    return type(loop.body) is SeqStmt


def needs_multi_level_tiling(sch: ScheduleBase, key: BlockKey) -> bool:
    """Whether a block is a reduction that reads elements several times: a read does not depend on
    all of its data parallel iterators, but for those of one iteration.
    """
    block = sch.block(key)
    if is_root(sch, key) or is_tiled(block) or not is_trivially_bound(sch, key):
        return False
    kinds = {axis.kind for axis in block.iter_vars}
    if REDUCTION not in kinds or not kinds <= {SPATIAL, REDUCTION} or len(block.writes) != 1:
        return False
    spatial = {
        axis.var
        for axis in block.iter_vars
        if axis.kind == SPATIAL and axis.dom is not None and not is_const(axis.dom.extent, 1)
    }
    return any(not spatial <= _variables(region) for region in block.reads)


def _variables(region: BufferRegion) -> set[Var]:
    return {*variables_of(*(one for bound in region.region for one in (bound.min, bound.extent)))}


def lengths(sch: ScheduleBase, key: BlockKey) -> tuple[int, int] | None:
    """The numbers of data parallel and of reduction iterations of a block; None if they are not
    known, or loops are of other kinds.
    """
    found = {SPATIAL: 1, REDUCTION: 1}
    for loop in sch.loops_above(key):
        kind, extent = kind_of_loop(sch, key, loop), extent_of(sch, loop)
        if kind not in found or extent is None:
            return None
        found[kind] *= extent
    return found[SPATIAL], found[REDUCTION]


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
    found = lengths(sch, key)
    if found is None:
        return False
    spatial, reduction = found
    if needs_multi_level_tiling(sch, key):
        return spatial < reduction and spatial <= jobs
    return reduction > 1


class Correspondence(NamedTuple):
    """How the indices of a read follow those of a write: each is one of the write's, shifted by a
    constant, or constant.

    `is_ordered`: in the order of the write. `is_injective`: none occurs twice.
    """

    is_ordered: bool
    is_injective: bool


def correspondence(read: BufferRegion, write: BufferRegion) -> Correspondence | None:
    """How a read follows a write; None if other indices occur."""
    places: dict[Expr, int] = {}
    for place, bound in enumerate(write.region):
        if not is_const(bound.extent, 1):
            return None
        if type(bound.min) is Var and bound.min not in places:
            places[bound.min] = place
        elif not isinstance(bound.min, IntImm):
            return None
    analyzer = Analyzer()
    found: list[int] = []
    for bound in read.region:
        if not is_const(bound.extent, 1):
            return None
        used = variables_of(bound.min)
        if not used:
            continue
        if len(used) != 1:
            return None
        (var,) = used
        shift = analyzer.simplify(bound.min - var)
        if var not in places or not isinstance(shift, IntImm):
            return None
        found.append(places[var])
    return Correspondence(found == sorted(found), len(found) == len(set(found)))


def follows(reads: Iterable[BufferRegion], writes: Sequence[BufferRegion]) -> bool:
    """Whether all reads of a block follow its only write in order, without repetition."""
    if len(writes) != 1:
        return False
    found = [correspondence(read, writes[0]) for read in reads]
    return all(one is not None and one.is_ordered and one.is_injective for one in found)


def has_branch(block: Block) -> bool:
    """Whether a block chooses between statements or values."""
    return any(
        type(part) in (IfThenElse, Select)
        or (isinstance(part, Call) and part.op == "tir.if_then_else")
        for part in walk(block.body)
    )


def calls_of(block: Block) -> set[str]:
    """The names of the intrinsics that a block calls."""
    return {str(part.op) for part in walk(block.body) if isinstance(part, Call)}


def split_factor(sch: Schedule, loop: Var) -> Any:
    """The factor, as it was given or sampled, by which `split` made a loop; None if it did not."""
    for entry in sch.trace.entries:
        if entry.method == "split":
            for factor, made in zip(entry.arguments["factors"], entry.results, strict=True):
                if made.key is loop:
                    return factor
    return None
