"""Windows of single channels: rows of sums in registers.

    for y, x, i, j in grid(h, w, 3, 3): C[c, y, x] += P[c, y + i, x + j] * W[c, i, j]

Each result reads elements of its own and few of its neighbors: a tile is some rows of a vector of
neighbors, and the windows are unrolled, so that each element is loaded once for all rows. The copy
of a channel with its border is made just before, in the cache. Must not know other contractions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from te_sched.dlight.cpu.epilogues import epilogue_of
from te_sched.dlight.cpu.vectors import VectorRegisters
from te_sched.dlight.structure import (
    SCHEDULED,
    contraction_of,
    is_worth_sharing,
    node_of,
    share_among_processors,
)
from te_sched.ir.blocks import Block
from te_sched.ir.expr import BufferLoad, IntImm
from te_sched.ir.visitor import variables_of
from te_sched.processors import usable_processors
from te_sched.tensorir.facts.axes import (
    REDUCTION,
    SPATIAL,
    extent_of,
    largest_divisor,
    multiple_of,
    size_of,
)
from te_sched.tensorir.facts.computations import is_copy, is_injective
from te_sched.tensorir.facts.nests import loop_extent, loops_of_kind
from te_sched.tensorir.handles import BlockRV, LoopRV
from te_sched.tir.schedule import Schedule

_MOST_STEPS = 64  # of a window that is unrolled
_FEW_STEPS, _LEAST_FILLED = 9, 0.75  # of a window, for which more of a vector must be filled
_MOST_UNROLLED = 512  # sums of a tile
_IN_FLIGHT = 4  # sums that hide the latency of additions, beside those of the next tile
_HIDDEN_LOADS = 0.45  # loads for each multiplication that cost no time
_WORTH = 1 << 16  # multiplications for which threads pay
_LIKELY = (7, 14, 28, 56, 112)  # rows and columns that calls may give
_WIDEST = 16  # registers of a row that is copied at once
_CACHE = 1 << 15  # bytes of the copies of channels


class ChannelWindows(NamedTuple):
    """How a block reduces windows: the iterators that count columns, and rows of the same channel,
    which may be one only; what windows read, their rows, and the steps of each row.
    """

    column: int
    row: int | None
    image: BufferLoad
    rows: int
    steps: int


def channel_windows_of(node: Block) -> ChannelWindows | None:
    """How a block reduces windows of single channels; None for other blocks."""
    contraction = contraction_of(node)
    if contraction is None or contraction.is_plain:
        return None
    spatial = [position for position, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    reduced = [axis for axis in node.iter_vars if axis.kind == REDUCTION]
    if spatial[-1] != contraction.column or None in map(extent_of, reduced):
        return None
    if not 1 < size_of(reduced) <= _MOST_STEPS:
        return None
    image, filters = (
        contraction.operands[contraction.wide],
        contraction.operands[1 - contraction.wide],
    )
    variables = {node.iter_vars[position].var: position for position in spatial}
    of_filters = variables_of(*filters.indices)
    if variables.keys() & of_filters - variables_of(*image.indices):
        return None  # several filters read a channel
    steps = {axis.var for axis in reduced if extent_of(axis) != 1}
    if steps & variables_of(*image.indices[:-2]) or len(image.indices) < 2:
        return None  # a filter reads several channels, or images above each other
    above = variables_of(*image.indices[-2:-1])
    rows = [variables[var] for var in above - of_filters if var in variables]
    row = rows[0] if len(rows) == 1 and rows[0] != contraction.column else None
    if len(spatial) <= 1 + (row is not None):
        return None  # one channel, whose rows are shared otherwise
    count = 1 if row is None else size_of([axis for axis in reduced if axis.var in above])
    return ChannelWindows(contraction.column, row, image, count, size_of(reduced) // count)


def tile_of_windows(
    rows: int | None,
    columns: int | None,
    window: tuple[int, int],
    vectors: VectorRegisters,
    is_padded: bool = False,
) -> tuple[int, int] | None:
    """The rows and columns of a tile, of whole vectors; if windows are padded already, divisors of
    theirs, or None without any. The size of a window is its rows and the steps of each. Numbers
    that calls give are None: tiles are for small and large ones.

    >>> tile_of_windows(40, 40, (3, 3), VectorRegisters(16, 32))
    (8, 16)
    >>> tile_of_windows(None, None, (3, 3), VectorRegisters(16, 32))
    (7, 16)
    """
    steps = math.prod(window)
    most = min(vectors.registers // 2, _MOST_UNROLLED // steps)
    best: tuple[float, int, int] | None = None
    for count in (1, 2, 4):
        width = count * vectors.lanes
        if count > 1 and width >= (columns or vectors.lanes) + vectors.lanes:
            break
        for height in range(1, min(rows or most, max(1, most // count)) + 1):
            waste = _waste(rows, height) * _waste(columns, width)
            if is_padded and waste > 1:
                continue
            loads = (height - 1 + window[0]) / (height * window[0])
            if steps > vectors.registers // 2:  # of filters, which do not stay in registers
                loads += 1 / (height * count)
            latency = max(1.0, _IN_FLIGHT / (height * count))
            cost = waste * math.sqrt(latency) * (1 + max(loads, _HIDDEN_LOADS))
            if best is None or cost < best[0]:
                best = cost, height, width
    return None if best is None else best[1:]


def _waste(extent: int | None, multiple: int) -> float:
    """How many times more there are if they are padded to a multiple."""
    extents = _LIKELY if extent is None else (extent,)
    return sum(-(-number // multiple) * multiple / number for number in extents) / len(extents)


def multiples_of_windows(node: Block, vectors: VectorRegisters) -> dict[int, int]:
    """The rows and columns of a tile of windows, by their iterators; none for other blocks."""
    windows = channel_windows_of(node)
    return {} if windows is None else _tile_of(node, windows, vectors, False)


def _tile_of(
    node: Block, windows: ChannelWindows, vectors: VectorRegisters, is_padded: bool
) -> dict[int, int]:
    count = multiple_of if is_padded else extent_of
    rows = 1 if windows.row is None else count(node.iter_vars[windows.row])
    columns = count(node.iter_vars[windows.column])
    least = _LEAST_FILLED * vectors.lanes
    if windows.rows * windows.steps <= _FEW_STEPS and columns is not None and columns < least:
        return {}  # copies of wider rows would take longer
    tile = tile_of_windows(rows, columns, (windows.rows, windows.steps), vectors, is_padded)
    if tile is None:
        return {}
    height, width = tile
    return {windows.column: width} | ({} if windows.row is None else {windows.row: height})


def schedule_channel_windows(sch: Schedule, block: BlockRV, vectors: VectorRegisters) -> bool:
    """Schedule a block that reduces windows of single channels; whether it is one, and was."""
    node = node_of(sch, block)
    windows = channel_windows_of(node)
    sizes = {} if windows is None else _tile_of(node, windows, vectors, True)
    if windows is None or not sizes:
        return False
    last = epilogue_of(sch, block)
    if last is None:
        last = sch.cache_write(block, 0, "local")
    else:
        sch.set_scope(block, 0, "local")
    spatial = [at for at, axis in enumerate(node.iter_vars) if axis.kind == SPATIAL]
    loops = dict(zip(spatial, sch.get_loops(last), strict=True))
    vector, lane = sch.split(loops.pop(windows.column), [None, sizes[windows.column]])
    rows, inner = None, [lane]
    if windows.row is not None:
        rows, row = sch.split(loops.pop(windows.row), [None, sizes[windows.row]])
        inner = [row, lane]
    # Of open sizes, what is computed for each loop over tiles takes longer: columns are fewer.
    is_open = extent_of(node.iter_vars[windows.column]) is None
    tiles = [loop for loop in ((vector, rows) if is_open else (rows, vector)) if loop is not None]
    sch.reorder(*loops.values(), *tiles, *inner)
    sch.compute_at(block, tiles[-1])
    reduction_loops = loops_of_kind(sch, sch.block_key(block, "dlight"), REDUCTION)
    block_loops = sch.get_loops(block)[len(loops) + len(tiles) :]
    reduced = [loop for loop in block_loops if loop.key in reduction_loops]
    tile = [loop for loop in block_loops if loop.key not in reduction_loops]
    sch.reorder(*reduced, *tile)
    for loop in (*reduced, *tile[:-1], *inner[:-1]):
        sch.unroll(loop)
    sch.annotate(reduced[0], "pragma_unroll_explicit", False)  # by LLVM: statements are judged
    sch.vectorize(tile[-1])
    sch.vectorize(lane)
    shared = _shared(sch, node, windows, [*loops.values()], rows)
    for pad in sch.get_producers(block):
        written = node_of(sch, pad)
        if not is_injective(written) or written.writes[0].buffer is not windows.image.buffer:
            continue
        if is_copy(written):
            sch.compute_inline(pad)
        else:
            _copy_in(sch, pad, shared, vectors.lanes)
    sch.annotate(shared, SCHEDULED, 1)
    sch.decompose_reduction(block, reduced[0])
    return True


def _shared(
    sch: Schedule,
    node: Block,
    windows: ChannelWindows,
    channels: list[LoopRV],
    rows: LoopRV | None,
) -> LoopRV:
    """The loop over some channels, or over parts of them, that processors share.

    What is copied in an iteration fits in the cache. Several small channels are copied before they
    are read: loads of what was just stored, in other vectors, would wait. Those of open sizes are
    copied one by one.
    """
    is_parallel = is_worth_sharing(node.iter_vars, _WORTH)
    wanted = 2 * usable_processors() if is_parallel else 1
    count = math.prod([_extent(sch, loop) for loop in channels])
    size = _bytes_of_channel(node, windows)
    together = 1 if size is None else min(_CACHE // size, count // wanted)
    if rows is not None and together < 1 and size is not None:
        parts = max(-(-wanted // count), -(-size // _CACHE))
        fit = max(1, _extent(sch, rows) // parts)
        part, _ = sch.split(rows, [None, largest_divisor(_extent(sch, rows), fit)])
        channels = [*channels, part]
    shared = sch.fuse(*channels) if len(channels) > 1 else channels[0]
    if together > 1:
        shared, _ = sch.split(shared, [None, largest_divisor(count, together)])
    if is_parallel:
        share_among_processors(sch, shared, node.iter_vars, _WORTH // 2)
    return shared


def _bytes_of_channel(node: Block, windows: ChannelWindows) -> int | None:
    """The bytes that the windows of a channel read; None if calls give its size."""
    within = {axis.var for axis in node.iter_vars if axis.kind == REDUCTION}
    load = windows.image
    shape = zip(load.indices, load.buffer.shape, strict=True)
    sizes = [size for index, size in shape if within & variables_of(index)]
    extents = [size.value for size in sizes if isinstance(size, IntImm)]
    return 4 * math.prod(extents) if len(extents) == len(sizes) else None


def _copy_in(sch: Schedule, pad: BlockRV, shared: LoopRV, lanes: int) -> None:
    """Copy what windows read in a loop over them, in vectors."""
    sch.compute_at(pad, shared)
    *_, rows, columns = sch.get_loops(pad)
    extent = loop_extent(sch, columns.key)
    if extent is None:
        if multiple_of(node_of(sch, pad).iter_vars[-1]) % lanes == 0:  # the rest is not read
            vector, lane = sch.split(columns, [None, lanes], disable_predication=True)
            sch.vectorize(lane)
            if rows.key != shared.key:
                sch.reorder(vector, rows)
        return
    width = largest_divisor(extent, _WIDEST * lanes)
    if width == extent:
        sch.vectorize(columns)
    elif width >= lanes:
        sch.vectorize(sch.split(columns, [None, width])[1])


def _extent(sch: Schedule, loop: LoopRV) -> int:
    return loop_extent(sch, loop.key) or 1
