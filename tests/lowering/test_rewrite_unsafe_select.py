"""Which selects must not compute both values."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import Broadcast, Call, IntImm, Select
from te_sched.lowering.rewrite_unsafe_select import rewrite_unsafe_select
from tests.lowering.build import function, read, store, var

A = decl_buffer((64,), dtype="int32", name="A")
n = var("n")


def rewritten(value: Any) -> Any:
    return rewrite_unsafe_select(function(store(A, value, 0), A, n)).body.value  # type: ignore[attr-defined]


@pytest.mark.parametrize("unsafe", [read(A, n), read(A, n) + 1, call_extern("int32", "f")])
def test_value_that_may_fail_is_guarded(unsafe: Any) -> None:
    guarded = rewritten(Select(n < 3, unsafe, IntImm(0)))
    assert isinstance(guarded, Call)
    assert guarded.op == "tir.if_then_else"


def test_safe_values_stay_selected() -> None:
    select = Select(read(A, n) < 3, n * 2, n // 3)
    assert rewritten(select) is select


def test_guarded_value_is_safe() -> None:
    inner = Select(n < 2, read(A, n), IntImm(0))
    outer = rewritten(Select(n < 3, inner, IntImm(0)))
    assert isinstance(outer, Select)
    assert isinstance(outer.true_value, Call)


def test_lanes_have_no_branches() -> None:
    value = Broadcast(read(A, n), 4)
    select = Select(Broadcast(n < 3, 4), value, value)
    func = function(store(A, n, 0), A, n)
    assert rewrite_unsafe_select(func) is func
    assert rewritten_vector(select) is select


def rewritten_vector(value: Any) -> Any:
    wide = decl_buffer((16,), dtype="int32x4", name="B")
    return rewrite_unsafe_select(function(store(wide, value, 0), A, wide, n)).body.value  # type: ignore[attr-defined]
