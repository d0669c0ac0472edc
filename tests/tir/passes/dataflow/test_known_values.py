"""Known values, as they decide conditions of programs."""

from __future__ import annotations

from textwrap import indent

import pytest

from te_sched import script
from te_sched.config import AS_TVM
from te_sched.ir.stmt import BufferStore, IfThenElse, PrimFunc
from te_sched.ir.visitor import statements
from te_sched.tir.passes.dataflow.known_values import KnownValues

HEAD = """
from te_sched.script import tir as T
@T.prim_func
def f(A: T.Buffer(16, "int32"), B: T.Buffer(16, "int32"), x: T.Buffer(16, "float32"), n: T.int32):
"""


def parsed(body: str) -> PrimFunc:
    found = script.from_source(HEAD + indent(body.strip(), "    "))
    assert isinstance(found, PrimFunc)
    return found


def decided(body: str) -> list[bool | None]:
    """What is known of the conditions of a program."""
    func = parsed(body)
    known = KnownValues(func, AS_TVM)
    return [
        known.decided(node.condition, node)
        for node in statements(func.body)
        if isinstance(node, IfThenElse)
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0] = 3\nif A[0] == 3: B[0] = 1", [True]),
        ("A[n] = 3\nif A[n + 1] == 3: B[0] = 1", [None]),
        ("for i in range(16): A[i] = i\nfor i in range(16):\n  if A[i] < 16: B[i] = 1", [True]),
        ("for i in range(4, 8): A[i] = 1\nif A[8] == 1: B[0] = 1", [None]),
        ("for i in range(n): A[0] = 1\nif A[0] == 1: B[0] = 1", [None]),
        ("for i in range(8): A[0] = i\nif A[0] == 7: B[0] = 1", [True]),
        (
            "for i in range(4):\n  for j in range(4): A[i * 4 + j] = j\nif A[9] == 1: B[0] = 1",
            [True],
        ),
        ("for i in range(16): A[i // 2] = i\nif A[3] == 7: B[0] = 1", [True]),
    ],
)
def test_stores(body: str, expected: list[bool | None]) -> None:
    assert decided(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("T.evaluate(T.assume(A[n] == 2))\nif A[n] == 2: B[0] = 1", [True]),
        ("if A[0] == 2:\n  if A[0] < 3: B[0] = 1", [None, True]),
        ("if A[0] != 2: B[0] = 1\nelse:\n  if A[0] == 2: B[0] = 1", [None, True]),
        ("if A[0] == 2 or A[1] == 2:\n  if A[0] == 2: B[0] = 1", [None, None]),
        (
            "T.evaluate(T.assume(n < 3 or A[n] == 2))\nif n == 5:\n  if A[n] == 2: B[0] = 1",
            [None, True],
        ),
        ("if x[0] == T.float32(0):\n  if x[0] == T.float32(0): B[0] = 1", [None, None]),
    ],
)
def test_conditions(body: str, expected: list[bool | None]) -> None:
    assert decided(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if n < 3: A[n] = 1\nelse: A[n] = 1\nif A[n] == 1: B[0] = 1", [None, True]),
        ("if n < 3: A[n] = 1\nif n < 2:\n  if A[n] == 1: B[0] = 1", [None, None, True]),
        ("A[0] = 1\nif B[0] == 1: A[0] = 2\nif A[0] == 1: B[0] = 1", [None, None]),
        ("A[0] = 1\nif B[0] == 1: A[1] = 2\nif A[0] == 1: B[0] = 1", [None, True]),
    ],
)
def test_branches(body: str, expected: list[bool | None]) -> None:
    assert decided(body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0] = 1\nT.evaluate(T.call_extern('int32', 'f'))\nif A[0] == 1: B[0] = 1", [None]),
        ("A[0] = 1\nA[B[0]] = 2\nif A[0] == 1: B[0] = 1", [None]),
        ("A[1] = 1\nwhile B[0] < 3:\n  if A[1] == 1: B[0] = B[0] + 1", [True]),
        ("A[1] = 1\nwhile A[1] < 3:\n  if A[1] == 1: A[1] = A[1] + 1", [None]),
        ("A[1] = 1\nfor i in T.parallel(8):\n  if A[1] == 1: B[i] = 2", [True]),
        ("A[1] = 1\nfor i in T.parallel(8):\n  A[i] = 2\n  if A[i] == 2: B[i] = 2", [True]),
        ("for i in T.parallel(8):\n  A[0] = i\n  if A[0] == i: B[i] = 2", [None]),
        ("for i in T.parallel(8):\n  A[i] = 2\n  A[7 - i] = 3\n  if A[i] == 2: B[i] = 2", [None]),
        ("for i in T.vectorized(8): A[i] = 2\nif A[1] == 2: B[0] = 2", [True]),
        ("for i in T.vectorized(8): A[0] = i\nif A[0] == 7: B[0] = 2", [None]),
    ],
)
def test_what_may_change_memory(body: str, expected: list[bool | None]) -> None:
    assert decided(body) == expected


def test_threads_may_write_whatever_they_write_anywhere() -> None:
    body = """
i = T.launch_thread("threadIdx.x", 8)
if B[i] == 1: A[i] = 2
if A[i] == 2:
  if A[i] == 2: A[i] = 3
if x[i] == T.float32(0):
  if n == 1: A[i] = 4
"""
    assert decided(body) == [None, None, None, None, None]


def test_vectors_are_their_lanes() -> None:
    body = "A[T.ramp(2, 1, 4)] = T.ramp(5, 1, 4)\nif A[4] == 7: B[0] = 1\nif A[6] == 7: B[0] = 1"
    assert decided(body) == [True, None]


def test_iteration_knows_what_earlier_ones_leave() -> None:
    body = """
for i in range(16): A[i] = 0
for i in range(16):
  if A[i] == 0: A[i] = B[i]
  if A[0] == 0: B[0] = 1
"""
    assert decided(body) == [True, None]


def test_memory_that_is_gone_has_no_values() -> None:
    body = """
for i in range(4):
  C = T.decl_buffer((4,), "int32")
  if C[0] == 1: B[0] = 1
  C[0] = 1
"""
    assert decided(body) == [None]


def test_values_of_other_views_are_forgotten() -> None:
    body = """
C = T.Buffer((4, 4), "int32", data=A.data)
A[5] = 1
C[1, 1] = 2
if A[5] == 1: B[0] = 1
"""
    assert decided(body) == [None]


def test_stores_of_known_values() -> None:
    func = parsed("for i in range(8): A[i] = i\nA[3] = 3\nA[3] = 4")
    known = KnownValues(func, AS_TVM)
    stores = [node for node in statements(func.body) if isinstance(node, BufferStore)]
    assert [known.keeps(store) for store in stores] == [False, True, False]


def test_work_is_limited() -> None:
    func = parsed("for i in range(8): A[i] = i\nif A[3] == 3: B[0] = 1")
    known = KnownValues(func, AS_TVM, work=10)
    assert not any(known.at(node).facts for node in statements(func.body))


def test_statement_at_two_places_has_no_facts() -> None:
    func = parsed("A[0] = 1\nif A[0] == 1: B[0] = 1")
    twice = func.with_body(type(func.body)((*func.body.seq, *func.body.seq[1:])))  # type: ignore
    known = KnownValues(twice, AS_TVM)
    assert not known.at(twice.body.seq[1]).facts  # type: ignore[attr-defined]
