"""Reducers of updates."""

from __future__ import annotations

import pytest

from te_sched import tir
from te_sched.arith.reducers import find_reducer
from te_sched.ir.structural import structural_equal

A = tir.decl_buffer((8,), name="A")
V = tir.decl_buffer((8,), "int32", name="V")
B = tir.decl_buffer((1,), name="B")
P = tir.decl_buffer((1,), "int32", name="P")
k = tir.Var("k")
ZERO = tir.const(0.0, "float32")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (B[0] + A[k], "x0 + y0"),
        (A[k] + B[0], "y0 + x0"),
        (B[0] * (A[k] + 1.0), "x0 * y0"),
        (tir.max(B[0], A[k]), "T.max(x0, y0)"),
        (tir.min(B[0], -A[k]), "T.min(x0, y0)"),
    ],
)
def test_operators(value, text):
    found = find_reducer([B[0]], [ZERO], [value])
    assert found is not None
    reducer, sources = found
    assert f": {text}," in str(reducer)
    assert "B" not in str(sources)
    assert structural_equal(reducer.identity, [ZERO])


@pytest.mark.parametrize(
    "value",
    [
        B[0] - A[k],
        A[k] + 1.0,
        B[0] + B[0],
        (B[0] + A[k]) * 2.0,
        B[0] + A[k] * B[0],
        tir.Select(k < 3, B[0], A[k]),
        A[k],
    ],
)
def test_other_updates(value):
    assert find_reducer([B[0]], [ZERO], [value]) is None


def test_choices():
    holds = B[0] >= A[k]
    values = [tir.Select(holds, P[0], V[k]), tir.Select(holds, B[0], A[k])]
    found = find_reducer([P[0], B[0]], [tir.const(-1), ZERO], values)
    assert found is not None
    reducer, sources = found
    assert structural_equal(sources, [V[k], A[k]])
    assert "T.Select(x1 >= y1, x0, y0)" in str(reducer)
    assert [one.dtype for one in reducer.lhs] == ["int32", "float32"]


def test_several_results():
    values = [P[0] + V[k], B[0] + A[k] * A[k]]
    found = find_reducer([P[0], B[0]], [tir.const(0), ZERO], values)
    assert found is not None
    assert structural_equal(found[1], [V[k], A[k] * A[k]])
