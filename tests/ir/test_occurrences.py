"""What statements read and write, in which order and under which conditions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.ir import expr as E
from te_sched.ir import stmt as S
from te_sched.ir.calls import address_of, call_extern
from te_sched.ir.expr import Call, IntImm, Var
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.occurrences import data_read_by, lane_of, occurrences_of
from te_sched.ir.structural import structural_equal
from tests.lowering.build import read, store, temporary

A, B = temporary("A", 8), temporary("B", 8)
N = temporary("N", 8, dtype="int32")
x, p = Var("x"), Var("p", "bool")


def told(node: S.Stmt) -> list[str]:
    """Each access as "r A", "w B" or "rw C", with its conditions behind."""
    return [
        ("r" * one.reads + "w" * one.writes + " " + one.data.name)
        + "".join(f" if {guard}" for guard in one.guards if isinstance(guard, E.Expr))
        for one in occurrences_of(node)
    ]


def evaluated(value: Any) -> S.Evaluate:
    return S.Evaluate(value)


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (store(A, read(B, read(N, 0)), read(N, 1)), ["r N", "r N", "r B", "w A"]),
        (evaluated(E.Select(p, read(A, 0), read(B, 0))), ["r A if p", "r B if not p"]),
        (evaluated(if_then_else(p, read(A, 0), 0.0)), ["r A if p"]),
        (evaluated(E.And(p, read(A, 0) > 1.0)), ["r A if p"]),
        (evaluated(E.Or(p, read(A, 0) > 1.0)), ["r A if not p"]),
        (evaluated(call_extern("int32", "f", A.data)), ["rw A"]),
        (evaluated(call_extern("int32", "f", A.access_ptr("w"))), ["w A"]),
        (evaluated(call_extern("int32", "f", address_of(read(A, read(N, 0))))), ["r N", "rw A"]),
        (evaluated(Call("int32", "tir.prefetch", (address_of(read(A, 0)),))), []),
        (S.For(x, IntImm(0), read(N, 0), "serial", store(A, 1.0, x)), ["r N"]),
        (S.While(read(N, 0) < 3, store(A, 1.0, 0)), ["r N"]),
    ],
)
def test_accesses_in_the_order_of_their_evaluation(node: S.Stmt, found: list[str]) -> None:
    assert told(node) == found


def test_a_let_is_known_in_its_body() -> None:
    (one,) = occurrences_of(evaluated(E.Let(x, IntImm(3), read(A, x))))
    assert [(var, value.value) for var, value in one.guards] == [(x, 3)]


def test_atomic_updates_name_their_element() -> None:
    call = Call("float32", "tir.atomic_add", (address_of(read(A, x)), read(B, 0)))
    other, one = occurrences_of(evaluated(call))
    assert (other.buffer, other.is_atomic) == (B, False)
    assert (one.buffer, one.indices, one.reads, one.writes) == (A, (x,), True, True)
    assert one.is_atomic


def test_lanes_of_indices() -> None:
    lanes = E.Ramp(x, IntImm(2), 4) * 3 + E.Broadcast(x, 4)
    assert structural_equal(lane_of(lanes, IntImm(1)), (x + IntImm(2) * IntImm(1)) * 3 + x)
    loaded = E.BufferLoad(N, (E.Ramp(x, IntImm(1), 4),))
    assert str(lane_of(loaded, Var("l"))) == "N[x + l]"
    assert lane_of(x, IntImm(1)) is x
    with pytest.raises(ValueError, match="a lane of"):
        lane_of(Call("int32x4", "tir.call_extern", ()), IntImm(0))


def test_data_read_by_an_expression() -> None:
    assert [*data_read_by(read(A, read(N, x)) + read(B, 0))] == [A.data, N.data, B.data]
