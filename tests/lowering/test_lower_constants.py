"""Constant memory in programs that run."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched.errors import LoweringError
from te_sched.ir.stmt import PrimFunc
from te_sched.lowering.lower_constants import MOST_ELEMENTS, lower_constants
from te_sched.script import from_source

TABLE = """
@T.prim_func
def f(B: T.Buffer((2, 3), "int32")):
    table = T.allocate_const([1, 2, 3, 4, 5, 6], "int32", [2, 3])
    A = T.decl_buffer((2, 3), "int32", data=table)
    for i, j in T.grid(2, 3):
        B[i, j] = A[i, j] * A[1 - i, j]
"""


def function(text: str) -> PrimFunc:
    made = from_source(text)
    assert isinstance(made, PrimFunc)
    return made


def test_constants_have_their_values() -> None:
    result = te_sched.nd.array(np.zeros((2, 3), "int32"))
    te_sched.build(function(TABLE), target="llvm")(result)
    assert result.numpy().tolist() == [[4, 10, 18], [4, 10, 18]]


def test_the_text_keeps_the_constant() -> None:
    text = te_sched.lower(function(TABLE))["main"].script()
    assert 'A = T.allocate_const([1, 2, 3, 4, 5, 6], "int32", [2, 3])' in text


def test_a_program_without_constants_stays() -> None:
    func = function("@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n    A[0] = 1")
    assert lower_constants(func) is func


def test_large_constants_are_refused() -> None:
    source = TABLE.replace("[1, 2, 3, 4, 5, 6]", "values").replace(
        "[2, 3])", f"[{MOST_ELEMENTS + 1}])", 1
    )
    source = source.replace('(2, 3), "int32", data', f'({MOST_ELEMENTS + 1},), "int32", data')
    source = source.replace("A[i, j] * A[1 - i, j]", "A[i * 3 + j]")
    values = list(range(MOST_ELEMENTS + 1))
    func = from_source(source, extra_vars={"values": values})
    assert isinstance(func, PrimFunc)
    with pytest.raises(LoweringError, match="of 4097 elements is too large to run"):
        te_sched.build(func, target="llvm")
