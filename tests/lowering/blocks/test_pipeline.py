"""The passes of blocks come first, in TVM's order, and leave what TE's passes take."""

from __future__ import annotations

import numpy as np

import te_sched
from te_sched.ir.root_block import has_blocks
from te_sched.lowering.blocks.pipeline import BLOCK_PASSES
from te_sched.lowering.pipeline import pass_names
from te_sched.script import from_source
from tests.lowering.blocks.programs import MATMUL, after, module_of


def test_they_come_first() -> None:
    names = [one.name for one in BLOCK_PASSES]
    assert pass_names()[1 : 1 + len(names)] == names


def test_levels() -> None:
    levels = [one.level for one in BLOCK_PASSES]
    assert levels == [
        *["blocks"] * 3,
        *["opaque"] * 6,
        "declared",
        "buffers",
    ]
    assert not has_blocks(te_sched.lower(module_of(MATMUL))["main"].body)


def test_the_text_is_that_of_tvm() -> None:
    expected = """
C = T.allocate([64], "float32", "global")
C_1 = T.Buffer((64,), data=C)
for i, j, k in T.grid(8, 8, 8):
    cse_var_2: T.int32 = i * 8
    cse_var_1: T.int32 = cse_var_2 + j
    if k == 0:
        C_1[cse_var_1] = T.float32(0)
    A_1 = T.Buffer((64,), data=A.data)
    B_1 = T.Buffer((64,), data=B.data)
    C_1[cse_var_1] = C_1[cse_var_1] + A_1[cse_var_2 + k] * B_1[k * 8 + j]
for i, j in T.grid(8, 8):
    cse_var_3: T.int32 = i * 8 + j
    D_1 = T.Buffer((64,), data=D.data)
    D_1[cse_var_3] = T.max(C_1[cse_var_3], T.float32(0))
"""
    assert after(MATMUL, "eliminate_common_subexpressions") == expected.strip("\n")


def test_functions_without_blocks_are_as_before() -> None:
    func = from_source("@T.prim_func\ndef main(A: T.Buffer((4,), 'float32')):\n    A[0] = 1.0\n")
    lowered = te_sched.lower(func)["main"].script().splitlines()
    assert [line.strip() for line in lowered[-3:]] == [
        'T.func_attr({"tir.noalias": T.bool(True)})',
        "A_1 = T.Buffer((4,), data=A.data)",
        "A_1[0] = T.float32(1)",
    ]
    assert not has_blocks(func.body)


def test_loops_of_one_iteration_vanish_without_blocks_too() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((1, 2, 1), "float32")):
    for i, j, k in T.grid(1, 2, 1):
        A[i, j, k] = 1.0
"""
    assert str(te_sched.lower(from_source(source))).count("for j in range(2):") == 1


def test_blocks_are_simplified_before_they_are_lowered() -> None:
    source = """
@T.prim_func
def main(A: T.Buffer((2,), "float32"), B: T.Buffer((3, 2), "float32")):
    for i, j in T.grid(4, 2):
        with T.block("B"):
            vi = T.axis.spatial(3, i // 3 * 3 + i % 3)
            vj = T.axis.spatial(2, j)
            T.where(i // 3 * 3 + i % 3 < 3)
            if vi == 0:
                B[vi, vj] = A[vj]
            else:
                B[vi, vj] = B[vi - 1, vj] * T.float32(0.5) + A[vj]
"""
    assert "B_1[i * 2 + j] = A_1[j]" in after(source, "flatten_storage")
    a, b = np.array([4, 8], "float32"), np.zeros((3, 2), "float32")
    te_sched.build(from_source(source))(a, b)
    np.testing.assert_array_equal(b, [[4, 8], [6, 12], [7, 14]])
