"""Iterators of blocks are replaced by their values."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import LoweringError
from te_sched.ir.structural import structural_difference
from te_sched.lowering.blocks.make_opaque import make_opaque
from te_sched.script import from_source
from tests.lowering.blocks.programs import GUARDED, after


def test_text_of_guarded() -> None:
    expected = """
# with T.block("root"):
for i_0, i_1 in T.grid(3, 4):
    with T.block("B"):
        T.where(i_0 * 4 + i_1 < 10)
        T.reads(A[i_0 * 4 + i_1])
        T.writes(B[i_0 * 4 + i_1])
        B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] + T.float32(1)
"""
    assert after(GUARDED, "make_opaque") == expected.strip("\n")


def test_it_is_idempotent() -> None:
    func = make_opaque(from_source(GUARDED))
    assert structural_difference(make_opaque(func).body, func.body, True) is None


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((10,)).astype("float32")
    expected = a + 1
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(GUARDED))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def test_rejects_predicates_on_iterators() -> None:
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.spatial(8, i)
            T.where(vi < 6)
            A[vi] = 0
""",
        check_well_formed=False,
    )
    with pytest.raises(LoweringError, match="the predicate of block A uses iterators"):
        make_opaque(func)
