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
from te_sched.tensorir.stage_pipeline import why_not_pipeline


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


@T.prim_func
def divided(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = A[(vi * 4 + vi % 4) // 4]


def guarded(limit: int) -> str:
    """B is computed by some threads; C reads it in all that are needed."""
    return f"""
@T.prim_func(private=True)
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,), "float32")
    for t in range(16):
        for a, u in T.grid(8, 1):
            with T.block("B"):
                v = T.axis.spatial(64, t * 8 + a + u)
                T.where(t < {limit})
                B[v] = A[v] * 2.0
        for a in range(8):
            with T.block("C"):
                v = T.axis.spatial(64, t * 8 + a)
                T.where(t * 8 + a < 64)
                C[v] = B[v] + 1.0
"""


@pytest.mark.parametrize("write", [False, True])
def test_indices_of_copies_are_simplified(write):
    sch = tir.Schedule(divided)
    if write:
        sch.cache_write("C", 0, "local")
    sch.cache_read("C", 0, "local")
    assert str(sch.get(sch.get_block("C")).reads[0]) == "A_local[vi]"


def test_loops_of_partial_results_are_in_the_order_of_the_binding():
    a = te.placeholder((4, 16), name="a")
    sch = tir.Schedule(te.create_prim_func([a, topi.sum(a, axis=1)]))
    step, threads, inner, lanes = sch.split(sch.get_loops("a_red")[1], [None, 2, 1, 4])
    sch.reorder(step, inner, threads, lanes)
    partial = sch.rfactor(sch.fuse(threads, lanes), 0)
    # As TVM 0.19: a loop of one iteration is where the sum of the binding has it.
    names = ["vk1_1_k1_3_fused", "v_ax0", "vk1_2", "vk1_0"]
    assert [one.var.name for one in sch.get(partial).iter_vars] == names
    values = np.arange(64, dtype="float32").reshape(4, 16)
    result = te_sched.nd.empty((4,))
    te_sched.build(sch.mod["main"], target="llvm")(te_sched.nd.array(values), result)
    np.testing.assert_allclose(result.numpy(), values.sum(1))


def test_conditions_on_loops_around_do_not_keep_loops_in_order():
    sch = tir.Schedule(te_sched.script.from_source(guarded(8)))
    _, a, u = sch.get_loops("B")
    sch.reorder(u, a)
    assert [sch.get(one).extent for one in sch.get_loops("B")] == [16, 1, 8]


@pytest.mark.parametrize(
    ("value", "is_accepted"),
    [("b * 4 + a", True), ("b * 3 + a", True), ("a * 4 + b", True), ("b * 5 + a", False)],
)
def test_loops_inside_of_others_are_affine_with_these_or_alone(value, is_accepted):
    """As TVM 0.19: `b * 4 + a` is affine with the loop a, `a * 4 + b` in the inner loops alone."""
    sch = tir.Schedule(
        te_sched.script.from_source(f"""
@T.prim_func(private=True)
def main(A: T.Buffer((32, 8), "float32"), C: T.Buffer((32, 8), "float32")):
    for a, b, j in T.grid(4, 2, 8):
        with T.block("C"):
            vi = T.axis.spatial(32, {value})
            vj = T.axis.spatial(8, j)
            C[vi, vj] = A[vi, vj]
""")
    )
    _, b, j = sch.get_loops("C")
    if not is_accepted:
        with pytest.raises(ScheduleError, match="not affine in the loops"):
            sch.reorder(j, b)
        return
    sch.reorder(j, b)
    assert [sch.get(one).extent for one in sch.get_loops("C")] == [4, 8, 2]


def test_a_condition_on_threads_is_one_on_their_elements():
    sch = tir.Schedule(te_sched.script.from_source(guarded(8)))
    assert why_not_pipeline(sch, sch.get_block("C").key) == ""
    sch = tir.Schedule(te_sched.script.from_source(guarded(7)))
    assert why_not_pipeline(sch, sch.get_block("C").key) == (
        "block C reads more of B than is written before in the loops around it"
    )
