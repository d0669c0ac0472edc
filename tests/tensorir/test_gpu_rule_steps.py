"""What rules for GPUs ask of primitives: conditions, sizes that are not constant, loops of one
iteration.
"""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.errors import ScheduleError
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.index_map import IndexMap
from te_sched.script import tir as T


@T.prim_func
def rounded(a: T.handle, c: T.handle):
    m = T.int64()
    A = T.match_buffer(a, (m,), "float32")
    C = T.match_buffer(c, (m,), "float32")
    B = T.alloc_buffer(((m + 31) // 32 * 32,), "float32")
    for i in range((m + 31) // 32 * 32):
        with T.block("B"):
            vi = T.axis.spatial((m + 31) // 32 * 32, i)
            B[vi] = T.if_then_else(vi < m, A[vi], 0.0)
    for i in range(m):
        with T.block("C"):
            vi = T.axis.spatial(m, i)
            C[vi] = B[vi] + 1.0


@T.prim_func
def flattened(A: T.Buffer((4, 8), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((1, 32), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[0, vi * 8 + vj] = A[vi, vj] * 2.0
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = B[0, vi] + 1.0


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0


def test_blocks_of_a_size_rounded_up_take_their_reader():
    sch = tir.Schedule(rounded)
    sch.reverse_compute_inline("C")
    function = te_sched.build(sch.mod["main"], target="llvm")
    values = np.arange(45, dtype="float32")
    given, result = te_sched.nd.array(values), te_sched.nd.empty((45,))
    function(given, result)
    np.testing.assert_array_equal(result.numpy(), values + 1)


def test_blocks_that_store_in_another_order_are_inlined():
    sch = tir.Schedule(flattened)
    sch.compute_inline("B")
    (block,) = sch.get_child_blocks(sch.get_block("root"))
    assert str(sch.get(block).reads[0]) == "A[vi // 8, vi % 8]"
    values = np.arange(32, dtype="float32").reshape(4, 8)
    result = te_sched.nd.empty((32,))
    te_sched.build(sch.mod["main"], target="llvm")(te_sched.nd.array(values), result)
    np.testing.assert_array_equal(result.numpy(), values.ravel() * 2 + 1)


def test_fused_loops_count_in_the_order_of_the_loops():
    sch = tir.Schedule(symbolic)
    fused = sch.fuse(*sch.get_loops("B"))
    assert str(sch.get(fused).extent) == "n * m"


def test_unit_loops_have_32_bits():
    sch = tir.Schedule(symbolic)
    assert sch.get(sch.add_unit_loop("B")).loop_var.dtype == "int32"


def test_constants_of_a_map_keep_a_wider_type():
    sch = tir.Schedule(flattened)
    given = Var("i", "int32")
    sch.transform_block_layout("C", IndexMap((given,), (IntImm(0, "int64"), given)))
    assert [sch.get(one).loop_var.dtype for one in sch.get_loops("C")] == ["int64", "int32"]


def test_partial_results_with_a_condition_are_reordered():
    a = te.placeholder((3, 37), name="A")
    sch = tir.Schedule(te.create_prim_func([a, topi.sum(a, axis=1)]))
    _, k = sch.get_loops("A_red")
    part = sch.rfactor(sch.split(k, [None, 32])[1], 0)
    i, serial, thread = sch.get_loops(part)
    sch.reorder(i, thread, serial)
    sch.decompose_reduction(part, serial)
    values = np.random.RandomState(0).standard_normal((3, 37)).astype("float32")
    result = te_sched.nd.empty((3,))
    te_sched.build(sch.mod["main"], target="llvm")(te_sched.nd.array(values), result)
    np.testing.assert_allclose(result.numpy(), values.sum(1), rtol=1e-5)


def test_stores_that_are_no_sums_of_iterators_are_not_inlined():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi * 3 % 8] = A[vi]
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi]

    with pytest.raises(ScheduleError, match="not different iterators, or one-to-one sums"):
        tir.Schedule(main).compute_inline("B")
