"""Tiles of products whose neighbors in memory are reduced."""

import pytest

from te_sched.dlight.gpu.inner_products import low_batch_tile_of, tile_of
from te_sched.target import Target
from tests.dlight.gpu.running import ADRENO


@pytest.mark.parametrize(
    ("target", "rows", "depth", "one", "several"),
    [  # as TVM 0.19: threads along rows and depth, vectors of lanes
        ("cuda", 4096, 4096, (16, 32, 2, 4), (16, 32, 2, 4)),
        ("cuda", 4096, 512, (16, 32, 2, 4), (4, 64, 2, 4)),
        ("cuda", None, 4096, (1, 64, 2, 4), None),
        ("cuda", 4096, 192, (16, 32, 1, 2), (4, 64, 1, 1)),
        ("rocm", 4096, 4096, (4, 64, 2, 4), (4, 64, 2, 4)),
        ("rocm", 4097, 4096, (1, 128, 2, 4), (1, 128, 2, 4)),
        ("metal", 4096, 4096, (2, 64, 8, 1), (8, 32, 2, 4)),
        ("metal", 4097, 4096, (4, 16, 8, 1), (8, 32, 2, 4)),
        (ADRENO, 4096, 4096, (2, 32, 1, 8), (2, 32, 1, 8)),
        ("webgpu", 4096, 4096, (1, 64, 8, 1), (1, 64, 8, 1)),
    ],
)
def test_tiles_are_those_of_tvm(target, rows, depth, one, several):
    machine = Target(target)
    for choice, want in ((tile_of, one), (low_batch_tile_of, several)):
        if want is not None:
            tile = choice(machine, rows, depth).fitted(machine, depth, 1)
            assert (tile.rows, tile.depth, tile.vectors, tile.lanes) == want
