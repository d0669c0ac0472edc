"""The reference of random TensorIR programs, on small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm")

from te_sched.script import from_source
from tests.peer.differential import interpret

HEAD = """
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32")):
"""
SUM = """
    for i, k in T.grid(4, 6):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""
VIEW = """
    for i in range(2):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            V = T.match_buffer(A[vi * 2:vi * 2 + 2, 3:4], (2, 1), strides=["s", "t"])
            for j in range(2):
                B[vi * 2 + j] = V[j, 0] * T.Cast("float32", V.strides[0])
"""


def run(body: str) -> tuple[Any, Any]:
    """The arguments after the execution of a function with this body."""
    a = np.arange(24, dtype="float32").reshape(4, 6)
    b = np.full(4, np.nan, "float32")
    interpret.run(from_source(HEAD + body), [a, b], {})
    return a, b


def test_reductions_begin_with_their_initialization() -> None:
    a, b = run(SUM)
    np.testing.assert_array_equal(b, a.sum(1))


def test_views_are_regions_of_their_sources() -> None:
    a, b = run(VIEW)
    np.testing.assert_array_equal(b, a[:, 3] * 6)


VECTORS = """
    V = T.allocate([2], "float32x4", "global")
    W = T.decl_buffer((2,), "float32x4", data=V)
    S = T.decl_buffer((8,), "float32", data=V)
    W[0] = T.Broadcast(T.float32(1), 4)
    S[4:8] = A[1, 0:4] + W[0]
    S[5] = T.float32(9)
    B[0:4] = W[{0}]
"""


def test_vectors_in_memory_are_the_elements_of_other_views() -> None:
    assert run(VECTORS.format(1))[1].tolist() == [7, 9, 9, 10]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (VECTORS.format(2), "out of bounds"),
        (VECTORS.replace("S[4:8]", "S[0:4]").format(1), "read before it is written"),
        ("    C = T.alloc_buffer((4,))\n    B[0] = C[0]\n", "read before it is written"),
        ("    B[4] = A[0, 0]\n", "out of bounds"),
    ],
)
def test_undefined_programs(body: str, why: str) -> None:
    with pytest.raises(interpret.Undefined, match=why):
        run(body)
