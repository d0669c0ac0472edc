"""The sizes of the memory that a program allocates."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.analysis.programs.memory_sizes import allocated_bytes, constant_bytes, workspace_bytes
from te_sched.ir.expr import PointerType, Var
from te_sched.ir.stmt import Allocate, Evaluate, SeqStmt, Stmt
from te_sched.script import from_source

NOTHING = Evaluate(tir.const(0))


def allocated(size: object, body: Stmt = NOTHING, scope: str = "global") -> Stmt:
    data = Var("data", "handle", PointerType("float32", scope))
    extents = (tir.const(size) if isinstance(size, int) else size,)
    return Allocate(data, "float32", extents, tir.const(True, "bool"), body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (allocated(4, allocated(2)), {"global": 24}),
        (SeqStmt((allocated(4), allocated(2))), {"global": 16}),
        (allocated(4, SeqStmt((allocated(1), allocated(2)))), {"global": 24}),
        (allocated(4, allocated(2, scope="shared")), {"global": 16, "shared": 8}),
        (allocated(Var("n")), {"global": 0}),
        (NOTHING, {}),
    ],
)
def test_memory_in_use_at_the_same_time_is_added_up(body: Stmt, expected: dict[str, int]) -> None:
    assert allocated_bytes(body) == expected


def test_workspaces_are_multiples_of_an_alignment() -> None:
    body = allocated(3, allocated(1, scope="shared"))
    assert workspace_bytes(body, 16) == 32
    assert workspace_bytes(body, 1) == 16


def test_constants_are_those_of_all_statements() -> None:
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((3,), 'float32')):\n"
        "    B = T.allocate_const([1.0, 2.0, 3.0], 'float32', [3])\n"
        "    C = T.Buffer((3,), 'float32', data=B)\n    A[0] = C[0]\n"
    )
    assert constant_bytes(func.body, 16) == 16
