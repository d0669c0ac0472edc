"""Copies whose neighboring results read a line of memory each, in square tiles: each line that a
tile reads is used as a whole.
"""

from __future__ import annotations

from typing import Any

from te_sched.dlight.cpu.contraction import PARTITIONED
from te_sched.dlight.structure import attempt, node_of
from te_sched.ir import dtypes
from te_sched.ir.visitor import variables_of
from te_sched.tensorir.facts.axes import are_spatial, extent_of
from te_sched.tensorir.facts.computations import loads_of
from te_sched.tensorir.handles import BlockRV
from te_sched.tir.schedule import Schedule

_LINE = 64  # bytes
_MANY = 16  # tiles for which those at the end, which are not full, do not count


def tile_transposed(sch: Schedule, block: BlockRV) -> bool:
    """Put a block with one loop for each axis into tiles, if it transposes; whether it does.

    The last loop of a tile runs in vectors.
    """
    node = node_of(sch, block)
    row_axis = _axis_of_rows(node)
    sizes = [extent_of(axis) for axis in node.iter_vars]
    if row_axis is None:
        return False
    bits = dtypes.parse(node.writes[0].buffer.dtype).bits
    widest = max(1, min(16, _LINE // max(1, bits // 8)))
    across, along = (_tile(sizes[at], widest) for at in (row_axis, -1))
    if across is None or along is None:
        return False

    def step(schedule: Schedule) -> None:
        loops = schedule.get_loops(block)
        rows, row = schedule.split(loops[row_axis], [None, across])
        columns, column = schedule.split(loops[-1], [None, along])
        schedule.reorder(*loops[row_axis + 1 : -1], columns, row, column)
        schedule.vectorize(column)
        for loop, size, tile in ((rows, sizes[row_axis], across), (columns, sizes[-1], along)):
            if size is None or size % tile:
                schedule.annotate(loop, PARTITIONED, 1)

    return attempt(lambda: step(sch.copy())) and attempt(lambda: step(sch))


def _axis_of_rows(node: Any) -> int | None:
    """The place of the axis, not the last one, along which an input lies in memory."""
    axes = [axis.var for axis in node.iter_vars]
    if not are_spatial(node.iter_vars):
        return None
    for load in [operand for operand in loads_of(node) if operand.indices]:
        places = [k for k, axis in enumerate(axes[:-1]) if axis is load.indices[-1]]
        if places and axes[-1] in variables_of(*load.indices[:-1]):
            return places[0]
    return None


def _tile(size: int | None, widest: int) -> int | None:
    """The size of a tile: a line, or half of one; those at the end are less if none divides."""
    if size is None or size > _MANY * widest:
        return widest
    fits = (edge for edge in (widest, widest // 2) if edge > 1 and size % edge == 0)
    return next(fits, None)
