"""Checks of single indices, against the condition that they stand for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from te_sched.analysis.checks.access_context import Need
from te_sched.analysis.checks.check_builder import (
    REPORT,
    Check,
    check_of,
    check_over,
    is_outside,
    report,
    under,
    unless_empty,
    widen,
)
from te_sched.arith.evaluate import evaluate
from te_sched.ir import ops
from te_sched.ir.expr import BufferLoad, Call, Expr, IntImm, Ramp, Var
from te_sched.ir.occurrences import Guard, Occurrence
from te_sched.ir.stmt import BufferStore, Evaluate, For, IfThenElse, LetStmt, SeqStmt, Stmt
from tests.codegen.programs import buffer

X, Y, WIDE, BYTE = Var("x"), Var("y"), Var("w", "int64"), Var("b", "uint8")
A = buffer("A", [8])
ZERO, EIGHT = IntImm(0), IntImm(8)


def reports(node: Stmt, values: dict[Var, Any]) -> Iterator[list[Any]]:
    """The numbers of each report that a statement makes, with the names of its loops."""
    if isinstance(node, SeqStmt):
        for part in node.seq:
            yield from reports(part, values)
    elif isinstance(node, For):
        begin = np.int64(evaluate(node.min, values, {}))
        for number in range(int(evaluate(node.extent, values, {}))):
            yield from reports(node.body, values | {node.loop_var: begin + number})
    elif isinstance(node, LetStmt):
        yield from reports(node.body, values | {node.var: evaluate(node.value, values, {})})
    elif isinstance(node, IfThenElse):
        if evaluate(node.condition, values, {}):
            yield from reports(node.then_case, values)
    elif isinstance(node, Evaluate):
        assert isinstance(node.value, Call)
        name, site, *numbers = node.value.args
        assert name.value == REPORT
        yield [
            *(int(evaluate(one, values, {})) for one in numbers),
            *json.loads(site.value)["loops"],
        ]


def read(index: Expr, *guards: Guard) -> Check:
    """The check of a read of A, which has 8 elements."""
    need = Need(0, index, ZERO, EIGHT)
    return check_of({}, Occurrence(A.data, A, (index,), True, False, guards), need)


@pytest.mark.parametrize(
    ("index", "guards", "outside"),
    [
        (X, (), [-2, -1, 8, 9]),
        (X * 2, (), [-2, -1, 4, 5, 6, 7, 8, 9]),
        (X, (X < 9,), [-2, -1, 8]),
        (Y, ((Y, X + 1),), [-2, 7, 8, 9]),  # let y = x + 1
        (X, ((Y, X + 1), Y > 8), [8, 9]),
        (Ramp(X, IntImm(1), 3), (), [-2, -1, 6, 7, 8, 9]),
    ],
)
def test_indices_outside_are_reported(
    index: Expr, guards: tuple[Guard, ...], outside: list[int]
) -> None:
    check = read(index, *guards)
    assert check.variables == {X}
    statement = check.make((X,))
    found = [value for value in range(-2, 10) if [*reports(statement, {X: np.int64(value)})]]
    assert found == outside


def test_reports_have_the_index_its_bounds_and_the_loops() -> None:
    (numbers,) = reports(read(X).make((X,)), {X: np.int64(9)})
    assert numbers == [9, 0, 8, 9, "x"]
    lanes = [*reports(read(Ramp(X, IntImm(2), 3)).make((X,)), {X: np.int64(5)})]
    assert lanes == [[9, 0, 8, 5, 2, "x", "lane"]]
    statement = report({"kind": "bounds"}, [X], [Y])
    assert [*reports(statement, {X: np.int64(3), Y: np.int64(4)})] == [[3, 4, "y"]]


@pytest.mark.parametrize(
    ("need", "value", "expected"),
    [
        *[(Need(0, X, ZERO, EIGHT), 7, False), (Need(0, X, ZERO, EIGHT), 8, True)],
        *[(Need(0, X, IntImm(2), EIGHT), 9, False), (Need(0, X, IntImm(2), EIGHT), 1, True)],
        (Need(0, X, ZERO, IntImm(1), repeats=True), 5, False),
        (Need(0, X, ZERO, IntImm(2), repeats=True), 5, True),
    ],
)
def test_bounds_begin_anywhere_and_one_element_repeats(
    need: Need, value: int, expected: bool
) -> None:
    assert bool(evaluate(is_outside(need), {X: np.int64(value)}, {})) == expected


def test_loaded_indices_are_compared_as_unsigned_numbers() -> None:
    index = BufferLoad(buffer("I", [4], "int32"), (X,))
    statement = read(index).make(())
    assert isinstance(statement, IfThenElse)
    assert str(statement.condition) == 'T.uint32(8) <= T.Cast("uint32", I_1[x])'
    assert {data.name for data in read(index).reads} == {"I"}
    assert "int64" in str(read(index + 1).make(()))


def looped(check: Check, notes: bool, kind: str = "serial", extent: Any = 6) -> Check:
    loop = For(X, IntImm(4), ops.convert(extent), kind, Evaluate(ZERO))
    return check_over(loop, check, notes)


def test_a_check_over_a_loop_finds_its_iterations() -> None:
    search = looped(read(X), notes=False)
    assert search.variables == frozenset()
    found = [*reports(search.make(()), {})]
    assert found == [[8, 0, 8, 8, "x"], [9, 0, 8, 9, "x"]]
    assert looped(read(X), notes=False, extent=Y).variables == {Y}


@pytest.mark.parametrize(("kind", "width"), [("serial", 1), ("vectorized", 6)])
def test_a_loop_with_flags_searches_only_where_one_is_set(kind: str, width: int) -> None:
    text = str(looped(read(X), notes=True, kind=kind).make(()))
    assert f'T.allocate([{width}], "int32", "global")' in text
    assert text.index("outside") < text.index(REPORT)
    assert looped(read(X), notes=True, kind=kind).width == width


def test_empty_loops_need_no_check() -> None:
    check = read(Y)
    constant, symbolic = (For(X, ZERO, e, "serial", Evaluate(ZERO)) for e in (EIGHT, WIDE))
    assert unless_empty(constant, check) is check
    guarded = unless_empty(symbolic, check)
    assert guarded.variables == {Y, WIDE}
    for extent, count in ((0, 0), (1, 1)):
        values = {Y: np.int64(9), WIDE: np.int64(extent)}
        assert len([*reports(guarded.make(()), values)]) == count


def test_checks_that_read_what_another_checks_come_later() -> None:
    indices = buffer("I", [8], "int32")
    need = Need(0, X, ZERO, EIGHT)
    of_indices = check_of({}, Occurrence(indices.data, indices, (X,), True, False, ()), need)
    gather = read(BufferLoad(indices, (X,)))
    assert gather.needs(of_indices)
    assert not of_indices.needs(gather)


def test_conditions_and_lets_are_around_a_statement() -> None:
    store = BufferStore(A, ops.cast("float32", Y), (ZERO,))
    wrapped = under((X > 0, (Y, X * 2)), store)
    assert isinstance(wrapped, IfThenElse)
    let = wrapped.then_case
    assert isinstance(let, LetStmt)
    assert let.var is not Y  # a copy, since the access itself has it, too
    assert f"{let.var.name}" in str(let.body)


@pytest.mark.parametrize(
    ("value", "numbers", "expected"),
    [
        (X * Y, {X: 2**20, Y: 2**20}, 2**40),
        (X + Y - 1, {X: 2**31 - 1, Y: 2**31 - 1}, 2**32 - 3),
        (ops.floordiv(X * Y, 4), {X: 2**20, Y: 2**20}, 2**38),
        (ops.maximum(X * X, Y), {X: 2**20, Y: 1}, 2**40),
        (BYTE + 1, {BYTE: 255}, 256),
        (IntImm(-3, "int8"), {}, -3),
        (WIDE * 2, {WIDE: 2**40}, 2**41),
    ],
)
def test_widened_sums_do_not_overflow(value: Expr, numbers: dict[Var, int], expected: int) -> None:
    wide = widen(value)
    assert wide.dtype == "int64"
    assert (
        evaluate(wide, {var: np.int64(number) for var, number in numbers.items()}, {}) == expected
    )


def test_other_operations_on_data_wrap_as_in_numpy() -> None:
    loaded = BufferLoad(buffer("I", [4], "int32"), (X,))
    assert str(widen(loaded * 2)) == 'T.Cast("int64", I_1[x]) * T.int64(2)'
    assert str(widen(ops.floordiv(loaded * 2, 3))) == 'T.Cast("int64", I_1[x] * 2 // 3)'
