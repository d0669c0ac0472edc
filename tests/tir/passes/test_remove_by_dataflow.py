"""Stores that are not read, or that change nothing, go with the statements without effect."""

from __future__ import annotations

from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.stmt import IfThenElse
from te_sched.lowering.remove_no_op import remove_no_op
from te_sched.tir.passes.remove_by_dataflow import remove_by_dataflow
from tests.lowering.build import block, function, loop, read, store, text, var

A = decl_buffer((64,), name="A")
i, x = var("i"), var("x")
WORK = store(A, 1.0, 0)


def test_stores_of_known_values_and_overwritten_ones_go() -> None:
    ones, twos = (loop(v, 16, store(A, number, v)) for v, number in ((i, 1.0), (x, 2.0)))
    func = function(block(ones, twos, store(A, 2.0, 3)), A)
    assert text(remove_by_dataflow(func)).count("A[") == 1
    assert text(remove_no_op(func)).count("A[") == 3


def test_values_with_effects_are_still_evaluated() -> None:
    func = function(block(store(A, call_extern("float32", "f"), 0), WORK), A)
    found = text(remove_by_dataflow(func)).splitlines()
    assert found == ['T.call_extern("float32", "f")', "A[0] = T.float32(1)"]


def test_one_of_two_equal_stores_stays() -> None:
    body = block(*[loop(v, 16, store(A, 1.0, v)) for v in (i, x)])
    assert text(remove_by_dataflow(function(body, A))).count("A[") == 1


def test_stores_before_a_condition_that_holds_go() -> None:
    overwritten = IfThenElse(read(A, 1) < 5, store(A, 2.0, 0), store(A, 3.0, 0))
    one_sided = IfThenElse(read(A, 1) < 5, store(A, 2.0, 0))
    first, known = store(A, 1.0, 0), store(A, 4.0, 1)
    for body in (block(first, overwritten), block(known, first, one_sided)):
        assert "A[0] = T.float32(1)" not in text(remove_by_dataflow(function(body, A)))
    unknown = text(remove_by_dataflow(function(block(first, one_sided), A)))
    assert "A[0] = T.float32(1)" in unknown
