"""Private functions stand where they are called."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source
from te_sched.tir import transform

ROWS = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 2), "float32")):
        for i in range(6):
            M.sums(T.address_of(A[i, 0]), T.address_of(B[i, 0]))

    @T.prim_func(private=True)
    def sums(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((2,), "float32", data=b)
        M.first(a, b)
        B[1] = A[2] + A[3]

    @T.prim_func(private=True)
    def first(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((2,), "float32", data=b)
        B[0] = A[0] + A[1]
"""
KEPT = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target("llvm")})
        M.f(T.address_of(A[0]))

    @T.prim_func(private=True)
    def f(a: T.handle("float32")):
        T.func_attr({"target": T.target("llvm")})
        A = T.decl_buffer((4,), "float32", data=a)
        A[0] = T.float32(1)
"""


def inlined(text: str) -> IRModule:
    found: IRModule = transform.InlinePrivateFunctions()(from_source(text))
    return found


def test_nested_calls_are_replaced() -> None:
    module = inlined(ROWS)
    assert list(module.functions) == ["main"]
    a, b = np.arange(24, dtype="float32").reshape(6, 4), np.zeros((6, 2), "float32")
    te_sched.build(module)(a, b)
    np.testing.assert_array_equal(b, a.reshape(6, 2, 2).sum(-1))


def test_calls_of_one_function_are_replaced() -> None:
    module = inlined(KEPT)
    assert list(module.functions) == ["main"]
    assert 'T.handle("float32", "global") = T.address_of(A[0])' in str(module)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('T.target("llvm")})\n        A =', 'T.target("cuda")})\n        A ='),
        ("        A[0] = T.float32(1)\n", "        A[0] = T.float32(1)\n        M.f(a)\n"),
        ("A[0] = T.float32(1)", 'with T.block("A"):\n            A[0] = T.float32(1)'),
        ("@T.prim_func(private=True)", "@T.prim_func"),
        ("A[0] = T.float32(1)", "T.ret(0)"),
    ],
    ids=["other target", "recursion", "blocks", "visible", "return"],
)
def test_other_functions_stay(old: str, new: str) -> None:
    module = from_source(KEPT.replace(old, new))
    assert transform.InlinePrivateFunctions()(module) is module


def test_functions_of_other_parameters_stay() -> None:
    module = from_source(KEPT.replace("M.f(T.address_of(A[0]))", "M.f(T.address_of(A[0]), 1)"))
    assert "f" in transform.InlinePrivateFunctions()(module)
