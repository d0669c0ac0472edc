"""What reads the sums of a contraction, and is computed in its tiles. Must not know tiles."""

from __future__ import annotations

from typing import Any

from te_sched.dlight.structure import node_of
from te_sched.ir.blocks import Block
from te_sched.ir.expr import Call, Var
from te_sched.ir.visitor import variables_of, walk
from te_sched.tensorir.facts.axes import SPATIAL, extent_of
from te_sched.tensorir.facts.computations import is_injective, loads_of, stored
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule


def epilogue_of(sch: Schedule, block: BlockRV) -> BlockRV | None:
    """The only reader of a reduction, if it uses each sum once and in place."""
    readers = sch.get_consumers(block)
    if len(readers) != 1:
        return None
    node, reduction = node_of(sch, readers[0]), node_of(sch, block)
    if not is_injective(node) or len(node.writes) != 1 or sch.get_consumers(readers[0]):
        return None
    buffer = reduction.writes[0].buffer
    sums = [region for region in node.reads if region.buffer is buffer]
    if len(sums) != 1 or len(node.iter_vars) != len(buffer.shape):
        return None
    indices = [bound.min for bound in sums[0].region]
    is_in_place = all(
        (isinstance(index, Var) and index is axis.var) or _is_unit(index, axis)
        for index, axis in zip(indices, node.iter_vars, strict=True)
    )
    return readers[0] if is_in_place else None


def _is_unit(index: Any, axis: Any) -> bool:
    return extent_of(axis) == 1 and not variables_of(index)


def has_calls_across(node: Block, column: int, last: Block) -> bool:
    """Whether a block calls functions of sums, and neighbors of its results are not those along the
    `column`, an iterator of the sums, in vectors of which it can be computed.
    """
    spatial = [position for position, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    store = stored(last)
    if spatial[-1] == column or store is None:
        return False
    if not any(isinstance(part, Call) for part in walk(store.value)):
        return False
    if [*map(id, store.indices)] != [id(axis.var) for axis in last.iter_vars]:
        return False  # a copy of the results has other loops
    across, sums = last.iter_vars[spatial.index(column)], node.writes[0].buffer
    rest = {axis.var for axis in last.iter_vars if axis is not across and extent_of(axis) != 1}
    if not rest:
        return False  # only columns are left
    others = [load for load in loads_of(last) if load.buffer is not sums]
    return not any(rest & variables_of(*load.indices) for load in others)
