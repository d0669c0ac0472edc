"""A kernel has one variable for each axis of threads."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import BlockError, BuildError
from te_sched.lowering.blocks.unify_threads import unify_equal_threads, unify_threads
from te_sched.script import from_source
from tests.lowering.blocks.programs import ROWS, THREADS, after


def test_text_of_threads() -> None:
    expected = """
# with T.block("root"):
for blockIdx_x in T.thread_binding(8, thread="blockIdx.x"):
    for threadIdx_x in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(4):
            with T.block(""):
                T.reads(A[blockIdx_x, k * 32:k * 32 + 32])
                T.writes(B[blockIdx_x, k * 32:k * 32 + 32])
                S = T.alloc_buffer((8, 128), scope="shared")
                with T.block("S"):
                    T.reads(A[blockIdx_x, k * 32 + threadIdx_x])
                    T.writes(S[blockIdx_x, k * 32 + threadIdx_x])
                    S[blockIdx_x, k * 32 + threadIdx_x] = A[blockIdx_x, k * 32 + threadIdx_x]
                with T.block("B"):
                    T.reads(S[blockIdx_x, k * 32 + threadIdx_x])
                    T.writes(B[blockIdx_x, k * 32 + threadIdx_x])
                    B[blockIdx_x, k * 32 + threadIdx_x] = S[blockIdx_x, k * 32 + threadIdx_x] + T.float32(1)
"""  # noqa: E501
    assert after(THREADS, "unify_threads") == expected.strip("\n")


def test_other_functions_stay() -> None:
    func = from_source(ROWS)
    assert unify_threads(func).body is func.body


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((8, 16)).astype("float32")
    expected = (a + 1) * 2
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(ROWS))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def unified(source: str) -> str:
    return str(unify_threads(from_source(source)).body)


def test_launched_threads_become_loops() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    with T.launch_thread("threadIdx.x", 8) as i:
        with T.launch_thread("threadIdx.x", 8) as j:
            with T.block("A"):
                A[i] = T.Cast("float32", j)
"""
    text = unified(source)
    assert text.count("thread_binding(8") == 1
    assert 'A[threadIdx_x] = T.Cast("float32", threadIdx_x)' in text


def test_variables_of_other_types_are_cast() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "int64"), B: T.Buffer((8,), "int64")):
    for k in range(1):
        for i in T.thread_binding(1, thread="blockIdx.x"):
            for j in T.thread_binding(8, thread="threadIdx.x"):
                A[j] = T.int64(0)
            for j in T.thread_binding(T.int64(8), thread="threadIdx.x"):
                B[j] = j
"""
    assert 'B[T.Cast("int64", threadIdx_x)] = T.Cast("int64", threadIdx_x)' in unified(source)


def test_annotations_stay_at_the_outermost_loop_or_at_one_of_one_iteration() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.thread_binding(1, thread="blockIdx.x", annotations={"outer": 1}):
        for j in T.thread_binding(8, thread="threadIdx.x", annotations={"inner": 1}):
            A[j] = 0
"""
    assert [line.strip() for line in unified(source).splitlines()[:3]] == [
        'for blockIdx_x in T.thread_binding(1, thread="blockIdx.x", annotations={"outer": 1}):',
        'for threadIdx_x in T.thread_binding(8, thread="threadIdx.x"):',
        'for var in T.serial(1, annotations={"inner": 1}):',
    ]


def test_virtual_threads_are_unified() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((2, 2), "int32")):
    for i in T.thread_binding(2, thread="vthread.x"):
        for j in T.thread_binding(2, thread="vthread.x"):
            A[i, j] = 0
"""
    assert "A[vthread_x, vthread_x] = 0" in unified(source)


def test_other_extents_are_rejected() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            A[j] = 0
        for j in T.thread_binding(4, thread="threadIdx.x"):
            A[j] = 1
"""
    func = from_source(source)
    with pytest.raises(BlockError, match=r"threadIdx\.x has extents 8 and 4 in one kernel"):
        unify_equal_threads(func)
    with pytest.raises(BuildError, match=r"threadIdx\.x has extents 8 and 4 in one kernel"):
        te_sched.build(func, target="cuda")
    assert 'threadIdx_x in T.thread_binding(8, thread="threadIdx.x")' in unified(source)


KERNELS = {
    "threads": """
for i in T.thread_binding(32, thread="threadIdx.x"):
    B[i] = A[i] + 1.0""",
    "blocks": """
for b in T.thread_binding(5, thread="blockIdx.x"):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        if b * 8 + i < 32:
            B[b * 8 + i] = A[b * 8 + i] + 1.0""",
    "kernels": """
for i in T.thread_binding(32, thread="threadIdx.x"):
    B[i] = A[i]
for i in T.thread_binding(16, thread="threadIdx.x"):
    for j in range(2):
        B[i * 2 + j] = B[i * 2 + j] + 1.0""",
    "same threads": """
for b in T.thread_binding(4, thread="blockIdx.x"):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[b * 8 + i] = A[b * 8 + i]
    for j in T.thread_binding(8, thread="threadIdx.x"):
        B[b * 8 + j] = B[b * 8 + j] + 1.0""",
    "virtual": """
for v in T.thread_binding(2, thread="vthread.x"):
    for i in T.thread_binding(16, thread="threadIdx.x"):
        B[v * 16 + i] = A[v * 16 + i] + 1.0""",
    "memory": """
for b in T.thread_binding(4, thread="blockIdx.x"):
    S = T.decl_buffer((8,), "float32", scope="shared")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        S[7 - i] = A[b * 8 + i] + 1.0
    for i in T.thread_binding(8, thread="threadIdx.x"):
        B[b * 8 + i] = S[7 - i]""",
    "from two": """
for i in T.thread_binding(2, thread="threadIdx.x"):
    B[i] = A[i] + 1.0
for i in T.thread_binding(2, 32, thread="threadIdx.x"):
    B[i] = A[i] + 1.0""",
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_without_blocks(name: str) -> None:
    body = KERNELS[name].replace("\n", "\n    ")
    parameters = 'A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")'
    func = from_source(f"@T.prim_func\ndef main({parameters}):{body}\n")
    device = te_sched.emulated_cuda(0)
    a = np.arange(32, dtype="float32")
    arrays = [te_sched.nd.array(one, device) for one in (a, np.zeros(32, "float32"))]
    te_sched.build(func, target="cuda")(*arrays)
    np.testing.assert_array_equal(arrays[1].numpy(), a + 1)


def test_text_of_a_kernel_without_blocks() -> None:
    func = from_source(
        '@T.prim_func\ndef main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n'
        '    for i in T.thread_binding(8, thread="threadIdx.x"):\n        B[i] = A[i]\n'
    )
    assert 'threadIdx_x = T.launch_thread("threadIdx.x", 8)' in te_sched.lower(func).script()
