"""Conditions and lets leave the loops that they do not depend on."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import script
from te_sched.config import Lowering
from te_sched.ir.stmt import PrimFunc
from te_sched.tir.passes.hoist_expressions import (
    HoistedConditionals,
    HoistedLetBindings,
    hoist_expressions,
)
from te_sched.tir.transform import HoistExpression
from te_sched.transform import PassContext

HEAD = """
from te_sched.script import tir as T
@T.prim_func
def f(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32"), n: T.int32, m: T.int32):
"""
CONDITIONS, LETS = HoistedConditionals, HoistedLetBindings


def parsed(body: str) -> PrimFunc:
    found = script.from_source(HEAD + indent(dedent(body).strip(), "    "))
    assert isinstance(found, PrimFunc)
    return found


def hoisted(body: str, conditions: Any = CONDITIONS.All, lets: Any = LETS.All) -> str:
    settings = Lowering(hoisted_conditionals=conditions.value, hoisted_lets=lets.value)
    return str(hoist_expressions(parsed(body), settings).body)


IF = """
for i, j in T.grid(4, 4):
    if j < 3 and i < 2:
        A[i, j] = T.float32(1)
"""
VALUE = """
for i, j in T.grid(4, 4):
    A[i, j] = T.if_then_else(n < 2, B[j], T.float32(2))
"""
LET = """
for i, j in T.grid(4, 4):
    x: T.float32 = T.Cast("float32", i)
    if x < T.float32(3):
        A[i, j] = x
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def test_parts_of_conditions_leave_the_loops_they_do_not_depend_on() -> None:
    found = lines(hoisted(IF))
    assert found[:3] == ["for i in range(4):", "if i < 2:", "for j in range(4):"]
    whole = lines(hoisted(IF, CONDITIONS.IfElseStmt))
    assert "if j < 3 and i < 2:" in whole


def test_conditions_of_values_leave_loops() -> None:
    found = lines(hoisted(VALUE))
    assert found.index("if n < 2:") < found.index("for i, j in T.grid(4, 4):")
    assert found.count("for i, j in T.grid(4, 4):") == 2
    assert "if" not in hoisted(VALUE, CONDITIONS.IfElseStmt).replace("if_then_else", "")


def test_nothing_leaves_without_flags() -> None:
    for body in (IF, VALUE, LET):
        found = hoisted(body, CONDITIONS.Never, LETS.Never)
        assert found.count("for i, j in T.grid(4, 4):") == 1


def test_lets_leave_loops_with_conditions_on_them() -> None:
    found = lines(hoisted(LET))
    assert found[0].startswith("for i in")
    assert found[1].startswith("x: T.float32 =")
    assert found.index("if x < T.float32(3):") < found.index("for j in range(4):")
    assert lines(hoisted(LET, lets=LETS.RequiredByConditional)) == found
    assert lines(hoisted(LET, lets=LETS.LetExpr))[0] == "for i, j in T.grid(4, 4):"


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(4):\n  A[i, 0] = T.float32(1)\n  if n < 3: B[i] = T.float32(2)",
        "for i in range(4):\n  if B[0] < T.float32(2): A[i, 0] = T.float32(1)",
        "for i in range(n):\n  if n // m < 2: A[i, 0] = T.float32(1)",
        "for i in range(4):\n  x: T.float32 = B[0]\n  A[i, 0] = x",
        "for i in range(4):\n  if T.call_extern('int32', 'f') < 2: A[i, 0] = T.float32(1)",
    ],
)
def test_what_must_stay(body: str) -> None:
    assert lines(hoisted(body))[0].startswith(("for i", "m = ", "A = ", "B = ", "n = "))
    found = [line for line in lines(hoisted(body)) if line.startswith(("for", "if", "x:"))]
    assert found[0].startswith("for")


def test_threads_need_their_flag() -> None:
    body = """
        i = T.env_thread("threadIdx.x")
        T.launch_thread(i, 4)
        for j in range(4):
            if n < 2: A[i, j] = T.float32(1)
    """
    found = lines(hoisted(body))
    assert found.index("if n < 2:") < next(k for k, one in enumerate(found) if "launch" in one)
    kept = lines(hoisted(body, CONDITIONS.All & ~CONDITIONS.UsingBlockVar))
    assert kept.index("if n < 2:") > next(k for k, one in enumerate(kept) if "launch" in one)


def test_expressions_with_lets() -> None:
    body = """
        for i, j in T.grid(4, 4):
            x = T.float32()
            A[i, j] = T.Let(x * x, where={x: T.Cast("float32", i)})
    """
    found = lines(hoisted(body))
    assert [line for line in found if line.startswith("x: ")] == [
        'x: T.float32 = T.Cast("float32", i)'
    ]


def test_growth_is_limited() -> None:
    conditions = " + ".join(f"T.if_then_else(n < {k}, {k}, m)" for k in range(10))
    found = hoisted(f"for i in range(4): B[i] = T.Cast('float32', {conditions})")
    assert found.count("for i") <= 2**6


@pytest.mark.parametrize("body", [IF, VALUE, LET])
@pytest.mark.parametrize("n", [1, 3])
def test_result_is_the_same(body: str, n: int) -> None:
    before = te_sched.IRModule({"f": parsed(body)})
    with PassContext(config={"tir.HoistExpression": {"hoisted_conditionals": 15}}):
        after = HoistExpression()(before)
    results = []
    for module in (before, after):
        a, b = (te_sched.nd.array(np.arange(size, dtype="float32")) for size in (16, 4))
        a = te_sched.nd.array(a.numpy().reshape(4, 4))
        te_sched.build(module["f"], target="llvm")(a, b, n, 1)
        results.append(a.numpy())
    np.testing.assert_array_equal(*results)
