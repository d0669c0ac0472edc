"""What the analyzer of a FactsMapper knows around each store."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.arith.analyzer import Analyzer
from te_sched.ir.expr import Call, Expr
from te_sched.ir.stmt import BufferStore
from te_sched.lowering.facts_mapper import FactsMapper
from te_sched.script import from_source


class Bounds(FactsMapper):
    """Collects the bounds of the first index of each store and of arguments of exp."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self.found: list[Any] = []

    def visit_BufferStore(self, node: BufferStore) -> Any:
        self.found.append(self.analyzer.const_bounds(node.indices[0]))
        return self.generic(node)

    def visit_Call(self, node: Call) -> Expr:
        if node.op == "tir.if_then_else":
            return self.choice(node)
        if node.op == "tir.exp":
            self.found.append(self.analyzer.const_bounds(node.args[0].value))  # type: ignore[attr-defined]
        return self.generic(node)


def bounds(body: str) -> list[Any]:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    source = f'@T.prim_func\ndef main(A: T.Buffer((64,), "float32"), n: T.int32):\n{lines}'
    visitor = Bounds()
    func: Any = from_source(source)
    visitor.visit(func.body)
    return visitor.found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in range(8):\n    A[i * 2] = 0.0", [(0, 14)]),
        (
            'for i in T.thread_binding(32, thread="threadIdx.x"):\n    A[i + 1] = 0.0',
            [(1, 32)],
        ),
        ('with T.launch_thread("blockIdx.x", 16) as i:\n    A[i] = 0.0', [(0, 15)]),
        (
            "for i in range(8):\n    with T.block('A'):\n        v = T.axis.spatial(8, i)\n"
            "        A[v + 3] = 0.0",
            [(3, 10)],
        ),
    ],
)
def test_ranges_are_known(body: str, expected: list[Any]) -> None:
    assert bounds(body) == expected


def test_conditions_hold_in_their_branches_alone() -> None:
    body = """
for i in range(64):
    if i < 5:
        A[i] = 0.0
    else:
        A[i] = 1.0
    A[i] = A[i] + 2.0
"""
    assert bounds(body) == [(0, 4), (5, 63), (0, 63)]


def test_conditions_hold_in_their_values_alone() -> None:
    body = """
for i in range(64):
    A[i] = T.if_then_else(i < 5, T.exp(T.Cast("float32", i)), T.exp(T.Cast("float32", i)))
"""
    assert bounds(body) == [(0, 63), (0, 4), (5, 63)]
