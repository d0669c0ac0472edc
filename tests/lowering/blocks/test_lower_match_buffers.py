"""Views of regions are replaced by what they view."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import DeclarationError, LoweringError
from te_sched.lowering.blocks.lower_match_buffers import lower_match_buffers
from te_sched.script import from_source
from te_sched.script import tir as T
from tests.lowering.blocks.programs import ROWS, VIEW, after


def test_text_of_view() -> None:
    expected = """
# with T.block("root"):
for i, j in T.grid(8, 4):
    with T.block("B"):
        T.reads(A[i, j * 4:j * 4 + 4])
        T.writes(B[i, j * 4:j * 4 + 4])
        for x in range(4):
            B[i, j * 4 + x] = A[i, j * 4 + (3 - x)] + T.Cast("float32", i * 16 + j * 4 + 16)
"""
    assert after(VIEW, "lower_match_buffers") == expected.strip("\n")


def test_other_functions_stay() -> None:
    func = from_source(ROWS)
    assert lower_match_buffers(func).body is func.body


def test_results() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((8, 16)).astype("float32")
    expected = (
        a.reshape(8, 4, 4)[:, :, ::-1].reshape(8, 16)
        + np.add.outer(np.arange(8) * 16, np.arange(16) // 4 * 4)
        + 16
    )
    out = te_sched.nd.array(np.zeros(expected.shape, "float32"))
    te_sched.build(from_source(VIEW))(te_sched.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


def strided(parameter: str) -> str:
    """A function with a view whose stride is the parameter n."""
    return f"""
@T.prim_func
def main(a: T.handle, n: T.{parameter}):
    A = T.match_buffer(a, (8, 8))
    for i in range(8):
        with T.block():
            V = T.match_buffer(A[i, 0:4], (1, 4), strides=[n, 1], offset_factor=1)
            V[0, 1] = 1.0
"""


def test_strides_that_are_parameters_are_asserted() -> None:
    func = from_source(strided("int32"), check_well_formed=False)
    assert "assert V_s0 == 8" in str(lower_match_buffers(func))


def test_rejects_strides_that_are_handles() -> None:
    func = from_source(strided("handle"), check_well_formed=False)
    with pytest.raises(DeclarationError, match=r"cannot compute with .*handle"):
        lower_match_buffers(func)


def test_variables_of_loops_are_not_defined_by_views() -> None:
    source = strided("int32").replace("strides=[n, 1]", "strides=[i, 1]")
    assert "assert V_s0 == 8" in str(
        lower_match_buffers(from_source(source, check_well_formed=False))
    )


def test_strides_other_than_those_of_the_region_are_refused() -> None:
    @T.prim_func
    def rows(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i in range(2):
            with T.block("B"):
                vi = T.axis.spatial(2, i)
                V = T.match_buffer(
                    A[vi * 4 : vi * 4 + 4, 0:8], (4, 8), strides=[3, 1], offset_factor=1
                )
                for j, k in T.grid(4, 8):
                    B[vi * 4 + j, k] = V[j, k]

    with pytest.raises(LoweringError, match="the stride of view V is 3, expected 8"):
        te_sched.lower(rows)


def test_rejects_offsets_other_than_those_of_the_region() -> None:
    @T.prim_func
    def rows(A: T.Buffer((8, 8), "float32")):
        for i in range(8):
            with T.block(""):
                T.reads()
                T.writes(A[i, 0:8])
                V = T.match_buffer(A[i, 0:8], (8,))
                T.call_extern("int32", "fill", V.data)

    with pytest.raises(LoweringError, match=r"the elem_offset of view V is 0, expected i \* 8"):
        te_sched.lower(rows)


def vector_of_rows(columns: int) -> str:
    """A program that copies a tile as one vector, which crosses the rows of a view."""
    return f"""
@T.prim_func
def tiles(A: T.Buffer((8, {columns}), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(2):
        with T.block("tile"):
            vi = T.axis.spatial(2, i)
            T.reads(A[vi * 4:vi * 4 + 4, 0:4])
            T.writes(B[vi * 16:vi * 16 + 16])
            V = T.match_buffer(A[vi * 4:vi * 4 + 4, 0:4], (4, 4), offset_factor=1)
            B[vi * 16:vi * 16 + 16] = V[0, 0:16]
"""


def test_vectors_of_several_whole_rows() -> None:
    a = np.arange(32, dtype="float32").reshape(8, 4)
    b = np.zeros(32, "float32")
    te_sched.build(from_source(vector_of_rows(4)), target="llvm")(a, b)
    np.testing.assert_array_equal(b, a.reshape(-1))


def test_vectors_of_parts_of_rows_are_refused() -> None:
    with pytest.raises(LoweringError, match="a vector of 16 elements of view V goes beyond"):
        te_sched.build(from_source(vector_of_rows(8)), target="llvm")
