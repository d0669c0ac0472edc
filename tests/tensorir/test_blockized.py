"""Blocks as tiles of a new block."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.expr import BufferRegion, IntImm, Range
from te_sched.tensorir.blockized import Tile, divided, outer_axes, united
from te_sched.tir import decl_buffer
from tests.tensorir.programs import MATMUL
from tests.tensorir.schedules import scheduled


class RefusedError(Exception):
    """The reason why a block is not a tile."""


def refused(why: str, help: str) -> Exception:
    return RefusedError(f"{why}: {help}")


def tiled(factors: list[list[int]], count: int) -> tuple[Any, Any, Any]:
    """The schedule of split loops, the key of the block, and the last `count` loops around it."""
    sch = scheduled(MATMUL)
    nests = [sch.split(loop, f) for loop, f in zip(sch.get_loops("C"), factors, strict=True)]
    sch.reorder(*[nest[0] for nest in nests], *[nest[1] for nest in nests])
    return sch, sch.get_block("C").key, [loop.key for loop in sch.get_loops("C")[-count:]]


def texts(values: Any) -> list[str]:
    return [str(value).splitlines()[-1] for value in values]


def test_iterators_are_divided() -> None:
    sch, key, inside = tiled([[2, 4], [4, 2], [8, 1]], 3)
    block = sch.block(key)
    division = divided(sch, key, inside, False, refused)
    axes, values = outer_axes(block, division)
    assert [axis.var.name for axis in axes] == ["vi_o", "vj_o", "vk_o"]
    assert [int(axis.dom.extent) for axis in axes] == [2, 4, 8]
    assert [axis.kind for axis in axes] == [axis.kind for axis in block.iter_vars]
    assert texts(values) == ["i_0", "j_0", "k_0"]
    tile = Tile(sch, key, inside, division, axes, False)
    assert [(axis.var.name, int(axis.dom.extent)) for axis, _ in tile.inner] == [
        *(("vi_i", 4), ("vj_i", 2))
    ]
    assert texts(tile.values.values()) == ["vi_o * 4 + vi_i", "vj_o * 2 + vj_i", "vk_o"]
    regions = texts(tile.relaxed([*block.reads, *block.writes]))
    assert regions == [
        "A[vi_o * 4:vi_o * 4 + 4, vk_o]",
        "B[vk_o, vj_o * 2:vj_o * 2 + 2]",
        "C[vi_o * 4:vi_o * 4 + 4, vj_o * 2:vj_o * 2 + 2]",
    ]


@pytest.mark.parametrize("keeps_init", [True, False])
def test_tiles_begin_or_read_what_they_update(keeps_init: bool) -> None:
    sch, key, inside = tiled([[2, 4], [4, 2], [2, 4]], 3)
    division = divided(sch, key, inside, False, refused)
    axes, _ = outer_axes(sch.block(key), division)
    tile = Tile(sch, key, inside, division, axes, False)
    block = tile.block(keeps_init)
    reads = [region.buffer.name for region in block.reads]
    assert (block.init is not None, reads) == (keeps_init, ["C", "A", "B"][keeps_init:])
    lines = [line.strip() for line in str(tile.statement(block)).splitlines()]
    assert "for i_1, j_1, k_1 in T.grid(4, 2, 4):" in lines
    first = [line.strip() for line in str(tile.initialization()).splitlines()]
    assert "for i_1, j_1 in T.grid(4, 2):" in first
    assert 'with T.block("C_init"):' in first
    assert "C[vi_o * 4 + vi_i_init, vj_o * 2 + vj_i_init] = T.float32(0)" in first


def test_loops_inside_must_be_the_finer_parts() -> None:
    sch, key, inside = tiled([[2, 4], [4, 2], [2, 4]], 4)  # k_0 is inside, too
    assert divided(sch, key, inside, False, refused)
    loops = sch.get_loops("C")
    sch.reorder(loops[3], loops[0])
    with pytest.raises(RefusedError, match="reorder the loops so that those inside are the finer"):
        divided(sch, key, [loop.key for loop in sch.get_loops("C")[1:]], False, refused)


def test_unions_of_regions_are_those_of_tvm() -> None:
    a, b = decl_buffer((8, 8), "int8", "A"), decl_buffer((8,), "int8", "B")

    def region(buffer: Any, *bounds: tuple[int, int]) -> BufferRegion:
        return BufferRegion(buffer, tuple(Range(IntImm(low), IntImm(size)) for low, size in bounds))

    regions = [region(a, (0, 2), (1, 1)), region(b, (3, 2)), region(a, (4, 1), (0, 2))]
    assert texts(united(regions)) == ["B[3:5]", "A[0:5, 0:2]"]
    assert united([]) == ()
