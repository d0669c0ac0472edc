"""Temporaries: what is taken from the heap, when, and that it is given back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched.codegen.llvm.allocations import allocate, give_back, take_for_iterations
from te_sched.codegen.llvm.function import FunctionText
from te_sched.codegen.llvm.statements import execute
from te_sched.codegen.llvm.types import unknown
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.script import tir as T
from tests.codegen.llvm.instructions import new_function, text_of

N, ROW = E.Var("n", "int64"), E.Var("i", "int64")
NOTHING = S.Evaluate(E.IntImm(0))


def temporary(*extents: Any) -> S.Allocate:
    data = E.Var("data", E.PointerType("float32"))
    return S.Allocate(data, "float32", extents, E.IntImm(1, "bool"), NOTHING)


def rows(body: S.Stmt) -> S.For:
    return S.For(ROW, E.IntImm(0, "int64"), N, "serial", body)


def with_sizes() -> FunctionText:
    out = new_function()
    out.environment.update({var: unknown(f"%{var.name}", "int64") for var in (N, ROW)})
    return out


@pytest.mark.parametrize(("size", "is_on_stack"), [(16, True), (1 << 24, False)])
def test_small_temporaries_of_constant_size_are_on_the_stack(size: int, is_on_stack: bool) -> None:
    out = with_sizes()
    allocate(out, temporary(E.IntImm(size, "int64")), execute)
    assert ("alloca [16 x float]" in text_of(out)) == is_on_stack
    assert out.live == []


@pytest.mark.parametrize(
    ("extent", "is_taken"),
    [(N, True), (N * 4, True), (ROW + 1, False), (E.IntImm(1 << 24, "int64"), False)],
)
def test_blocks_of_the_size_of_the_call_are_taken_before_a_loop(
    extent: E.Expr, is_taken: bool
) -> None:
    out, node = with_sizes(), temporary(extent)
    taken = take_for_iterations(out, rows(node))
    assert (taken == [node]) == is_taken
    written = len(out.lines)
    allocate(out, node, execute)
    assert (len(out.lines) == written) == is_taken
    give_back(out, taken)
    assert not out.live
    assert not out.reused


@T.prim_func
def sums_of_rows(a: T.handle, b: T.handle) -> None:
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n,))
    for i in T.parallel(n):
        data = T.allocate([m], "float32", "global")
        row = T.Buffer((m,), data=data)
        for j in range(m):
            row[j] = A[i, j] * 2.0
        B[i] = 0.0
        for j in range(m):
            B[i] = B[i] + row[j]


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 0), (3, 17), (40, 333)])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_share_a_block_in_each_thread(shape: tuple[int, int], threads: int) -> None:
    te_sched.runtime.set_num_threads(threads)
    try:
        a, b = np.random.default_rng(0).random(shape, "float32"), np.ones(shape[0], "float32")
        te_sched.build(sums_of_rows, target="llvm")(a, b)
        np.testing.assert_allclose(b, (a * 2).sum(1), rtol=1e-5)
    finally:
        te_sched.runtime.set_num_threads(0)
