"""Blocks in an arena: those that live at the same time share no byte."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from te_sched.relax.vm.arena import ALIGNMENT, Lifetime, offsets_in_arena


def test_no_blocks_need_no_memory() -> None:
    assert offsets_in_arena([]) == ([], 0)


def test_blocks_that_live_apart_share_memory() -> None:
    offsets, size = offsets_in_arena([Lifetime(100, 0, 1), Lifetime(80, 2, 3)])
    assert offsets == [0, 0]
    assert size == 100


@pytest.mark.parametrize("seed", range(5))
def test_blocks_that_live_together_do_not_overlap(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    blocks = []
    for _ in range(30):
        first = int(numbers.integers(0, 20))
        size, length = int(numbers.integers(0, 400)), int(numbers.integers(0, 6))
        blocks.append(Lifetime(size, first, first + length))
    offsets, size = offsets_in_arena(blocks)
    assert all(offset % ALIGNMENT == 0 for offset in offsets)
    assert size == max(offset + block.size for offset, block in zip(offsets, blocks, strict=True))
    placed = list(zip(offsets, blocks, strict=True))
    for (begin, block), (other_begin, other) in combinations(placed, 2):
        live_together = block.first <= other.last and other.first <= block.last
        overlap = begin < other_begin + other.size and other_begin < begin + block.size
        assert not (live_together and overlap and block.size and other.size)
    assert size < sum(block.size for block in blocks)
