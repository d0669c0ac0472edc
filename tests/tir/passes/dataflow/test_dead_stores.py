"""Stores that are overwritten before they are read."""

from __future__ import annotations

import pytest

from te_sched.ir.stmt import BufferStore
from te_sched.ir.visitor import statements
from te_sched.tir.passes.dataflow.dead_stores import dead_stores
from tests.tir.passes.dataflow.test_known_values import parsed


def dead(body: str, work: int = 10**6) -> list[int]:
    """The numbers of the stores of a program that are dead."""
    func = parsed(body)
    found = dead_stores(func, work)
    stores = [node for node in statements(func.body) if isinstance(node, BufferStore)]
    return [number for number, store in enumerate(stores) if store in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0] = 1\nA[0] = 2", [0]),
        ("A[n] = 1\nA[n + 1] = 2", []),
        ("A[0] = 1\nB[0] = A[0]\nA[0] = 2", []),
        ("A[0] = 1\nA[0] = A[0] + 1", []),
        ("A[0] = 1\nA[B[0]] = 2", []),
        ("A[0] = 1\nB[0] = A[B[1]]\nA[0] = 2", []),
        ("A[T.ramp(0, 1, 4)] = T.ramp(0, 1, 4)\nfor i in range(4): A[i] = 1", [0]),
    ],
)
def test_statements_in_order(body: str, expected: list[int]) -> None:
    assert dead(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in range(16): A[i] = 1\nfor i in range(16): A[i] = 2", [0]),
        ("for i in range(16): A[i] = 1\nfor i in range(15): A[i] = 2", []),
        ("for i in range(16): A[i] = 1\nfor i in range(n): A[i] = 2", []),
        ("for i in range(n): A[i] = 1\nfor i in range(n): A[i] = 2", [0]),
        ("for i in range(16):\n  A[i] = 1\n  A[i] = 2", [0]),
        ("for i in range(16): A[0] = i", []),
        ("for i in range(8):\n  A[i] = 1\n  A[i + 1] = 2", []),
        ("for i in range(8):\n  A[i + 1] = 2\n  A[i] = 1\nA[8] = 3", [0]),
        ("A[0] = 1\nfor i in range(4):\n  B[i] = A[0]\n  A[0] = 2", []),
        ("A[0] = 1\nfor i in range(4):\n  A[0] = 2\n  B[i] = A[0]", [0]),
        ("A[0] = 1\nfor i in range(n):\n  A[0] = 2\n  B[i] = A[0]", []),
    ],
)
def test_loops(body: str, expected: list[int]) -> None:
    assert dead(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0] = 1\nif n < 3: A[0] = 2", []),
        ("A[0] = 1\nif n < 3: A[0] = 2\nelse: A[0] = 3", [0]),
        ("if n < 3: A[0] = 1\nif n < 5: A[0] = 2", [0]),
        ("if n < 5: A[0] = 1\nif n < 3: A[0] = 2", []),
        ("A[0] = 1\nif A[0] < 3: A[0] = 2\nelse: A[0] = 3", []),
        ("A[0] = 1\nif B[0] < 3: A[0] = 2\nelse: A[0] = 3", [0]),
    ],
)
def test_branches(body: str, expected: list[int]) -> None:
    assert dead(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0] = 1\nT.evaluate(T.call_extern('int32', 'f'))\nA[0] = 2", []),
        ("A[0] = 1\nT.evaluate(T.ret(0))\nA[0] = 2", []),
        ("A[0] = 1\nfor i in T.parallel(4): A[i] = 2", [0]),
        ("A[0] = 1\nfor i in T.parallel(4):\n  A[i] = 2\n  B[i] = A[3 - i]", []),
        ("for i in T.parallel(4):\n  A[i] = 1\n  A[i] = 2", [0]),
        ("for i in T.parallel(4):\n  A[i] = 1\n  B[i] = A[3 - i]\n  A[i] = 2", []),
        ("for i in T.parallel(4): A[i] = 1\nfor i in T.parallel(4): A[i] = 2", [0]),
        ("i = T.launch_thread('threadIdx.x', 8)\nA[i] = 1\nA[i] = 2", [0]),
        ("i = T.launch_thread('threadIdx.x', 8)\nA[i] = 1\nB[i] = A[0]\nA[i] = 2", []),
        ("A[0] = 1\nfor i in T.parallel(4): B[i] = 2\nA[0] = 2", [0]),
        ("A[0] = 1\nwhile B[0] < 3: B[0] = B[0] + A[0]\nA[0] = 2", []),
        ("C = T.decl_buffer((4,), 'int32')\nC[0] = 1", []),
        ("C = T.Buffer((4, 4), 'int32', data=A.data)\nA[0] = 1\nC[0, 0] = 2", []),
        ("C = T.Buffer((4, 4), 'int32', data=A.data)\nA[0] = 1\nB[0] = C[0, 0]\nA[0] = 2", []),
    ],
)
def test_what_may_read_memory(body: str, expected: list[int]) -> None:
    assert dead(body) == expected


def test_work_is_limited() -> None:
    assert dead("A[0] = 1\nA[0] = 2", work=2) == []


def test_lets_go_out_of_scope() -> None:
    assert dead("A[2] = 1\nwith T.LetStmt(n // 2) as x:\n  A[x] = 1\n  A[x] = 2") == [1]
