"""Pairs of arguments that must not share memory, as an attribute of functions."""

from __future__ import annotations

from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import IntImm, Var
from te_sched.ir.shared_arguments import ATTRIBUTE, SharedArguments, pairs_to_check, same_memory
from te_sched.ir.stmt import Evaluate, PrimFunc

A, B, C = (decl_buffer((4,), name=name) for name in "ABC")
PARAMS = [Var(name, "handle") for name in "abc"]
FUNC = PrimFunc((*PARAMS, Var("n")), Evaluate(IntImm(0)), dict(zip(PARAMS, (A, B, C), strict=True)))
PAIRS = (SharedArguments(1, 0, True), SharedArguments(2, 1, False))


def test_a_promise_is_checked_for_all_that_is_written() -> None:
    func = FUNC.with_attr("tir.noalias", True)
    pairs = pairs_to_check(func, lambda number: number == 1)
    assert pairs == [SharedArguments(1, 0, False), SharedArguments(1, 2, False)]


def test_pairs_without_a_promise_are_those_of_the_attribute() -> None:
    assert pairs_to_check(FUNC, lambda number: True) == []
    assert pairs_to_check(FUNC.with_attr(ATTRIBUTE, PAIRS), lambda number: True) == [*PAIRS]


def test_memory_that_a_call_may_give_twice() -> None:
    assert same_memory(FUNC.with_attr(ATTRIBUTE, PAIRS)) == [(B.data, A.data)]
    assert same_memory(FUNC) == []
