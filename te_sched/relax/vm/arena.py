"""Places of blocks in one piece of memory, where blocks that live at different times share bytes.

Must not know what is in blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

ALIGNMENT = 64  # of each block


class Lifetime(NamedTuple):
    """A block of a number of bytes, and the first and the last step that use it."""

    size: int
    first: int
    last: int


def offsets_in_arena(blocks: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Where each block begins, and the size of the arena; large blocks are placed first.

    >>> offsets_in_arena([Lifetime(64, 0, 1), Lifetime(100, 1, 2), Lifetime(8, 2, 3)])
    ([128, 0, 128], 192)
    """
    offsets = [0] * len(blocks)
    placed: list[tuple[int, int, Lifetime]] = []
    for number in sorted(range(len(blocks)), key=lambda number: -blocks[number].size):
        block, offset = blocks[number], 0
        for begin, end, other in sorted(placed):
            is_apart = other.last < block.first or block.last < other.first
            if not is_apart and offset < end and begin < offset + block.size:
                offset = -(-end // ALIGNMENT) * ALIGNMENT
        placed.append((offset, offset + block.size, block))
        offsets[number] = offset
    return offsets, max([end for _, end, _ in placed], default=0)
