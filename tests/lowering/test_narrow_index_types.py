"""Which arithmetic is done in 32 bits."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched import te
from te_sched.ir import ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import Cast
from te_sched.ir.stmt import Evaluate, IfThenElse, IRModule, Stmt
from te_sched.lowering.narrow_index_types import narrow_index_types
from te_sched.script import tir as T
from tests.lowering.build import function, loop, read, store, text, thread, var

A = decl_buffer((64,), name="A")
LONG = decl_buffer((64,), "int64", name="LONG")
i, tx = var("i", "int64"), var("tx")
j, k = var("j"), var("k")


def narrowed(body: Stmt) -> str:
    return text(narrow_index_types(function(body, A, LONG)))


def test_loops_and_indices_are_narrowed() -> None:
    found = narrowed(loop(i, 8, store(A, 0.0, i * 8 + ops.const(3, "int64"))))
    assert found == "for i in range(8):\n    A[i * 8 + 3] = T.float32(0)"


def test_loops_are_narrowed_to_16_bits() -> None:
    func = function(loop(k, 8, store(A, 1.5, k * 8)), A)
    narrow = narrow_index_types(func, target_bits=16)
    assert narrow.body.loop_var.dtype == "int16"
    data = te_sched.nd.array(np.zeros(64, "float32"))
    te_sched.build(IRModule({"f": narrow}), target="llvm")["f"](data)
    assert (data.numpy() == np.where(np.arange(64) % 8 == 0, 1.5, 0)).all()


def test_loops_beyond_16_bits_stay() -> None:
    func = function(loop(k, 2**12, store(A, 1.5, k * 16)), A)
    assert narrow_index_types(func, target_bits=16).body.loop_var is k


def test_wide_thread_axes_are_narrowed() -> None:
    body = thread("threadIdx.x", ops.const(8, "int64"), i, store(A, 0.0, i * 8))
    narrow = narrow_index_types(function(body, A)).body
    assert (narrow.node.var.dtype, narrow.value.dtype) == ("int32", "int32")
    assert "* 8]" in str(narrow)


def test_casts_of_threads_in_indices_are_dropped() -> None:
    body = thread("threadIdx.x", 8, tx, store(A, 0.0, Cast("int64", tx) * 8))
    assert "A[threadIdx_x * 8]" in narrowed(body).replace("tx", "threadIdx_x")


def test_extents_of_narrow_loops_are_narrowed() -> None:
    extent = ops.const(18, "int64") - Cast("int64", k) * 5
    found = narrowed(loop(k, 3, loop(j, Cast("int32", extent), store(A, 0.0, j))))
    assert "for j in range(18 - k * 5):" in found


def test_guards_follow_their_loop() -> None:
    found = narrowed(loop(i, 8, IfThenElse(i * 9 < 64, store(A, 0.0, i))))
    assert "if i * 9 < 64:" in found


def test_large_values_keep_their_loop_wide() -> None:
    body = loop(i, 8, store(A, 0.0, i * 2**40 // 2**38))
    func = function(body, A)
    assert narrow_index_types(func) is func


def test_stored_values_keep_their_type() -> None:
    assert 'LONG[i] = T.Cast("int64", i * 2)' in narrowed(loop(i, 8, store(LONG, i * 2, i)))


def test_data_is_not_narrowed() -> None:
    found = narrowed(loop(i, 8, store(LONG, read(LONG, i) * 3, i)))
    assert "LONG[i] = LONG[i] * T.int64(3)" in found


def test_foreign_functions_get_what_they_got() -> None:
    found = narrowed(loop(i, 8, Evaluate(call_extern("int32", "f", i))))
    assert 'f", T.Cast("int64", i))' in found


def test_loop_over_what_memory_says_stays_wide() -> None:
    func = function(loop(i, 8, store(A, 0.0, read(LONG, i) + i)), A, LONG)
    assert narrow_index_types(func) is func


def test_narrow_program_is_the_same_function() -> None:
    func = function(loop(tx, 8, store(A, 0.0, tx)), A)
    assert narrow_index_types(func) is func


def test_data_that_threads_widen_is_narrowed_and_widened_again() -> None:
    A = te.placeholder((8,), name="A", dtype="int8")
    B = te.compute((8,), lambda i: A[i].astype("int64"), name="B")
    s = te.create_schedule(B.op)
    assert 'T.Cast("int64", A[i])' in te_sched.lower(s, [A, B], simple_mode=True).script()
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    text = te_sched.lower(s, [A, B], simple_mode=True).script()
    assert 'T.Cast("int64", T.Cast("int32", A[threadIdx_x]))' in text


def test_operands_that_do_not_fit_make_the_operation_wide() -> None:
    total = ops.maximum(read(LONG, tx) + Cast("int64", tx), ops.const(0, "int64"))
    found = narrowed(loop(tx, 8, store(A, 0.0, ops.minimum(total, ops.const(63, "int64")))))
    wide = 'LONG[tx] + T.Cast("int64", tx)'
    assert f"A[T.min(T.max({wide}, T.int64(0)), T.int64(63))]" in found


def test_bits_of_wide_integers_are_of_one_type() -> None:
    index = ops.bitwise_and(read(LONG, i), ops.const(63, "int64"))
    assert "A[T.bitwise_and(LONG[i], T.int64(63))]" in narrowed(loop(i, 8, store(A, 0.0, index)))


def test_nested_operands_of_other_types_are_looked_at_once() -> None:
    wide = Cast("int64", i) * ops.const(2**40, "int64")
    for k in range(60):
        wide = ops.minimum(tx + ops.const(k, "int64"), wide)
    found = narrowed(thread("threadIdx.x", 8, tx, loop(i, 8, store(A, 0.0, wide))))
    assert "T.min" in found


def test_loops_without_uses_stay() -> None:
    found = narrowed(loop(i, 8, store(A, 0.0, 3)))
    assert found == "for i in range(T.int64(8)):\n    A[3] = T.float32(0)"


def test_extents_of_wide_threads_stay() -> None:
    text = """
