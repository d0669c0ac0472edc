"""The number of arithmetic operations of a program."""

from __future__ import annotations

import pytest

from te_sched import te, tir
from te_sched.analysis.programs.operations import anchor_block, count_operations
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule
from te_sched.script import from_source
from te_sched.tir import PrimFunc


def function(body: str) -> PrimFunc:
    return from_source(f"@T.prim_func\ndef f(A: T.Buffer((8,), 'float32')):\n    {body}\n")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("A[0] = A[1] * A[2] + A[3]", 2),
        ("for i in range(4):\n        A[i + 4] = A[i] + A[i + 1]", 4),
        ("A[0] = T.exp(A[1])", 0),
        ("A[0] = T.Select(A[1] + A[2] < A[3], A[1] * A[2] * A[3], A[1] + A[2])", 2),
        ("if A[0] > A[1]:\n        A[0] = A[1] + A[2]\n    else:\n        A[0] = A[1]", 1),
        ("for i in range(0):\n        A[i] = A[i] + A[i]", 0),
    ],
)
def test_operations_count_once_for_each_iteration(body: str, count: int) -> None:
    assert count_operations(function(body)) == count


def test_a_number_that_a_function_states_counts() -> None:
    stated = function("A[0] = A[1]").with_attr("estimated_flops", 7)
    assert count_operations(IRModule({"f": stated, "g": stated})) == 14


def test_while_loops_are_refused() -> None:
    with pytest.raises(DeclarationError, match="cannot count the operations of a while loop"):
        count_operations(function("while A[0] < A[1]:\n        A[0] = A[0] + A[1]"))


def test_the_anchor_is_the_reduction_with_the_most_operations() -> None:
    a = te.placeholder((4, 8), name="A")
    k, r = te.reduce_axis((0, 8), "k"), te.reduce_axis((0, 4), "r")
    rows = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="rows")
    total = te.compute((1,), lambda i: te.sum(rows[r], axis=r), name="total")
    module = IRModule({"main": te.create_prim_func([a, total])})
    block = anchor_block(module)
    assert block is not None
    assert block.name_hint == "rows"
    assert anchor_block(IRModule({"f": function("A[0] = A[1]")})) is None
    assert isinstance(module["main"], tir.PrimFunc)
