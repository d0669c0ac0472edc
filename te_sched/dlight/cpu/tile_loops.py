"""The order of the loops over tiles of a product of matrices or a convolution.

Blocks of rows stay in the second-level cache while the panels of columns pass by. Where all rows
stay there and the panels do not, a panel stays while the rows pass by. Processors share the loops
around, as evenly as these allow. Must not know what is computed of a tile.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from te_sched.dlight.structure import Contraction
from te_sched.ir import dtypes
from te_sched.ir.expr import BufferLoad, IntImm, Var
from te_sched.processors import usable_processors
from te_sched.tensorir.facts.axes import REDUCTION, largest_divisor, size_of
from te_sched.tensorir.facts.nests import loop_extent
from te_sched.tensorir.handles import LoopRV
from te_sched.tir.schedule import Schedule

_BLOCK = 1 << 17  # bytes of a block of rows
_SECOND_LEVEL = 1 << 20  # bytes of the cache
_EVEN = 1.05  # how much longer than the others a processor may work
_LESS = 2  # how many times fewer bytes pay to turn the order


class TileLoops(NamedTuple):
    """The loops of the block of results: over tiles, and over a tile.

    panels : over the columns of tiles.
    before, after : over what changes the panel, and what uses the same one.
    rows : over the rows of tiles, if there are rows.
    inner, column : over lines, rows and columns of a tile.
    """

    panels: LoopRV
    before: list[LoopRV]
    after: list[LoopRV]
    rows: LoopRV | None
    inner: list[LoopRV]
    column: LoopRV


def order_tiles(
    sch: Schedule,
    node: Any,
    contraction: Contraction,
    loops: TileLoops,
    sizes: dict[int | None, int],
    is_parallel: bool,
) -> tuple[list[LoopRV], LoopRV]:
    """Order the loops over tiles: those that processors share, and the last one around a tile.
    `sizes` are those of a tile by the iterators of the block.
    """
    wanted = 2 * usable_processors()  # parts
    around = _size(sch, loops.before)
    needed = -(-wanted // around) if is_parallel else 1
    rows = math.prod([size for at, size in sizes.items() if at not in (None, contraction.column)])
    panels = _size(sch, [loops.panels]) * around
    blocks, rest = _blocks_of_rows(
        sch, node, contraction, loops.after, loops.rows, rows, needed, panels
    )
    if rest and _is_for_panels(sch, node, contraction, loops, blocks, sizes[contraction.column]):
        outer = [*loops.before, loops.panels]
        sch.reorder(*outer, *blocks, *rest, *loops.inner, loops.column)
        return outer if _is_even(sch, outer) else [*outer, *blocks], rest[-1]
    outer = [*loops.before, *blocks]
    sch.reorder(*outer, loops.panels, *rest, *loops.inner, loops.column)
    if _size(sch, outer) < wanted or (is_parallel and not _is_even(sch, outer)):
        return [*outer, loops.panels], rest[-1] if rest else loops.panels
    return outer, rest[-1] if rest else loops.panels


def _is_even(sch: Schedule, loops: list[LoopRV]) -> bool:
    """Whether processors have about the same number of iterations."""
    extents = [loop_extent(sch, loop.key) for loop in loops]
    return None in extents or _are_even(_size(sch, loops))


def _are_even(parts: int) -> bool:
    """Whether a number of parts is about the same for each processor."""
    processors = usable_processors()
    return -(-parts // processors) * processors <= _EVEN * parts


def _is_for_panels(
    sch: Schedule,
    node: Any,
    contraction: Contraction,
    loops: TileLoops,
    blocks: list[LoopRV],
    columns: int,
) -> bool:
    """Whether fewer bytes come from beyond the second-level cache if rows pass by panels."""
    extents = [loop_extent(sch, loop.key) for loop in (*loops.before, loops.panels, *blocks)]
    rows = _bytes_of(contraction.operands[1 - contraction.wide])
    if None in extents or rows is None:
        return False
    panels, processors = _size(sch, [loops.panels]), usable_processors()
    size = dtypes.parse(contraction.operands[contraction.wide].dtype).bits // 8
    panel = columns * size_of([axis for axis in node.iter_vars if axis.kind == REDUCTION]) * size
    rows //= _size(sch, loops.before)
    block = rows // max(1, _size(sch, blocks))
    is_held = panels * panel + block <= _SECOND_LEVEL
    by_blocks = panels * panel * (processors if is_held else _size(sch, blocks)) + rows
    by_panels = panels * panel + rows * (processors if rows + panel <= _SECOND_LEVEL else panels)
    return _LESS * by_panels <= by_blocks


def _bytes_of(load: BufferLoad) -> int | None:
    """The bytes of a buffer, if its shape is constant."""
    extents = [size.value if isinstance(size, IntImm) else None for size in load.buffer.shape]
    if None in extents:
        return None
    elements = math.prod(extent for extent in extents if extent is not None)
    return elements * dtypes.parse(load.dtype).bits // 8


def _blocks_of_rows(
    sch: Schedule,
    node: Any,
    contraction: Contraction,
    after: list[Any],
    row_outer: Any,
    rows: int,
    needed: int,
    panels: int,
) -> tuple[list[Any], list[Any]]:
    """The loops around the panels, and those inside of them: of rows that the cache holds.

    There are as many blocks as are `needed` for all processors, if there are rows, and with the
    panels an even number for each. Rows that are known at the call only are one block, if the
    panels are enough for all processors, and an even number for each or too large to be read for
    each tile.
    """
    other = contraction.operands[1 - contraction.wide]
    reduced = [axis for axis in node.iter_vars if axis.kind == REDUCTION]
    alone = {index for index in other.indices if isinstance(index, Var)}
    depth = size_of([axis for axis in reduced if axis.var in alone])
    inner = [] if row_outer is None else [row_outer]
    extents = [_size(sch, [loop]) for loop in after]

    def in_blocks(loop: Any, across: int) -> Any:
        extent = loop_extent(sch, loop.key)
        fit = min(_BLOCK // max(4 * depth * across, 1), (extent or 1) // needed)
        size = largest_divisor(extent, max(1, fit))
        if needed > 1 and extent:
            parts = panels * _size(sch, after) if loop in after else panels * extent
            even = [
                part
                for part in range(1, size + 1)
                if not extent % part and _are_even(parts // part)
            ]
            size = max(even, default=size)
        return sch.split(loop, [None, size])

    places = [at for at, extent in enumerate(extents) if extent > 1]
    if not places:
        if row_outer is None:
            return after, []
        if loop_extent(sch, row_outer.key) is None:
            size = _bytes_of(contraction.operands[contraction.wide])
            is_shared = panels >= 2 * usable_processors() and (
                _are_even(panels) or size is None or size > _SECOND_LEVEL // 2
            )
            is_shared |= None in [loop_extent(sch, loop.key) for loop in after]
            return (after, [row_outer]) if is_shared else ([*after, row_outer], [])
        outer, within = in_blocks(row_outer, rows)
        return [*after, outer], [within]
    at = places[-1]
    across = 1 if row_outer is None else _size(sch, [row_outer]) * rows
    outer, within = in_blocks(after[at], across)
    return [*after[:at], outer, *after[at + 1 :]], [within, *inner]


def _size(sch: Schedule, loops: list[LoopRV]) -> int:
    """The product of extents, with one for each that is not constant."""
    return math.prod([loop_extent(sch, loop.key) or 1 for loop in loops])
