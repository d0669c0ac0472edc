"""What becomes a vector, and what a loop over its lanes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched.codegen.llvm.vector_math import is_known
from te_sched.config import Lowering
from te_sched.errors import LoweringError
from te_sched.ir import intrinsics, ops
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import Call
from te_sched.ir.stmt import Evaluate, IfThenElse, LetStmt, Stmt
from te_sched.lowering.vectorize_loops import vectorize_loops, vectorized_loops
from tests.lowering.build import (
    allocate,
    expected,
    function,
    loop,
    read,
    store,
    temporary,
    text,
    var,
)

A = decl_buffer((64,), dtype="int32", name="A")
i, j, n, x = var("i"), var("j"), var("n"), var("x")


def vectorized(*body: Stmt, extent: Any = 4) -> str:
    return text(vectorize_loops(function(loop(i, extent, *body, kind="vectorized"), A, n)))


@pytest.mark.parametrize(
    ("index", "value", "line"),
    [
        (i, n, "A[0:4] = T.Broadcast(n, 4)"),
        (i * 2 + 1, i, "A[1:9:2] = T.Ramp(0, 1, 4)"),
        (7 - i, n - i, "A[7:3:-1] = T.Ramp(n, -1, 4)"),
        (ops.convert(7), i, "A[T.Broadcast(7, 4)] = T.Ramp(0, 1, 4)"),
        (i, i * n, "A[0:4] = T.Ramp(0, 1, 4) * T.Broadcast(n, 4)"),
        (n, n, "A[n] = n"),
    ],
)
def test_statement_becomes_a_vector(index: Any, value: Any, line: str) -> None:
    assert vectorized(store(A, value, index)) == line


def test_loads_stay_scalar_where_their_index_is() -> None:
    value = read(A, i) + read(A, 3)
    assert vectorized(store(A, value, i)) == "A[0:4] = A[0:4] + T.Broadcast(A[3], 4)"


def to_run(*body: Stmt) -> str:
    """The same in a program to run on a processor."""
    settings = Lowering(to_run=True, partition_for_speed=True)
    return text(vectorize_loops(function(loop(i, 4, *body, kind="vectorized"), A, n), settings))


def test_stores_of_some_lanes_have_predicates_in_programs_to_run() -> None:
    mask = 'predicate=T.get_active_lane_mask("uint1x4", 0, n)'
    condition = ops.logical_and(n < 9, i < n)
    assert to_run(IfThenElse(condition, store(A, read(A, i), i))) == expected(f"""
        if n < 9 and 0 < n:
            A.vstore([T.Ramp(0, 1, 4)], A.vload([T.Ramp(0, 1, 4)], {mask}), {mask})
    """)
    assert "+ T.Broadcast(A[9], 4)" in to_run(
        IfThenElse(i < n, store(A, read(A, i) + read(A, 9), i))
    )


def test_lanes_in_a_wider_type_have_predicates_in_programs_to_run() -> None:
    """A condition of a sum of 64 bits and a narrow loop variable is one of lanes in a row."""
    wide, limit = var("w", "int64"), var("m", "int64")
    place = wide + ops.cast("int64", i)
    mask = 'predicate=T.get_active_lane_mask("uint1x4", w, m)'
    assert to_run(IfThenElse(place < limit, store(A, 1, place))) == expected(f"""
        w = T.int64()
        m = T.int64()
        if w < m:
            A.vstore([T.Ramp(w, T.int64(1), 4)], T.Broadcast(1, 4), {mask})
    """)
    assert "A[w:w + T.int64(4)] = T.Broadcast(1, 4)" in to_run(store(A, 1, place))


def test_elements_or_zero_are_loads_with_predicates_in_programs_to_run() -> None:
    choice = intrinsics.if_then_else(i < n, read(A, i), 0)
    mask = 'predicate=T.get_active_lane_mask("uint1x4", 0, n)'
    assert to_run(store(A, choice, i)) == f"A[0:4] = A.vload([T.Ramp(0, 1, 4)], {mask})"
    other = intrinsics.if_then_else(i < n, read(A, i), 1)
    assert "for i_s in range(4):" in to_run(store(A, other, i))


def test_elements_between_limits_are_loads_with_predicates_in_programs_to_run() -> None:
    inside = ops.logical_and(ops.logical_and(n < 9, i >= 1), i + 3 <= n)
    choice = intrinsics.if_then_else(inside, read(A, i), 0)
    below, above = (f'T.get_active_lane_mask("uint1x4", {lanes})' for lanes in ("0, 1", "2, n"))
    load = f"A.vload([T.Ramp(0, 1, 4)], predicate=not {below} and {above})"
    line = f"A[0:4] = T.if_then_else(n < 9, {load}, T.Broadcast(0, 4))"
    assert to_run(store(A, choice, i)) == line


def test_sums_in_registers_are_stored_without_branches_in_programs_to_run() -> None:
    sums = decl_buffer((4,), dtype="int32", name="sums", scope="local")
    condition = ops.logical_and(n < 9, i < n)
    found = to_run(IfThenElse(condition, store(A, read(sums, i) + read(A, 3), i)))
    assert "if " not in found
    assert found.count("and T.Broadcast(n < 9, 4)") == 2
    branch = to_run(IfThenElse(condition, store(A, read(sums, i) + read(A, n), i)))
    assert "if n < 9 and 0 < n:" in branch


@pytest.mark.parametrize(
    ("index", "value"),
    [(i * 2, n), (i, ops.floordiv(read(A, i), read(A, i + 8))), (i, read(A, i * 2))],
)
def test_other_statements_of_some_lanes_become_a_loop_in_programs_to_run(
    index: Any, value: Any
) -> None:
    """A lane that is left out must not divide by zero."""
    found = to_run(IfThenElse(i < n, store(A, value, index)))
    assert found.startswith("for i_s in range(4):\n    if i_s < n:")


def test_lanes_that_differ_become_a_loop() -> None:
    assert vectorized(IfThenElse(i < n, store(A, 1, i))) == expected("""
        for i_s in range(4):
            if i_s < n:
                A[i_s] = 1
    """)


def test_condition_of_all_lanes_stays() -> None:
    assert vectorized(IfThenElse(n < 3, store(A, 1, i))) == expected("""
        if n < 3:
            A[0:4] = T.Broadcast(1, 4)
    """)


def test_if_then_else_of_lanes_becomes_a_loop() -> None:
    value = intrinsics.if_then_else(i < 2, i, 5)
    assert vectorized(store(A, value, i)).startswith("for i_s in range(4):")


def test_extern_calls_know_no_vectors() -> None:
    call = Evaluate(call_extern("int32", "f", i))
    assert vectorized(call).startswith("for i_s in range(4):")


@pytest.mark.parametrize("name", ["erf", "expm1", "log1p"])
def test_functions_with_a_vector_form_here_take_vectors_in_programs_to_run(name: str) -> None:
    floats, halves = (decl_buffer((64,), dtype, "F") for dtype in ("float32", "float16"))
    body, of_halves = (
        buffer.vstore(i, Call(buffer.dtype, f"tir.{name}", (buffer.vload(i),)))
        for buffer in (floats, halves)
    )
    assert "for i_s in range(4):" in vectorized(body)  # as TVM
    assert to_run(body).splitlines()[-1] == f"F[0:4] = T.{name}(F[0:4])"
    assert "for i_s in range(4):" in to_run(of_halves)
    assert is_known(name, "float32")


def test_let_becomes_a_vector_and_a_loop_sees_its_scalar() -> None:
    body = LetStmt(x, i * 2, IfThenElse(x < n, store(A, x, i)))
    lines = vectorized(body).splitlines()
    assert lines[0] == "x: T.int32x4 = T.Ramp(0, 2, 4)"
    assert "if i_s * 2 < n:" in lines[2]


def test_loop_inside_keeps_its_place() -> None:
    assert vectorized(loop(j, n, store(A, j, i * 4 + j))) == expected("""
        for j in range(n):
            A[j:j + 16:4] = T.Broadcast(j, 4)
    """)


def test_vectorized_loop_inside_becomes_serial() -> None:
    inner = loop(j, 4, store(A, n, i * 4 + j), kind="vectorized")
    assert vectorized(inner) == expected("""
        for j in range(4):
            A[j:j + 16:4] = T.Broadcast(n, 4)
    """)


def test_memory_of_the_loop_has_a_part_for_each_lane() -> None:
    B = temporary("B", 8, dtype="int32")
    assert vectorized(allocate(B, store(B, i, 3))).startswith('B = T.allocate([32], "int32"')


def test_one_lane_is_no_vector() -> None:
    assert vectorized(store(A, n, i), extent=1) == "A[0] = n"


def test_extent_must_be_constant() -> None:
    with pytest.raises(LoweringError, match="cannot vectorize loop i"):
        vectorized(store(A, n, i), extent=n)


def test_program_without_vectors_comes_back() -> None:
    func = function(loop(i, 4, store(A, n, i)), A, n)
    assert vectorize_loops(func) is func


@pytest.mark.parametrize(
    ("body", "kinds", "is_serial"),
    [
        ([store(A, i, i)], [], False),
        ([IfThenElse(i + n < 4, store(A, i, i))], ["condition"], True),
        ([store(A, i, i), IfThenElse(i + n < 4, store(A, i, i))], ["condition"], False),
        ([store(A, i, call_extern("int32", "f", i))], ["call"], True),
        ([loop(j, i, store(A, i, j))], ["extent"], True),
        ([loop(j, 4, store(A, i, j), kind="vectorized")], ["vectors", ""], True),
    ],
)
def test_obstacles_to_vectors_are_named(body: Any, kinds: list[str], is_serial: bool) -> None:
    results = vectorized_loops(function(loop(i, 4, *body, kind="vectorized"), A, n))
    assert ["".join(one.kind for one in result.obstacles) for result in results] == (kinds or [""])
    assert results[0].is_serial == is_serial
