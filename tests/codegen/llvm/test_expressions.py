"""Expressions as values, against Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched.codegen.llvm import entry  # with the intrinsics
from te_sched.codegen.llvm.expressions import (
    bind,
    conditional,
    evaluate,
    evaluate_condition,
    evaluate_index,
    evaluate_place,
    is_speculatable,
)
from te_sched.codegen.llvm.types import Value
from te_sched.errors import BuildError
from te_sched.ir import expr as E
from te_sched.ir import ops
from te_sched.ir import stmt as S
from tests.codegen.llvm.instructions import new_function, run_expression, text_of
from tests.codegen.programs import buffer, build, function, loop

assert entry is not None
N = 32
X, Y = E.Var("x", "int32"), E.Var("y", "int32")
V = E.Var("v", "int32x4")
VALUES = {X: 7, Y: -3, V: [4, -1, 0, 9]}
LOAD = E.BufferLoad(buffer("A", [4], "int32"), (E.IntImm(0),))


def lanes(value: Any) -> E.Expr:
    return E.Broadcast(ops.convert(value), 4)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        *[
            (X - Y * 2, [13]),
            (E.FloorDiv(X, Y), [-3]),
            (E.FloorMod(X, Y), [-2]),
            (E.Min(X, Y), [-3]),
        ],
        *[(E.Div(X, Y), [-2]), (E.Mod(X, Y), [1]), (E.Not(X < Y), [True]), (E.EQ(X, X), [True])],
        *[(E.And(X > 0, Y > 0), [False]), (E.Or(X > 0, Y > 0), [True])],
        *[(E.Select(Y < 0, X, Y), [7]), (E.Let(X, Y * 2, X + Y), [-9])],
        (E.Cast("float64x4", X), [7] * 4),
        (E.Ramp(X, Y, 4), [7, 4, 1, -2]),
        (E.Ramp(X, E.IntImm(1), 4) + V, [11, 7, 9, 19]),
        (E.Select(lanes(0) < V, V, lanes(X)), [4, 7, 7, 9]),
        (E.And(lanes(0) < V, lanes(9) > V), [True, False, False, False]),
        (E.Shuffle((V, lanes(5)), (E.IntImm(3), E.IntImm(4))), [9, 5]),
        (E.Call("int32", "tir.if_then_else", (X < Y, X, E.FloorDiv(X, E.IntImm(2)))), [3]),
        (E.FloatImm(0.1, "float64"), [0.1]),
    ],
    ids=str,
)
def test_values(node: E.Expr, expected: list[Any]) -> None:
    np.testing.assert_array_equal(run_expression(node, VALUES), expected)


@pytest.mark.parametrize(
    ("node", "is_safe"),
    [
        *[(X + 1, True), (E.Select(X < Y, X, Y), True), (E.FloorDiv(X, Y), False), (LOAD, False)],
        *[(X + E.Call("int32", "tir.popcount", (X,)), False), (E.Let(X, Y, X), False)],
    ],
)
def test_what_may_be_evaluated_early(node: E.Expr, is_safe: bool) -> None:
    assert is_speculatable(node) == is_safe
    out = new_function()
    out.environment.update({X: Value("%x", "int32"), Y: Value("%y", "int32")})
    out.environment[LOAD.buffer.data] = Value("%a", "handle")
    evaluate(out, E.And(Y > 0, node > 0))
    assert ("br i1" in text_of(out)) != is_safe  # else both sides are computed


def test_sums_of_loop_variables_do_not_overflow_in_indices() -> None:
    def instructions(evaluated: Any, is_data: bool) -> str:
        out = new_function()
        out.environment[X] = Value("%x", "int32", -(2**31), 2**31 - 1, data=is_data)
        evaluated(out, X + 1)
        return text_of(out)

    assert instructions(evaluate, False) == "%v1 = add i32 %x, 1"
    assert instructions(evaluate_index, False) == "%v1 = add nsw i32 %x, 1"
    assert instructions(evaluate_index, True) == "%v1 = add nsw i32 %x, 1"
    assert instructions(evaluate_condition, False) == "%v1 = add nsw i32 %x, 1"
    assert instructions(evaluate_condition, True) == "%v1 = add i32 %x, 1"


def test_bound_variables_are_exact_outside_of_indices() -> None:
    out = new_function()
    out.environment[X] = Value("%x", "int32", -(2**31), 2**31 - 1, data=False)
    bind(out, Y, X + 1)
    exact, assuming = evaluate(out, Y).text, evaluate_index(out, Y).text
    lines = dict(line.split(" = ") for line in text_of(out).splitlines())
    assert (lines[exact], lines[assuming]) == ("add i32 %x, 1", "add nsw i32 %x, 1")
    bind(out, Y, E.IntImm(3))
    assert evaluate(out, Y).text == evaluate_index(out, Y).text == "3"


@pytest.mark.parametrize(
    ("index", "count", "stride"),
    [(X, 1, 1), (E.Ramp(X, E.IntImm(-2), 8), 8, -2), (E.Ramp(X, Y, 4), 4, None), (V, 4, None)],
)
def test_places_of_elements(index: E.Expr, count: int, stride: int | None) -> None:
    out = new_function()
    out.environment.update({var: Value(f"%{var.name}", var.dtype) for var in (X, Y, V)})
    place = evaluate_place(out, index)
    assert (place.lanes, place.stride) == (count, stride)


def test_vectors_of_conditions_and_lanes_that_vary_are_refused() -> None:
    out = new_function()
    out.environment[V] = Value("%v", "int32x4")
    load = E.BufferLoad(LOAD.buffer, (V,))
    with pytest.raises(BuildError, match="condition of if_then_else is a vector, expected a scal"):
        conditional(out, lanes(0) < V, load, lanes(0))
    with pytest.raises(BuildError, match="lane numbers of a Shuffle must be constants"):
        evaluate(out, E.Shuffle((V,), (X,)))


def test_if_then_else_leaves_the_other_side_alone() -> None:
    source, target = buffer("A", [1]), buffer("B", [N])

    def body(i: E.Var) -> S.Stmt:
        far = E.BufferLoad(source, (ops.mul(i, 1 << 26),))  # beyond any array for i > 0
        value = E.Call("float32", "tir.if_then_else", (E.LT(i, E.IntImm(1)), far, E.FloatImm(2.0)))
        return S.BufferStore(target, value, (i,))

    a, b = np.ones(1, "float32"), np.zeros(N, "float32")
    build(function([source, target], loop(N, body)))(a, b)
    np.testing.assert_array_equal(b, [1.0] + [2.0] * (N - 1))


def test_and_decides_before_its_second_operand() -> None:
    source, target = buffer("A", [1]), buffer("B", [N])

    def body(i: E.Var) -> S.Stmt:
        good = E.And(
            E.LT(i, E.IntImm(1)),
            E.GT(E.BufferLoad(source, (ops.mul(i, 1 << 26),)), E.FloatImm(0.0)),
        )
        return S.IfThenElse(good, S.BufferStore(target, E.FloatImm(1.0), (i,)))

    a, b = np.ones(1, "float32"), np.zeros(N, "float32")
    build(function([source, target], loop(N, body)))(a, b)
    np.testing.assert_array_equal(b, [1.0] + [0.0] * (N - 1))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_numbers_that_were_converted_are_not_rounded(dtype: str) -> None:
    """Borders of zeros around what float32 has of smaller numbers."""
    small = E.Var("small", f"{dtype}x4")
    wide = E.Cast("float32x4", small)
    zero = E.Broadcast(E.FloatImm(0.0, "float32"), 4)
    bits = [7, 0x7FC1, 0x8000, 0x3F80] if dtype == "bfloat16" else [1.5, np.nan, -0.0, 6e-8]
    for other, is_exact in ((zero, True), (E.Broadcast(E.FloatImm(0.1, "float32"), 4), False)):
        node = E.Cast(f"{dtype}x4", E.Select(lanes(0) < V, wide, other))
        out = new_function()
        out.environment.update({small: Value("%s", f"{dtype}x4"), V: Value("%v", "int32x4")})
        evaluate(out, node)
        assert (len(text_of(out).splitlines()) == 2) == is_exact
    node = E.Cast(f"{dtype}x4", E.Select(lanes(0) < V, wide, zero))
    result = run_expression(node, {small: bits, V: [1, 1, 1, 0]})
    np.testing.assert_array_equal(
        result[:3].view("uint16"), np.array(bits[:3], result.dtype).view("uint16")
    )
    assert result[3] == 0
