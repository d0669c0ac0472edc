"""Tiles of transposed copies."""

import pytest

from te_sched import topi
from tests.dlight.functions import scheduled, tensor


@pytest.mark.parametrize(
    ("shape", "axes", "tiles"),
    [
        ((64, 48), (1, 0), (16, 16)),
        ((24, 40), (1, 0), (8, 8)),
        ((2, 32, 6, 16), (0, 3, 2, 1), (16, 16)),
        ((33, 48), (1, 0), None),
        ((4, 8, 16), (1, 0, 2), None),
    ],
)
def test_transposed_copies_are_tiled(shape, axes, tiles):
    """Each line of memory that a tile reads is used as a whole."""
    a, scalar = tensor(*shape), tensor(name="s")
    sch = scheduled([a, scalar, topi.add(topi.transpose(a, axes), scalar)])
    loops = [sch.get(one) for one in sch.get_loops(sch.get_block("T_add"))]
    if tiles is None:
        assert len(loops) <= len(shape) + 1
    else:
        assert len(loops) == len(shape) + 2
        assert (int(loops[-2].extent), int(loops[-1].extent)) == tiles
        assert loops[-1].kind == "vectorized"
