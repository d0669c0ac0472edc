"""Divisions of processors, and functions of LLVM."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.expr import Expr
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.script import from_source
from te_sched.script import tir as T
from te_sched.tir import transform
from te_sched.tir.passes.lower_intrinsics import lower_intrinsics

DIVIDE = """
@T.prim_func
def divide(
    A: T.Buffer((380,), "DTYPE"), B: T.Buffer((380,), "DTYPE"), C: T.Buffer((380, 2), "DTYPE")
):
    T.func_attr({"target": T.target("llvm")})
    for i in range(380):
        C[i, 0] = A[i] // B[i]
        C[i, 1] = A[i] % B[i]
"""
X, Y, F = te.var("x"), te.var("y"), te.var("f", "float32")


def lowered(e: Expr, is_llvm: bool = True) -> str:
    func = PrimFunc((X, Y, F), tir.Evaluate(e), {})
    return str(lower_intrinsics(func, ("cpu",), is_llvm).body.value)


@pytest.mark.parametrize(
    ("division", "expected"),
    [
        (X // 8, "T.shift_right(x, 3)"),
        (X % 8, "T.bitwise_and(x, 7)"),
        (X // 7, "T.Div(x, 7) + T.shift_right(T.truncmod(x, 7), 31)"),
        (
            X % 7,
            "T.truncmod(x, 7) + T.bitwise_and(7, T.shift_right(T.truncmod(x, 7), 31))",
        ),
        (tir.max(X, 0) // 7, "T.Div(T.max(x, 0), 7)"),
        (tir.Select(X >= 0, X % 7, 0), "T.Select(x >= 0, T.truncmod(x, 7), 0)"),
        (te.floormod(te.var("u", "uint32"), tir.const(3, "uint32")), "T.truncmod(u, T.uint32(3))"),
    ],
)
def test_divisions(division: Expr, expected: str) -> None:
    assert lowered(division) == expected


@pytest.mark.parametrize("dtype", ["int32", "int64", "int16"])
def test_divisions_by_anything_round_down(dtype: str) -> None:
    divide = from_source(DIVIDE.replace("DTYPE", dtype))
    func = transform.LowerIntrin()(IRModule({"divide": divide}))["divide"]
    assert "//" not in str(func)
    pairs = [(a, b) for a in range(-10, 10) for b in range(-10, 10) if b]
    a, b = np.array(pairs, dtype).T.copy()
    c = np.zeros((380, 2), dtype)
    te_sched.build(func)(a, b, c)
    np.testing.assert_array_equal(c, np.stack([a // b, a % b], axis=1))


def test_branches_tell_signs() -> None:
    @T.prim_func
    def branch(n: T.int32, A: T.Buffer((8,), "int32")):
        for i in range(8):
            if n >= 0:
                A[i] = n // 7
            else:
                A[i] = i // 7

    text = str(lower_intrinsics(branch, (), False))
    assert "A[i] = T.Div(n, 7)" in text
    assert "A[i] = T.Div(i, 7)" in text


def test_functions_of_llvm() -> None:
    name = 'T.call_llvm_pure_intrin("float32", '
    assert lowered(te.exp(F)) == name + '"llvm.exp", T.uint32(1), f)'
    fma = tir.call_intrin("float32", "tir.fma", F, F, F)
    assert lowered(fma) == name + '"llvm.fmuladd", T.uint32(3), f, f, f)'
    assert lowered(te.exp(F), is_llvm=False) == "T.exp(f)"


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (F * 2.0 + F, "f, T.float32(2), f"),
        (F + F * 2.0, "f, T.float32(2), f"),
        (F * 2.0 + F * 3.0, "f, T.float32(3), f * T.float32(2)"),
    ],
)
def test_products_in_sums(term: Expr, expected: str) -> None:
    call = 'T.call_llvm_pure_intrin("float32", "llvm.fmuladd", T.uint32(3), '
    assert lowered(term) == f"{call}{expected})"
    assert "llvm" not in lowered(term, is_llvm=False)
    assert lowered(X * Y + X) == "x * y + x"


def test_functions_of_llvm_run() -> None:
    @T.prim_func
    def root(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"target": T.target("llvm")})
        for i in T.vectorized(8):
            B[i] = T.sqrt(A[i]) * A[i] + T.float32(1)

    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    te_sched.build(transform.LowerIntrin()(IRModule({"root": root})))(a, b)
    np.testing.assert_allclose(b, np.sqrt(a) * a + 1, rtol=1e-6)


def test_rejects_functions_without_a_target() -> None:
    func = PrimFunc((), tir.Evaluate(0), {})
    with pytest.raises(DeclarationError, match="function main has no target, whose functions"):
        transform.LowerIntrin()(IRModule({"f": func}))
