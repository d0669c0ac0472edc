"""Buffers shrink to what is accessed."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched.lower.blocks.compact_buffers import compact_buffers
from te_sched.script import from_source
from tests.lower.blocks.programs import GUARDED, ROWS, THREADS, after


def test_text_of_rows() -> None:
    expected = """
# with T.block("root"):
for i in range(8):
    with T.block(""):
        T.reads(A[i, 0:16])
        T.writes(B[i, 0:16])
        C = T.alloc_buffer((1, 16))
        for j in range(16):
            with T.block("C"):
                T.reads(A[i, j])
                T.writes(C[0, j])
                C[0, j] = A[i, j] + T.float32(1)
        for j in range(16):
            with T.block("B"):
                T.reads(C[0, j])
                T.writes(B[i, j])
                B[i, j] = C[0, j] * T.float32(2)
"""
    assert after(ROWS, "compact_buffers") == expected.strip("\n")


def test_text_of_threads() -> None:
    expected = """
# with T.block("root"):
for blockIdx_x in T.thread_binding(8, thread="blockIdx.x"):
    for threadIdx_x in T.thread_binding(32, thread="threadIdx.x"):
        for k in range(4):
            with T.block(""):
                T.reads(A[blockIdx_x, k * 32:k * 32 + 32])
                T.writes(B[blockIdx_x, k * 32:k * 32 + 32])
                S = T.alloc_buffer((1, 32), scope="shared")
                with T.block("S"):
                    T.reads(A[blockIdx_x, k * 32 + threadIdx_x])
                    T.writes(S[0, threadIdx_x])
                    S[0, threadIdx_x] = A[blockIdx_x, k * 32 + threadIdx_x]
                with T.block("B"):
                    T.reads(S[0, threadIdx_x])
                    T.writes(B[blockIdx_x, k * 32 + threadIdx_x])
                    B[blockIdx_x, k * 32 + threadIdx_x] = S[0, threadIdx_x] + T.float32(1)
"""
    assert after(THREADS, "compact_buffers") == expected.strip("\n")


def test_other_functions_stay() -> None:
    func = from_source(GUARDED)
    assert compact_buffers(func).body is func.body


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((8, 16)).astype("float32")
    expected = (a + 1) * 2
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(ROWS))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
