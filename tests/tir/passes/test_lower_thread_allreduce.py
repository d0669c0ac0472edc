"""Reductions across threads as TVM's LowerThreadAllreduce writes them."""

from __future__ import annotations

import pytest

import te_sched
from te_sched.errors import BuildError, DeclarationError
from te_sched.ir.stmt import PrimFunc
from te_sched.script import tir as T
from te_sched.tir.transform import LowerThreadAllreduce

SHUFFLE = "tvm_warp_shuffle_down"


def written(width: int, rows: int = 1) -> PrimFunc:
    """Sums of rows of a matrix, by `width` threads each."""

    @T.prim_func
    def func(A: T.Buffer((rows * width,), "int32"), B: T.Buffer((rows,), "int32")) -> None:
        row = T.launch_thread("threadIdx.y", rows)
        i = T.launch_thread("threadIdx.x", width)
        R = T.decl_buffer((1,), "int32", scope="local")
        add = T.comm_reducer(lambda x, y: x + y, [0])
        with T.attr(add, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), A[row * width + i], T.bool(True), R[0], i)
        if i == 0:
            B[row] = R[0]

    return func.with_attr("target", "cuda")


def allreduced(func: PrimFunc) -> str:
    return str(LowerThreadAllreduce()(te_sched.IRModule({"func": func}))["func"])


def test_lanes_shuffle_through_temporaries() -> None:
    text = allreduced(written(8, rows=4))
    assert text.count("t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], ") == 3
    assert "red_buf0[0] = T.tvm_warp_shuffle(mask[0], red_buf0[0], 8 * row, 32, 32)" in text


def test_warps_store_their_result_in_shared_memory() -> None:
    text = allreduced(written(128, rows=2))
    assert 'red_result = T.allocate([2], "int32", "shared")' in text
    assert 'red_buf_staging = T.decl_buffer((8,), "int32", scope="shared")' in text
    assert (text.count(SHUFFLE), text.count("tvm_storage_sync")) == (7, 2)


def test_other_widths_go_through_memory_with_barriers() -> None:
    text = allreduced(written(24, rows=2))
    assert SHUFFLE not in text
    assert text.count("tvm_storage_sync") > 5


def test_first_step_of_other_widths_is_guarded() -> None:
    assert "if i + 16 < 24:" in allreduced(written(24))
    assert "if i + 2 < 3:" in allreduced(written(96, rows=2))


def test_condition_selects_the_value() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")) -> None:
        T.func_attr({"target": T.target("cuda")})
        i = T.launch_thread("threadIdx.x", 8)
        R = T.decl_buffer((1,), "int32", scope="local")
        add = T.comm_reducer(lambda x, y: x + y, [0])
        with T.attr(add, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), A[i], i < 3, R[0], i)
        A[i] = R[0]

    assert "red_buf0[0] = T.Select(i < 3, A[i], 0)" in allreduced(func)


def test_results_of_several_elements_are_refused() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")) -> None:
        T.func_attr({"target": T.target("cuda")})
        i = T.launch_thread("threadIdx.x", 8)
        R = T.decl_buffer((2,), "int32", scope="local")
        add = T.comm_reducer(lambda x, y: x + y, [0])
        with T.attr(add, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(1), A[i], T.bool(True), R[1], i)
        A[i] = R[1]

    with pytest.raises(BuildError, match=r"a result is in memory of several elements"):
        allreduced(func)


def test_one_thread_stores_its_value() -> None:
    text = allreduced(written(1))
    assert "[0] = A[row + i]" in text
    assert "reduce_scope" not in text


def test_metal_has_no_masks() -> None:
    text = allreduced(written(8).with_attr("target", "metal"))
    assert "mask" not in text
    assert "T.tvm_warp_shuffle_down(0, red_buf0[0], 4, 32, 32)" in text


def test_components_are_combined_at_once() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), B: T.Buffer((2,), "int32")) -> None:
        T.func_attr({"target": T.target("cuda")})
        i = T.launch_thread("threadIdx.x", 8)
        R = T.decl_buffer((1,), "int32", scope="local")
        S = T.decl_buffer((1,), "int32", scope="local")
        both = T.comm_reducer(lambda a, b, x, y: (a * x, a * y + b), [1, 0])
        with T.attr(both, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
            T.tvm_thread_allreduce(T.uint32(2), A[i], A[i], T.bool(True), R[0], S[0], i)
        if i == 0:
            B[0] = R[0]
            B[1] = S[0]

    text = allreduced(func)
    assert "red_buf1[0] = a * y + b" in text
    assert text.index("t1[0] = ") < text.index("red_buf0[0] = a * x")


def test_results_in_one_memory_are_refused() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "int32")) -> None:
        T.func_attr({"target": T.target("cuda")})
        i = T.launch_thread("threadIdx.x", 8)
        R = T.decl_buffer((1,), "int32", scope="local")
        for k in range(2):
            add = T.comm_reducer(lambda x, y: x + y, [0])
            with T.attr(add, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                T.tvm_thread_allreduce(T.uint32(1), A[i], T.bool(True), R[0], i)
            with T.attr(add, "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                T.tvm_thread_allreduce(T.uint32(1), A[i + k], T.bool(True), R[0], i)

    with pytest.raises(BuildError, match=r"two reductions store their results in R"):
        allreduced(func)


def test_functions_need_a_target() -> None:
    func = PrimFunc((), te_sched.tir.Evaluate(0), {})
    with pytest.raises(DeclarationError, match=r"function main has no target"):
        allreduced(func)
