"""Tiles of products whose neighbors in memory are not reduced."""

import pytest

from te_sched.dlight.gpu.outer_products import outer_tile_of
from te_sched.target import Target
from tests.dlight.gpu.running import ADRENO


@pytest.mark.parametrize(
    ("target", "columns", "expected"),
    [  # as TVM 0.19: threads along columns and depth, lanes
        ("metal", 4096, (128, 4, 4)),
        ("metal", None, (256, 1, 4)),
        (ADRENO, 4096, (64, 4, 8)),
        (ADRENO, None, (256, 1, 8)),
        ("cuda", 4096, None),
        ("opencl", 4096, None),
    ],
)
def test_tiles_are_those_of_tvm(target, columns, expected):
    tile = outer_tile_of(Target(target), columns)
    assert expected == (tile and (tile.columns, tile.depth, tile.lanes))
