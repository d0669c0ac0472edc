"""Values of elements decide conditions and replace loads."""

from __future__ import annotations

from typing import Any

from te_sched import config
from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.ops import const
from te_sched.lowering.simplify import simplify
from te_sched.passes import LoweringPass
from te_sched.tir.passes.propagate_values import propagate_values
from tests.arith.brute import show
from tests.lowering.test_simplify import DATA, A, i, j, loop, store


def with_buffer(body: S.Stmt, settings: config.Lowering = config.AS_TVM) -> Any:
    return propagate_values(S.PrimFunc((DATA, j), body, {}), settings).body


def test_known_elements_decide_conditions() -> None:
    element = E.BufferLoad(A, (const(3),))
    body = S.SeqStmt((loop(i, 8, store(i, i)), S.IfThenElse(E.EQ(element, const(3)), store(j))))
    settings = config.Lowering(propagate_to_conditions=True)
    assert type(with_buffer(body, settings).seq[1]) is S.BufferStore
    assert type(with_buffer(body).seq[1]) is S.IfThenElse
    to_run = config.Lowering(propagate_to_conditions=True, to_run=True)
    assert type(with_buffer(body, to_run).seq[1]) is S.IfThenElse


def test_known_elements_are_replaced() -> None:
    body = S.SeqStmt((store(const(0)), store(const(1), E.BufferLoad(A, (const(0),)) + 1)))
    found = with_buffer(body, config.Lowering(propagate_to_values=True)).seq[1]
    assert show(found.value) == "8"


def test_assumptions_hold_in_what_follows() -> None:
    assumed = S.Evaluate(E.Call("bool", "tir.assume", (E.EQ(j, const(0)),)))
    body = S.SeqStmt((assumed, S.IfThenElse(j < 2, store(const(0)))))
    found = with_buffer(body, config.Lowering(propagate_to_conditions=True))
    assert type(found.seq[1]) is S.BufferStore


def test_options_let_the_pass_stand_in_for_simplify_but_not_to_run() -> None:
    settings = config.Lowering(propagate_to_values=True)
    step = LoweringPass(simplify)
    assert step.under(settings) is propagate_values
    assert step.under(config.Lowering(propagate_to_values=True, to_run=True)) is simplify
    assert step.under(config.AS_TVM) is simplify
