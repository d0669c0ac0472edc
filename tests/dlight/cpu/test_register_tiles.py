"""Tiles of sums: what fits in registers, and what a core computes fastest."""

import pytest

from te_sched.dlight.cpu.register_tiles import (
    InnermostWindow,
    RegisterTile,
    holds_window,
    in_lines,
    tile_of,
)
from te_sched.dlight.cpu.vectors import VectorRegisters


@pytest.mark.parametrize(
    ("columns", "rows", "vectors"),
    [
        (64, 56, VectorRegisters(8, 16)),
        (64, 56, VectorRegisters(16, 32)),
        (10, 64, VectorRegisters(8, 16)),
        (24, 1, VectorRegisters(4, 16)),
    ],
)
def test_sums_of_a_tile_fit_into_registers(columns, rows, vectors):
    _, height, width = tile_of(columns, rows, vectors)
    assert columns % width == 0
    assert rows % height == 0
    assert height * -(-width // vectors.lanes) <= vectors.registers - 4


@pytest.mark.parametrize("columns", [24, 25, 50, 56, 100])
@pytest.mark.parametrize("vectors", [VectorRegisters(16, 32), VectorRegisters(8, 16)], ids=str)
@pytest.mark.parametrize("can_pad", [False, True])
def test_tiles_of_more_than_a_register_are_whole_registers(columns, vectors, can_pad):
    """LLVM takes others apart; they took up to seven times as long."""
    width = tile_of(columns, 8, vectors, pads_columns=can_pad).columns
    assert width <= vectors.lanes or width % vectors.lanes == 0


def test_tile_needs_columns():
    assert tile_of(127, 8, VectorRegisters(8, 16)) is None
    assert tile_of(127, 8, VectorRegisters(8, 16), pads_columns=True).columns % 8 == 0


def test_rows_without_divisors_are_padded():
    vectors = VectorRegisters(16, 32)
    assert tile_of(64, 197, vectors).rows == 1
    assert tile_of(64, 197, vectors, pads_rows=True).rows > 4
    assert tile_of(64, 196, vectors, pads_rows=True) == tile_of(64, 196, vectors)
    assert tile_of(64, 1, vectors, pads_rows=True).rows == 1


def test_rows_of_a_tile_come_from_several_lines():
    """14 has no divisors but 7 that a tile can have; 4 are 2 of each of 2 lines."""
    assert in_lines(4, 14, 14) == (2, 2)
    assert in_lines(4, 28, 28) == (1, 4)
    assert in_lines(4, 7, 7) is None
    assert tile_of(16, 14, VectorRegisters(8, 16), lines=14) == (2, 2, 16)


WIDE, NARROW = VectorRegisters(16, 32), VectorRegisters(8, 16)


def test_sums_hide_the_latency_of_additions():
    """Eight sums are as many as two units start until the first is done: they leave no slack."""
    for tile in (tile_of(64, 56, WIDE), tile_of(512, 512, WIDE, pads_rows=True)):
        assert tile.rows * tile.columns // 16 > 8


def test_columns_and_an_element_have_registers_beside_the_sums():
    """Four vectors of columns beside 28 sums would leave none for an element."""
    assert tile_of(64, 7, WIDE).columns < 64
    assert tile_of(64, 6, WIDE).columns == 64
    assert tile_of(32, 3, NARROW, is_of_dots=True).columns < 32


def test_uneven_rows_cost_when_they_are_stored_side_by_side():
    """LLVM takes vectors of 14 elements apart; that counts if few products are added."""
    assert tile_of(32, 112, WIDE, transposed_depth=64).rows == 8
    assert tile_of(32, 14, WIDE, transposed_depth=64).rows in (7, 14)


@pytest.mark.parametrize(
    ("window", "rows", "elements"),
    [
        (InnermostWindow(3), 4, 6),
        (InnermostWindow(3, 2), 4, 9),
        (InnermostWindow(3, 4), 4, 12),
        (InnermostWindow(3, 1, 2), 4, 8),
    ],
)
def test_rows_share_elements_of_windows(window, rows, elements):
    assert window.elements(rows) == elements


def test_registers_hold_windows_beside_few_sums():
    assert holds_window(RegisterTile(1, 12, 16), InnermostWindow(3), WIDE)
    assert not holds_window(RegisterTile(1, 14, 32), InnermostWindow(3), WIDE)
    assert not holds_window(RegisterTile(2, 7, 32), InnermostWindow(3), WIDE)


def test_padded_rows_have_two_registers_where_they_are_stored_side_by_side():
    """LLVM gathers the elements of wider rows of sums: they took 1.5 times as long."""
    assert tile_of(192, 17, WIDE, lines=17, transposed_depth=128, pads_rows=True).columns <= 32
    assert tile_of(192, 6, WIDE).columns == 64
