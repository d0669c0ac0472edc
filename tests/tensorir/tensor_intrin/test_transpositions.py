"""Transpositions of tiles in registers."""

import numpy as np
import pytest

import te_sched
from te_sched import tir
from te_sched.script import from_source
from te_sched.tensorir.tensor_intrin.transpositions import transposition

SOURCE = """@T.prim_func
def main(A: T.Buffer((ROWS, LANES), DTYPE), B: T.Buffer((LANES, ROWS), DTYPE)):
    S = T.alloc_buffer((ROWS, LANES), DTYPE, scope="local")
    D = T.alloc_buffer((LANES, ROWS), DTYPE, scope="local")
    for i, j in T.grid(ROWS, LANES):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = A[vi, vj]
    for j, i in T.grid(LANES, ROWS):
        with T.block("T"):
            vj, vi = T.axis.remap("SS", [j, i])
            D[vj, vi] = S[vi, vj]
    for j, i in T.grid(LANES, ROWS):
        with T.block("B"):
            vj, vi = T.axis.remap("SS", [j, i])
            B[vj, vi] = D[vj, vi]"""


def tensorized(rows: int, lanes: int, dtype: str) -> tir.Schedule:
    """A program that transposes by an intrinsic."""
    text = SOURCE.replace("ROWS", str(rows)).replace("LANES", str(lanes))
    sch = tir.Schedule(from_source(text.replace("DTYPE", f'"{dtype}"')))
    loop, _ = sch.get_loops(sch.get_block("T"))
    sch.tensorize(loop, str(transposition(rows, lanes, dtype)))
    return sch


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("rows", range(2, 17))
def test_rows_are_transposed(rows: int, lanes: int) -> None:
    x = np.arange(rows * lanes, dtype="float32").reshape(rows, lanes)
    out = np.empty((lanes, rows), "float32")
    te_sched.build(tensorized(rows, lanes, "float32").mod, target="llvm -opt-level=0")(x, out)
    np.testing.assert_array_equal(out, x.T)


def test_integers_are_transposed() -> None:
    x, out = np.arange(56, dtype="int32").reshape(7, 8), np.empty((8, 7), "int32")
    te_sched.build(tensorized(7, 8, "int32").mod)(x, out)
    np.testing.assert_array_equal(out, x.T)


@pytest.mark.parametrize("asked", [(1, 16, "float32"), (17, 8, "float32"), (8, 6, "float32")])
def test_other_sizes_have_no_intrinsic(asked: tuple[int, int, str]) -> None:
    assert transposition(*asked) is None
    assert transposition(8, 8, "float64") is None
