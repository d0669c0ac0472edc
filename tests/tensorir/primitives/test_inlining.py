"""Blocks that are inlined into their producers, whose stores the consumers may read in part."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import ScheduleError
from tests.tensorir.programs import program

READS = """
@T.prim_func
def main(A: T.Buffer({made}, "float32"), C: T.Buffer({read}, "float32")):
    B = T.alloc_buffer({made})
    for i, j in T.grid{made}:
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for a, b in T.grid{read}:
        with T.block("C"):
            v0, v1 = T.axis.remap("SS", [a, b])
            C[v0, v1] = B[{index}] * 2.0
"""


@pytest.mark.parametrize(
    ("made", "read", "index", "condition", "element"),
    [
        ((1, 8), (1, 8), "v0, v1", "", "C[vi, vj]"),
        ((4, 8), (1, 8), "v0, v1", "i < 1", "C[vi, vj]"),
        ((4, 8), (1, 1), "v0, v1", "i < 1 and j < 1", "C[vi, vj]"),
        ((8, 1), (1, 8), "v0 * 8 + v1, 0", "", "C[vi // 8, vi % 8]"),
        ((4, 8), (2, 7), "v0 + 1, v1 + 1", "1 <= i and i < 3 and 1 <= j", "C[vi - 1, vj - 1]"),
        ((4, 8), (1, 8), "2, v1", "i == 2", "C[0, vj]"),
        ((4, 8), (2, 8), "v0 * 2, v1", "i // 2 * 2 == i", "C[vi // 2, vj]"),
    ],
)
def test_consumers_of_a_part(
    made: tuple[int, int], read: tuple[int, int], index: str, condition: str, element: str
) -> None:
    module = program(READS.format(made=made, read=read, index=index))
    sch = tir.Schedule(module)
    sch.reverse_compute_inline("C")
    text = sch.mod.script()
    assert text.partition("T.where(")[2].partition(")\n")[0] == condition
    assert f"{element} = (A[vi, vj] + T.float32(1)) * T.float32(2)" in text
    a = np.arange(np.prod(made), dtype="float32").reshape(made)
    results = [np.zeros(read, "float32") for _ in range(2)]
    for one, result in zip((module, sch.mod), results, strict=True):
        te_sched.build(one)(a, result)
    np.testing.assert_array_equal(*results)


def test_a_producer_with_an_init_is_a_reduction_without_reduction_axes_too() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.remap("S", [i])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            C[vi] = B[vi] * T.float32(2)
"""
    sch = tir.Schedule(program(source))
    with pytest.raises(ScheduleError, match="cannot inline block C into its producer") as error:
        sch.reverse_compute_inline("C")
    assert "its producer B is a reduction" in error.value.why


def test_tiles_of_which_the_consumer_reads_a_part() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((128,), "float32"), C: T.Buffer((100,), "float32")):
    B = T.alloc_buffer((8, 16))
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi * 16 + vj] + 1.0
    for a in range(100):
        with T.block("C"):
            v = T.axis.spatial(100, a)
            C[v] = B[v // 16, v % 16] * 2.0
"""
    sch = tir.Schedule(program(source))
    sch.reverse_compute_inline("C")
    assert "T.where(i * 16 + j < 100)" in sch.mod.script()
    a, c = np.arange(128, dtype="float32"), np.zeros(100, "float32")
    te_sched.build(sch.mod)(a, c)
    np.testing.assert_array_equal(c, (a[:100] + 1) * 2)


@pytest.mark.parametrize("read", [(1, 8), (2, 4)])
def test_consumers_that_no_element_determines_are_rejected(read: tuple[int, int]) -> None:
    sch = tir.Schedule(program(READS.format(made=(8, 8), read=read, index="v0 + v1, v1")))
    with pytest.raises(ScheduleError, match=r"iterators are not determined by B\[v0 \+ v1, v1\]"):
        sch.reverse_compute_inline("C")


def test_consumers_that_reshape_are_inlined() -> None:
    module = program(
        READS.format(
            made=(32, 32), read=(16, 64), index="(v0 * 64 + v1) // 32, (v0 * 64 + v1) % 32"
        )
    )
    sch = tir.Schedule(module)
    sch.reverse_compute_inline("C")
    assert "T.where" not in sch.mod.script()
    a = np.arange(1024, dtype="float32").reshape(32, 32)
    c = np.zeros((16, 64), "float32")
    te_sched.build(sch.mod)(a, c)
    np.testing.assert_array_equal(c, (a.reshape(16, 64) + 1) * 2)


def test_consumers_with_a_condition_are_rejected() -> None:
    sch = tir.Schedule(program(READS.format(made=(8, 8), read=(8, 8), index="v0, v1")))
    sch.split(sch.get_loops("C")[1], [None, 3])
    with pytest.raises(ScheduleError, match=r"it runs only where \w+ \* 3 \+ \w+ < 8"):
        sch.reverse_compute_inline("C")


def test_reductions_are_refused_with_the_primitive_that_moves_them() -> None:
    A, k = te.placeholder((8, 8), name="A"), te.reduce_axis((0, 8), "k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    sch = tir.Schedule(te.create_prim_func([A, C]))
    with pytest.raises(ScheduleError, match=r"loops of its consumer \(compute_at\)"):
        sch.compute_inline("B")
    with pytest.raises(ScheduleError, match=r"loops of its producer \(reverse_compute_at\)"):
        sch.reverse_compute_inline("B")
    loops = sch.get_loops("B")
    with pytest.raises(ScheduleError, match=r"sch.reorder\(\*loops\)"):
        sch.reorder(loops[::-1])
    with pytest.raises(ScheduleError, match=r"sch.fuse\(\*loops\)"):
        sch.fuse(loops)
    sch.compute_at("B", sch.get_loops("C")[0])
