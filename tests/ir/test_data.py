"""Which values depend on integers in memory, or on what a call gives."""

from __future__ import annotations

import pytest

from te_sched.ir import stmt as S
from te_sched.ir.calls import call_extern
from te_sched.ir.data import DataDependence, computes_with_data, numbers_of_calls
from te_sched.ir.expr import Expr, Var
from te_sched.ir.ops import minimum
from tests.lowering.build import NOTHING, allocate, function, loop, read, store, temporary

N, F = temporary("N", 8, dtype="int32"), temporary("F", 8)
x, y, small = Var("x"), Var("y"), Var("s", "int16")


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        (x + y, False),
        (read(N, x) + 1, True),
        (read(F, read(N, x)), False),  # another value, which is no integer
        (small.astype("int32"), True),
        (x.astype("int8"), True),
        (call_extern("int32", "f"), True),
    ],
)
def test_values_that_may_be_any_number(value: Expr, is_one: bool) -> None:
    assert DataDependence().of(value) == is_one


def test_variables_are_added_later() -> None:
    data = DataDependence()
    value = x * 2
    assert not data.of(value)
    data.add(x)
    assert data.of(value)
    assert not data.of(y * 2)


def test_only_sums_and_products_wrap_around() -> None:
    assert computes_with_data(read(N, 0) + 1)
    assert not computes_with_data(minimum(read(N, 0), x + 1))
    assert not computes_with_data(read(N, x + 1))


def test_numbers_are_the_parameters_that_are_no_sizes() -> None:
    a, b, c = (Var(name) for name in "abc")
    body = loop(x, a, store(F, (b * 2).astype("float32"), 0))
    assert numbers_of_calls(function(body, F, a, b, c)) == {b, c}
    room = temporary("R", 4)
    sized = S.Allocate(room.data, "float32", (c,), allocate(room, NOTHING).condition, body)
    assert numbers_of_calls(function(sized, F, a, b, c)) == {b}
    assert numbers_of_calls(function(body, F)) == set()
