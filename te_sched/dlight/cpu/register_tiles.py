"""The tile of sums that a product of matrices or a convolution keeps in registers.

Tiles are compared by a model of a core: the cycles of a multiplication of vectors, by what it needs
of each unit, and of storing the sums. Must not know blocks, loops, or what a tile is read from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from te_sched.dlight.cpu.vectors import DOT_PRODUCTS, MULTIPLY_ADDS, VectorRegisters
from te_sched.tensorir.facts.axes import MANY

_UNEVEN = 4.0  # what vectors of more than a register cost that end in a part of one
_MOST_ROWS = 14  # of a tile
_MOST_PADDED = 8  # rows of a tile to which they are padded
_MOST_OPEN = 4  # the same of rows of an open number: there may be one only
_PADDED = 1.1  # what rows cost that are padded
_TAKEN_APART, _GATHERED = 0.8, 5.0  # cycles of storing a sum of rows that are padded
_HIDDEN_LOADS = 0.75  # of windows for each multiplication that cost no time
_UNSURE = 1.5  # times the fewest cycles: other tiles can be faster where the model errs
_OVERLAP = 6  # the norm of the cycles of all units: they overlap, unless several are the slowest


class RegisterTile(NamedTuple):
    """What is summed in registers: rows, in some lines, and columns."""

    lines: int
    rows: int
    columns: int


class InnermostWindow(NamedTuple):
    """The innermost sum of a convolution: elements, the steps of rows, and those of elements."""

    size: int = 1
    step: int = 1
    dilation: int = 1

    def elements(self, rows: int) -> int:
        """The elements that rows read, of which some may be those of several rows."""
        span = self.step * (rows - 1) + self.dilation * (self.size - 1) + 1
        return min(rows * self.size, span)


_ALONE = InnermostWindow()


# Which of several tiles, the best one by the model first, is taken.
TileChoice = Callable[[Sequence[RegisterTile]], RegisterTile]


def best_tile(tiles: Sequence[RegisterTile]) -> RegisterTile:
    """The best tile by the model."""
    return tiles[0]


def tile_of(
    columns: int | None,
    rows: int | None,
    vectors: VectorRegisters,
    *,
    lines: int = 1,
    pads_columns: bool = False,
    pads_rows: bool = False,
    is_of_dots: bool = False,
    is_plain: bool = True,
    transposed_depth: int | None = None,
    window: InnermostWindow = _ALONE,
    choice: TileChoice = best_tile,
) -> RegisterTile | None:
    """The tile whose sums fit in registers, with the fewest cycles for each multiplication, or
    another one with few by a `choice`; None if the columns have no divisor that fills a vector.

    Columns and rows that are None are known at the call only: they are padded. `pads_columns` and
    `pads_rows` tell that others can be, too, and `is_of_dots` that products of bytes are
    added, whose columns fill vectors. Unless `is_plain`, columns are windows, of which each row of
    a tile loads its own: where they are padded, they fill one register. Where rows of results lie
    side by side in memory, and not columns, `transposed_depth` is the number of products of a sum.
    Rows share elements of a `window` if registers hold them all.

    >>> tile_of(64, 56, VectorRegisters(16, 32))
    RegisterTile(lines=1, rows=14, columns=32)
    """
    ranking: list[tuple[float, RegisterTile]] = []
    most = (4 if is_plain or columns else 1) * vectors.lanes
    for width, waste in _widths(columns, vectors.lanes, most, pads_columns, is_of_dots):
        for number, height, padding in _heights(rows, lines, pads_rows):
            tile = RegisterTile(number, height, width)
            if not _is_held(tile, vectors):
                continue
            if is_plain:
                shared = window if holds_window(tile, window, vectors) else _ALONE
                cycles = _cycles(tile, shared, vectors, is_of_dots)
            else:
                cycles = _cycles_of_windows(tile, vectors)
            cost = waste * padding * cycles
            if transposed_depth:
                stores = _cycles_of_stores(tile, vectors.lanes, padding > 1)
                cost += waste * stores * vectors.lanes / transposed_depth
            ranking.append((cost, tile))
    ranking.sort(key=itemgetter(0))
    if not ranking or (ranking[0][1].columns == 1 and columns != 1):
        return None
    limit = _UNSURE * ranking[0][0]
    return choice([tile for cost, tile in ranking if cost <= limit])


def _widths(
    columns: int | None, lanes: int, most: int, is_padded: bool, is_of_dots: bool
) -> Iterator[tuple[int, float]]:
    """The columns of tiles, and by how much more is computed than columns."""
    for width in range(1, most + 1):
        wasted = 1 + width / (2 * MANY) if columns is None else _wasted(columns, width)
        if width % lanes and (is_of_dots or wasted > 1):
            continue
        if columns is not None and wasted > 1:
            is_needless = width >= columns + lanes  # registers without any column
            if is_needless or not is_padded:
                continue
        waste = wasted * _registers(width, lanes) * lanes / width
        yield width, waste * (_UNEVEN if width > lanes and width % lanes else 1)


def _heights(rows: int | None, lines: int, is_padded: bool) -> Iterator[tuple[int, int, float]]:
    """The lines and rows of tiles, and what padding costs."""
    for height in range(1, min(_MOST_ROWS, (rows or _MOST_ROWS) * lines) + 1):
        split = None if rows is None else in_lines(height, rows, lines)
        if split is not None:
            yield *split, 1.0
        elif height <= (_MOST_OPEN if rows is None else _MOST_PADDED if is_padded else 1):
            yield 1, height, _wasted(rows, height) * _PADDED


def in_lines(height: int, rows: int, lines: int) -> tuple[int, int] | None:
    """The lines of a tile and its rows of each, as few lines as divide theirs; None without any."""
    for count in range(1, height + 1):
        if height % count == 0 and lines % count == 0 and rows % (height // count) == 0:
            return count, height // count
    return None


def holds_window(tile: RegisterTile, window: InnermostWindow, vectors: VectorRegisters) -> bool:
    """Whether registers hold what all steps along a window read, beside the sums; also if there is
    no window.
    """
    registers = _registers(tile.columns, vectors.lanes)
    elements = tile.lines * window.elements(tile.rows)
    held = tile.lines * tile.rows * registers + registers + elements <= vectors.registers
    return window.size == 1 or held


def _is_held(tile: RegisterTile, vectors: VectorRegisters) -> bool:
    """Whether the sums, the columns of a step and an element of a row fit in registers."""
    registers = _registers(tile.columns, vectors.lanes)
    sums = tile.lines * tile.rows * registers
    return sums <= vectors.registers - 4 and sums + registers + 1 <= vectors.registers


def _registers(width: int, lanes: int) -> int:
    """The registers of a row of a tile: LLVM widens vectors to powers of two.

    Rows of whole registers are several vectors.
    """
    if width % lanes == 0:
        return width // lanes
    return max(1, (1 << (width - 1).bit_length()) // lanes)


def _cycles(
    tile: RegisterTile, window: InnermostWindow, vectors: VectorRegisters, is_of_dots: bool
) -> float:
    """The cycles of a multiplication of vectors in a tile that shares elements of a window."""
    core = DOT_PRODUCTS if is_of_dots else MULTIPLY_ADDS
    registers = _registers(tile.columns, vectors.lanes)
    sums = tile.lines * tile.rows * registers
    elements = tile.lines * window.elements(tile.rows) / window.size
    units = (
        1 / core.multiplications,
        core.latency / sums,
        (elements + registers) / sums / core.loads,
        registers * 4 * vectors.lanes / sums / core.second_level,
    )
    total = math.fsum(cycles**_OVERLAP for cycles in units)
    return float(total ** (1 / _OVERLAP))


def _cycles_of_windows(tile: RegisterTile, vectors: VectorRegisters) -> float:
    """The cycles of a multiplication of a vector of windows, up to a factor: LLVM keeps them in
    registers for the rows that share them, so that no more sums pay than hide their latency.
    """
    sums = tile.rows * _registers(tile.columns, vectors.lanes)
    loads = (tile.rows + _registers(tile.columns, vectors.lanes)) / sums
    hidden = MULTIPLY_ADDS.multiplications * MULTIPLY_ADDS.latency
    return max(loads, _HIDDEN_LOADS) * math.sqrt(max(1.0, hidden / sums))


def _cycles_of_stores(tile: RegisterTile, lanes: int, is_padded: bool) -> float:
    """The cycles of storing a sum beside those of other rows: for each vector of rows, and more for
    those that are not a power of two. LLVM gathers rows that are not all stored from wide sums.
    """
    if is_padded:
        return _GATHERED if tile.columns > 2 * lanes else _TAKEN_APART
    is_even = tile.rows & (tile.rows - 1) == 0
    return MULTIPLY_ADDS.transposed_store / tile.rows * (1 if is_even else 2)


def _wasted(extent: int | None, multiple: int) -> float:
    """By how much padding to a multiple enlarges an extent."""
    return 1.0 if extent is None else -(-extent // multiple) * multiple / extent
