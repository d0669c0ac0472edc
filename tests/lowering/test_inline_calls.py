"""Calls of functions of the same module."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import BuildError, TeSchedError
from te_sched.lowering.inline_calls import inline_calls
from te_sched.script import from_source

PROGRAM = """
@I.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((4, 8), "float32"),
        B: T.Buffer((4, 8), "float32"),
        C: T.Buffer((8,), "float32"),
    ):
        D = T.alloc_buffer((4, 8))
        Module.scale(A, D, 3)
        Module.scale(D, B, Module.square(2))
        for i in range(8):
            Module.set(C.data, i)
        Module.add_row(T.address_of(B[2, 0]), C)

    @T.prim_func
    def scale(a: T.handle, b: T.handle, f: T.int32):
        n = T.int32()
        m = T.int32()
        X = T.match_buffer(a, (n, m))
        Y = T.match_buffer(b, (n, m))
        for i, j in T.grid(n, m):
            with T.block("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.Cast("float32", f)

    @T.prim_func(private=True)
    def set(C: T.Buffer((8,), "float32"), i: T.int32):
        C[i] = T.float32(1)

    @T.prim_func(private=True)
    def add_row(R: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = C[i] + R[i]

    @T.prim_func(private=True)
    def square(x: T.int32) -> T.int32:
        return x * x
"""


def module(main: str, other: str = "", header: str = "other(n: T.int32)") -> te_sched.IRModule:
    """A module of two functions."""
    return from_source(
        "@I.ir_module\nclass Module:\n    @T.prim_func\n"
        f'    def main(A: T.Buffer((8,), "int32"), n: T.int32):\n        {main}\n'
        f"    @T.prim_func(private=True)\n    def {header}:\n        {other or 'T.evaluate(n)'}\n"
    )


def test_functions_of_a_module_call_each_other() -> None:
    given = from_source(PROGRAM)
    assert list(inline_calls(given.functions)) == ["main", "scale"]
    built = te_sched.build(given, target="llvm")
    a = np.random.default_rng(0).random((4, 8), dtype="float32")
    b, c = np.zeros((4, 8), "float32"), np.zeros(8, "float32")
    built["main"](a, b, c)
    np.testing.assert_allclose(b, a * 12, rtol=1e-5)
    np.testing.assert_allclose(c, 1 + a[2] * 12, rtol=1e-5)
    built["scale"](a, b, 5)
    np.testing.assert_allclose(b, a * 5, rtol=1e-5)
    assert not te_sched.analysis.check(given).refuted
    assert given.script() == from_source(PROGRAM).script()


def test_functions_without_calls_stay_as_they_are() -> None:
    given = module("A[0] = n")
    assert inline_calls(given.functions) == dict(given.functions)


def test_arguments_are_evaluated_once() -> None:
    given = module("Module.other(A.data, A[0] + n)", "A[0] = m\n        A[1] = m", OTHER)
    a = np.arange(8, dtype="int32") + 5
    te_sched.build(given, target="llvm")["main"](a, 2)
    assert list(a[:3]) == [7, 7, 7]


OTHER = 'other(A: T.Buffer((8,), "int32"), m: T.int32)'


def test_races_in_what_is_called_are_found() -> None:
    given = from_source(
        "@I.ir_module\nclass Module:\n    @T.prim_func\n"
        '    def main(A: T.Buffer((8,), "int32")):\n'
        "        for i in T.parallel(8):\n            Module.other(A, i)\n"
        f"    @T.prim_func(private=True)\n    def {OTHER}:\n        A[0] = m\n"
    )
    with pytest.raises(TeSchedError, match=r"race"):
        te_sched.build(given, target="llvm")


@pytest.mark.parametrize(
    ("main", "other", "message"),
    [
        ("Module.other(n)", "Module.other(n)", r"function other calls itself"),
        ("Module.other(n, n)", "", r"main calls other with 2 arguments, expected 1"),
        (
            "A[0] = Module.other(n)",
            "T.evaluate(n)",
            r"main calls other, which does more than return a value",
        ),
        (
            "Module.other(n)",
            "if n > 0:\n            return n",
            r"main calls other, which does more than return a value",
        ),
    ],
)
def test_calls_that_cannot_be_replaced_are_refused(main: str, other: str, message: str) -> None:
    header = "other(n: T.int32) -> T.int32" if "A[0]" in main or "return" in other else None
    given = module(main, other, header or "other(n: T.int32)")
    with pytest.raises(BuildError, match=message):
        te_sched.build(given, target="llvm")


@pytest.mark.parametrize(
    ("main", "header", "message"),
    [
        (
            "Module.other(n, n)",
            OTHER,
            r"main gives other something else for buffer A",
        ),
        (
            "Module.other(A, n)",
            'other(A: T.Buffer((4,), "int32"), m: T.int32)',
            r"main calls other with arguments that do not fit",
        ),
        (
            "T.evaluate(Module.other(A, n) + 1)",
            OTHER + " -> T.int32",
            r"main uses the value of other, which takes a buffer",
        ),
    ],
)
def test_arguments_that_do_not_fit_are_refused(main: str, header: str, message: str) -> None:
    given = module(main, "return m" if "->" in header else "A[0] = m", header)
    with pytest.raises(BuildError, match=message):
        te_sched.build(given, target="llvm")


def test_unknown_functions_are_refused() -> None:
    given = module("Module.other(A, n)", "A[0] = m", OTHER)
    alone = te_sched.IRModule({"main": given["main"]})
    with pytest.raises(BuildError, match=r"main calls function other, which the module does not"):
        te_sched.build(alone, target="llvm")
