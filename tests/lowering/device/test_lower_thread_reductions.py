"""Reductions across threads: by shuffles, from warp to warp, or in shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te
from te_sched.errors import BuildError, DeclarationError
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.device.lower_thread_reductions import lower_thread_reductions
from te_sched.lowering.device.split_kernels import split_kernels
from te_sched.lowering.device.unify_threads import unify_threads
from te_sched.script import tir as T
from te_sched.tir.transform import LowerThreadAllreduce

SHUFFLE, SHARED = "tvm_warp_shuffle_down", "red_buf"


def scheduled(width: int, tag: str = "threadIdx.x", rows: int = 1):
    """Sums of rows of a matrix, by `width` threads each, `rows` rows in a block."""
    A, k = te.placeholder((rows * 2, width), name="A"), te.reduce_axis((0, width), "k")
    B = te.compute((rows * 2,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    block, row = s[B].split(B.op.axis[0], factor=rows)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(row, te.thread_axis("threadIdx.y" if tag == "threadIdx.x" else "threadIdx.x"))
    s[B].bind(B.op.reduce_axis[0], te.thread_axis(tag))
    return s, [A, B]


def lowered(width: int, tag: str = "threadIdx.x", rows: int = 1) -> str:
    s, args = scheduled(width, tag, rows)
    module = split_kernels(unify_threads(te_sched.lower(s, args)["main"]))
    return str(lower_thread_reductions(module["main_kernel"]))


@pytest.mark.parametrize(("width", "steps"), [(2, 1), (8, 3), (32, 5)])
def test_lanes_of_a_warp_shuffle(width: int, steps: int) -> None:
    text = lowered(width)
    assert (text.count(SHUFFLE), SHARED in text) == (steps, False)


def test_warps_meet_in_shared_memory() -> None:
    text = lowered(64, rows=2)
    assert text.count(SHUFFLE) == 10
    assert "red_buf0" in text


@pytest.mark.parametrize(("width", "tag", "rows"), [(6, "threadIdx.x", 1), (8, "threadIdx.y", 4)])
def test_other_threads_make_a_tree(width: int, tag: str, rows: int) -> None:
    text = lowered(width, tag, rows)
    assert (SHUFFLE in text, SHARED in text) == (False, True)


def test_a_single_thread_keeps_what_it_has() -> None:
    text = lowered(1)
    assert SHUFFLE not in text
    assert SHARED not in text


@pytest.mark.parametrize(
    ("width", "tag", "rows"),
    [(8, "threadIdx.x", 4), (64, "threadIdx.x", 2), (6, "threadIdx.x", 3), (5, "threadIdx.y", 4)],
)
def test_sums_are_numpys(width: int, tag: str, rows: int) -> None:
    function = te_sched.build(*scheduled(width, tag, rows), target="cuda")
    a = np.random.default_rng(0).random((rows * 2, width), "float32")
    device = te_sched.emulated_cuda(0)
    given, found = te_sched.nd.array(a, device), te_sched.nd.empty((rows * 2,), device=device)
    function(given, found)
    np.testing.assert_allclose(found.numpy(), a.sum(axis=1), rtol=1e-5)


def test_a_kernel_without_reductions_stays() -> None:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    module = split_kernels(unify_threads(te_sched.lower(s, [A, B])["main"]))
    kernel: PrimFunc = module["main_kernel"]
    assert lower_thread_reductions(kernel) is kernel


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


def test_as_tvm_lanes_shuffle_through_temporaries() -> None:
    text = allreduced(written(8, rows=4))
    assert text.count("t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], ") == 3
    assert "red_buf0[0] = T.tvm_warp_shuffle(mask[0], red_buf0[0], 8 * row, 32, 32)" in text


def test_as_tvm_warps_store_their_result_in_shared_memory() -> None:
    text = allreduced(written(128, rows=2))
    assert 'red_result = T.allocate([2], "int32", "shared")' in text
    assert 'red_buf_staging = T.decl_buffer((8,), "int32", scope="shared")' in text
    assert (text.count(SHUFFLE), text.count("tvm_storage_sync")) == (7, 2)


def test_as_tvm_other_widths_go_through_memory_with_barriers() -> None:
    text = allreduced(written(24, rows=2))
    assert SHUFFLE not in text
    assert text.count("tvm_storage_sync") > 5


def test_as_tvm_first_step_of_other_widths_is_guarded() -> None:
    assert "if i + 16 < 24:" in allreduced(written(24))
    assert "if i + 2 < 3:" in allreduced(written(96, rows=2))


def test_as_tvm_condition_selects_the_value() -> None:
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


def test_as_tvm_results_of_several_elements_are_refused() -> None:
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


def test_as_tvm_one_thread_stores_its_value() -> None:
    text = allreduced(written(1))
    assert "[0] = A[row + i]" in text
    assert "reduce_scope" not in text


def test_as_tvm_metal_has_no_masks() -> None:
    text = allreduced(written(8).with_attr("target", "metal"))
    assert "mask" not in text
    assert "T.tvm_warp_shuffle_down(0, red_buf0[0], 4, 32, 32)" in text


def test_as_tvm_components_are_combined_at_once() -> None:
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


def test_as_tvm_results_in_one_memory_are_refused() -> None:
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


def test_as_tvm_functions_need_a_target() -> None:
    func = PrimFunc((), te_sched.tir.Evaluate(0), {})
    with pytest.raises(DeclarationError, match=r"function main has no target"):
        allreduced(func)
