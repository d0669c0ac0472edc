"""A kernel has one variable for each axis of threads."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched.lower.blocks.unify_threads import unify_threads
from te_sched.script import from_source
from tests.lower.blocks.programs import ROWS, THREADS, after


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
