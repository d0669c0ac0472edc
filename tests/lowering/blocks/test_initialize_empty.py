"""Reductions over no values give their initial ones, whatever the loops around them."""

import numpy as np
import pytest

import te_sched
from te_sched import te, tir, topi
from te_sched.lowering.blocks.initialize_empty import initialize_empty
from te_sched.script import tir as T


def row_sums(count):
    """The sums of three rows of `count` values."""
    A, k = te.placeholder((3, count), name="A"), te.reduce_axis((0, count), "k")
    C = te.compute((3,), lambda i: te.sum(A[i, k], axis=k), name="C")
    return te.create_prim_func([A, C])


def run(func, count):
    a = np.arange(3 * count, dtype="float32").reshape(3, count)
    c = np.full(3, 7, "float32")
    te_sched.build(func)(a, c)
    return c, a


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_sums_are_numpys(is_dynamic, count):
    found, a = run(row_sums(te.var("n") if is_dynamic else count), count)
    np.testing.assert_array_equal(found, a.sum(axis=1))


def split(sch):
    sch.split(sch.get_loops("C")[1], [None, 4])


def threads(sch):
    i, k = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    sch.bind(sch.split(k, [None, 4])[1], "threadIdx.x")


def outside(sch):
    i, k = sch.get_loops("C")
    sch.reorder(k, i)


def fused(sch):
    sch.fuse(*sch.get_loops("C"))


def fused_and_split(sch):
    sch.split(sch.fuse(*sch.get_loops("C")), [None, 4])


def partly_fused(sch):
    i, k = sch.get_loops("C")
    outer, inner = sch.split(i, [None, 2])
    sch.parallel(outer)
    sch.fuse(inner, k)


@pytest.mark.parametrize("count", [0, 1, 6])
@pytest.mark.parametrize("steps", [split, outside, fused, fused_and_split, partly_fused])
def test_schedules_keep_it(steps, count):
    sch = tir.Schedule(row_sums(te.var("n")))
    steps(sch)
    found, a = run(sch.mod["main"], count)
    np.testing.assert_array_equal(found, a.sum(axis=1))


def test_loops_of_threads_stay():
    sch = tir.Schedule(row_sums(te.var("n")))
    threads(sch)
    assert initialize_empty(sch.mod["main"]).script() == sch.mod["main"].script()


def test_the_initial_value_is_that_of_the_block():
    @T.prim_func
    def largest(a: T.handle, C: T.Buffer((2,), "int32")):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (2, n, m), "int32")
        for i, j, k in T.grid(2, n, m):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                with T.init():
                    C[vi] = -5
                C[vi] = T.max(C[vi], A[vi, vj, vk])

    built = te_sched.build(largest)
    for shape in ((2, 0, 3), (2, 3, 0), (2, 3, 4)):
        a, c = np.arange(np.prod(shape), dtype="int32").reshape(shape) - 9, np.zeros(2, "int32")
        built(a, c)
        np.testing.assert_array_equal(c, a.max(axis=(1, 2), initial=-5))


def test_texts_and_programs_of_known_sizes_are_left_alone():
    func = row_sums(5)
    assert initialize_empty(func) is func
    text = te_sched.lower(row_sums(te.var("n"))).script()
    assert "if k == 0:" in text


def test_a_domain_that_is_empty_has_a_block_that_initializes():
    none = te.placeholder((0, 4), name="none")
    found = initialize_empty(te.create_prim_func([none, topi.sum(none)]))
    assert "none_red_init" in str(found)


def test_two_reductions_in_a_fused_loop_are_initialized():
    @T.prim_func
    def both(a: T.handle, C: T.Buffer((3,), "float32"), D: T.Buffer((3,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (3, n))
        for f in T.serial(3 * n):
            with T.block("C"):
                vi, vk = T.axis.spatial(3, f // n), T.axis.reduce(n, f % n)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]
            with T.block("D"):
                vi, vk = T.axis.spatial(3, f // n), T.axis.reduce(n, f % n)
                with T.init():
                    D[vi] = T.float32(-1)
                D[vi] = T.max(D[vi], A[vi, vk])

    built = te_sched.build(both)
    for n in (0, 1, 4):
        a = np.arange(3 * n, dtype="float32").reshape(3, n)
        c, d = np.full(3, 7, "float32"), np.full(3, 7, "float32")
        built(a, c, d)
        np.testing.assert_array_equal(c, a.sum(axis=1))
        np.testing.assert_array_equal(d, a.max(axis=1, initial=-1))