@T.prim_func
def main(a: T.handle, B: T.Buffer((T.int64(8),), "float32")):
    m = T.int64()
    A = T.match_buffer(a, (m,), "float32")
    for i in T.thread_binding(T.int64(8), thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(8), i)
            B[vi] = A[T.min(vi * vi, m - 1)]
"""
    lowered = te_sched.lower(te_sched.script.from_source(text))
    assert 'T.launch_thread("threadIdx.x", T.int64(8))' in lowered.script()


def test_thread_axes_whose_indices_do_not_fit_have_the_type_of_their_extent() -> None:
    x = var("threadIdx_x")
    big = ops.const(2**30, "int64")
    index = Cast("int64", x) * ops.const(32, "int64")
    found = narrow_index_types(function(thread("threadIdx.x", big, x, store(A, 0.0, index)), A))
    assert found.body.node.var.dtype == "int64"
    assert "A[threadIdx_x * T.int64(32)]" in str(found.body)


def test_iterators_of_blocks() -> None:
    @T.prim_func
    def add(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i, j in T.grid(T.int64(16), T.int64(8)):
            with T.block("B"):
                vi = T.axis.spatial(T.int64(128), i * T.int64(8) + j)
                B[vi] = A[vi] + T.float32(1)

    found = narrow_index_types(add)
    assert "T.int64" not in str(found)
    assert "vi = T.axis.spatial(128, i * 8 + j)" in str(found)
    a, b = np.arange(128, dtype="float32"), np.zeros(128, "float32")
    te_sched.build(found)(a, b)
    np.testing.assert_array_equal(b, a + 1)


def test_iterators_of_blocks_with_wide_indices_stay_wide() -> None:
    @T.prim_func
    def far(A: T.Buffer((T.int64(2**40),), "float32")):
        for i in range(T.int64(16)):
            with T.block("A"):
                vi = T.axis.spatial(T.int64(16), i)
                A[vi * T.int64(2**35)] = T.float32(1)

    assert 'vi = T.axis.spatial(T.int64(16), T.Cast("int64", i))' in str(narrow_index_types(far))
