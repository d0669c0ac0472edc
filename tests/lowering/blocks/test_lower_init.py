"""Initializations become conditions on reduction iterators."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched.lowering.blocks.lower_init import lower_init
from te_sched.script import from_source
from tests.lowering.blocks.programs import MATMUL, ROWS, after


def test_text_of_matmul() -> None:
    expected = """
# with T.block("root"):
C = T.alloc_buffer((8, 8))
for i, j, k in T.grid(8, 8, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(A[vi, vk], B[vk, vj])
        T.writes(C[vi, vj])
        if vk == 0:
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
for i, j in T.grid(8, 8):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(C[vi, vj])
        T.writes(D[vi, vj])
        D[vi, vj] = T.max(C[vi, vj], T.float32(0))
"""
    assert after(MATMUL, "lower_init") == expected.strip("\n")


def test_other_functions_stay() -> None:
    func = from_source(ROWS)
    assert lower_init(func).body is func.body


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((8, 8)).astype("float32")
    b = rng.random((8, 8)).astype("float32")
    expected = np.maximum(a @ b, 0)
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(MATMUL))(te_sched.nd.array(a), te_sched.nd.array(b), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)
