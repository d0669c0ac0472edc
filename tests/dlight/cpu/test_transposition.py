"""Tiles of transposed copies."""

import numpy as np
import pytest

import te_sched
from te_sched import dlight, te, topi
from tests.dlight.functions import LLVM, scheduled, tensor


@pytest.mark.parametrize(
    ("shape", "axes", "tiles"),
    [
        ((64, 48), (1, 0), (16, 16)),
        ((24, 40), (1, 0), (8, 8)),
        ((2, 32, 6, 16), (0, 3, 2, 1), (16, 16)),
        ((33, 48), (1, 0), None),
        ((293, 271), (1, 0), (16, 16)),
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


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "bool"])
@pytest.mark.parametrize(
    ("open_axes", "axes", "sizes"),
    [
        ((0,), (1, 0), [(1, 48), (16, 48), (37, 48), (0, 48)]),
        ((1,), (1, 0), [(32, 1), (32, 64), (32, 67)]),
        ((0, 1), (1, 0), [(1, 1), (1, 31), (31, 1), (61, 53), (64, 32)]),
        ((0,), (1, 2, 0), [(1, 3, 24), (19, 3, 24), (32, 3, 24)]),
        ((1,), (2, 1, 0), [(20, 1, 33), (20, 7, 33)]),
    ],
)
def test_transposed_copies_of_open_sizes_are_tiled(open_axes, axes, sizes, dtype):
    """What is left of a line at the end is copied one by one."""
    shape = [te.var("n", "int64") if at in open_axes else k for at, k in enumerate(sizes[0])]
    a = tensor(*shape, dtype=dtype)
    func = te.create_prim_func([a, topi.transpose(a, axes)], index_dtype_override="int64")
    sch = dlight.cpu.Default().apply(func, LLVM, False)
    built = te_sched.build(sch.mod, target="llvm")
    across = {axes[-1], len(axes) - 1}
    if across & set(open_axes):
        assert "T.vectorized" in sch.mod.script()
        assert "pragma_loop_partition_hint" in sch.mod.script()
    for size in sizes:
        values = np.random.default_rng(0).integers(0, 2, size).astype(dtype)
        result = np.full([size[axis] for axis in axes], 3).astype(dtype)
        built["main"](values, result)
        np.testing.assert_array_equal(result, values.transpose(axes))
