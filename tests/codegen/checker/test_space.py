"""Numbers of threads and blocks, and arrays over them."""

from __future__ import annotations

import numpy as np
import pytest

from te_sched.codegen.checker.space import Space, all_dimensions

GRID, BLOCK = (3, 2, 2), (4, 3, 2)


def space(*blocks: int) -> Space:
    return Space(GRID, BLOCK, np.array(blocks))


@pytest.mark.parametrize(("axis", "extent"), list(zip("xyz", BLOCK, strict=True)))
def test_threads_along_an_axis(axis: str, extent: int) -> None:
    values = space(0).axis(f"threadIdx.{axis}")
    assert values.shape[2 - "xyz".index(axis)] == values.size == extent
    np.testing.assert_array_equal(values.reshape(-1), np.arange(extent))


def test_blocks_count_along_x_first() -> None:
    some = space(0, 2, 3, 7, 11)
    values = [some.axis(f"blockIdx.{axis}").reshape(-1).tolist() for axis in "xyz"]
    assert values == [[0, 2, 0, 1, 2], [0, 0, 1, 0, 1], [0, 0, 0, 1, 1]]


def test_threads_by_place_and_by_number_are_the_same() -> None:
    some = space(5, 7)
    numbers = some.numbers(some.shape)
    for position in ((0, 0, 0, 0), (1, 2, 3, 1), (1, 0, 2, 0)):
        thread = some.thread_at(position)
        z, y, x, block = position
        assert thread.thread == (x, y, z)
        number = int(numbers[position[:3]].item())
        assert thread == some.thread_of(number, int(some.blocks[block]))
    assert some.thread_at((0, 0, 0, 1)).block == (1, 0, 1)


def test_of_threads_that_agree_the_first_or_the_last() -> None:
    some = space(0)
    assert some.numbers((2, 1, 4, 1)).reshape(2, 4).tolist() == [[0, 1, 2, 3], [12, 13, 14, 15]]
    assert some.numbers((2, 1, 1, 1), last=True).reshape(-1).tolist() == [11, 23]


@pytest.mark.parametrize("threads", [1, 32, 40])
def test_warps_and_back(threads: int) -> None:
    some = Space((2, 1, 1), (threads, 1, 1), np.arange(2))
    values = np.arange(1, 2 * threads + 1).reshape(1, 1, threads, 2)
    warps = some.by_warp(values)
    assert warps.shape == (-(-threads // 32), 32, 2)
    assert warps[-1, (threads - 1) % 32].tolist() == [2 * threads - 1, 2 * threads]
    assert warps.sum() == values.sum()  # lanes that do not exist are zero
    np.testing.assert_array_equal(some.from_warps(warps), values)


def test_all_dimensions() -> None:
    assert all_dimensions(np.zeros(())).shape == (1, 1, 1, 1)
    assert all_dimensions(np.zeros((3, 2))).shape == (1, 1, 3, 2)
    assert all_dimensions(np.zeros((4, 1, 1, 3, 2))).shape == (4, 1, 1, 3, 2)
