"""Tiles of the size of an intrinsic."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.errors import ScheduleError
from te_sched.tensorir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN
from te_sched.tensorir.tiling import tile_with_tensor_intrin
from tests.tensorir.programs import MATMUL, STAGES, function, program

WIDE = function(
    "A:8,30 B:20,30 C:8,20",
    """
for i, j, k in T.grid(8, 20, 30):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0.0
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
""",
)
EVEN = WIDE.replace("30", "32").replace("20", "64")


def test_the_inner_loops_are_those_of_the_intrinsic() -> None:
    sch = tir.Schedule(program(EVEN))
    inner = tile_with_tensor_intrin(sch, sch.get_block("C"), VNNI_DOT_16x4_INTRIN)
    loops = sch.get_loops("C")
    assert [loop.name for loop in loops] == ["i", "j_0", "k_0", "j_1", "k_1"]
    assert inner is not None
    assert inner.key is loops[3].key
    assert [int(sch.get(loop).extent) for loop in loops] == [8, 4, 8, 16, 4]


def test_iterators_are_padded_if_that_is_allowed() -> None:
    sch = tir.Schedule(program(WIDE))
    assert tile_with_tensor_intrin(sch, sch.get_block("C"), VNNI_DOT_16x4_INTRIN) is None
    assert "A_pad" not in sch.mod.script()
    inner = tile_with_tensor_intrin(sch, sch.get_block("C"), VNNI_DOT_16x4_INTRIN, True)
    assert inner is not None
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("C")] == [8, 2, 8, 16, 4]


def test_a_block_without_such_iterators_has_no_tiles() -> None:
    sch = tir.Schedule(program(STAGES))
    assert tile_with_tensor_intrin(sch, sch.get_block("B"), VNNI_DOT_16x4_INTRIN) is None
    sch = tir.Schedule(program(EVEN))
    sch.fuse(*sch.get_loops("C")[:2])
    assert tile_with_tensor_intrin(sch, sch.get_block("C"), VNNI_DOT_16x4_INTRIN) is None


def test_rejects_other_arguments() -> None:
    sch = tir.Schedule(program(MATMUL))
    with pytest.raises(ScheduleError, match="there is no intrinsic 'none'"):
        tile_with_tensor_intrin(sch, sch.get_block("C"), "none")
    with pytest.raises(ScheduleError, match="a schedule is expected, got a str"):
        tile_with_tensor_intrin("sch", sch.get_block("C"), "none")  # type: ignore[arg-type]
