"""Blocks become loops, conditions and realized buffers."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched.ir.structural import structural_difference
from te_sched.lowering.blocks.lower_opaque_blocks import lower_opaque_blocks
from te_sched.script import from_source
from tests.lowering.blocks.programs import GUARDED, THREADS, after


def test_text_of_guarded() -> None:
    expected = """
for i_0, i_1 in T.grid(3, 4):
    if i_0 * 4 + i_1 < 10:
        B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] + T.float32(1)
"""
    assert after(GUARDED, "lower_opaque_blocks") == expected.strip("\n")


def test_text_of_threads() -> None:
    expected = """
blockIdx_x = T.launch_thread("blockIdx.x", 8)
threadIdx_x = T.launch_thread("threadIdx.x", 32)
for k in range(4):
    S = T.Buffer((1, 32), scope="shared")
    T.realize(S[0:1, 0:32])
    S[0, threadIdx_x] = A[blockIdx_x, k * 32 + threadIdx_x]
    B[blockIdx_x, k * 32 + threadIdx_x] = S[0, threadIdx_x] + T.float32(1)
"""
    assert after(THREADS, "lower_opaque_blocks") == expected.strip("\n")


def test_it_is_idempotent() -> None:
    func = lower_opaque_blocks(from_source(GUARDED))
    assert structural_difference(lower_opaque_blocks(func).body, func.body, True) is None


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((10,)).astype("float32")
    expected = a + 1
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(GUARDED))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def test_pragmas_are_in_the_order_of_their_names() -> None:
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in T.serial(8, annotations={"pragma_b": 2, "pragma_a": 1}):
        A[i] = 0
"""
    )
    outer = lower_opaque_blocks(func).body
    assert (outer.key, outer.body.key) == ("pragma_a", "pragma_b")
