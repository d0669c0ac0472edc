"""Operators with effects: checks and output while a graph runs."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.errors import GraphError, GraphTypeError
from te_sched.relax import op
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import Build, inferred, number, tensor, unknown

X = tensor(2)
MESSAGES: list[tuple[Build, str, int]] = [
    (lambda: op.print(X, 3, format="{} of {}"), "{} of {}", 2),
    (lambda: op.print(), "", 0),
    (lambda: op.assert_op(relax.const(True), X, "{}"), "{}", 1),
    (lambda: op.assert_op(number("bool"), [X, X], relax.StringImm("{} {}")), "{} {}", 2),
    (lambda: op.assert_op(True), "", 0),
    (lambda: op.assert_op(unknown(dtype=""), None, "no"), "no", 0),
]


@pytest.mark.parametrize(("build", "message", "count"), MESSAGES)
def test_calls_have_a_message_and_its_values(build: Build, message: str, count: int) -> None:
    call = build()
    place = 0 if str(call.op) == "relax.print" else 1
    assert call.args[place].value == message
    assert len(call.args) == place + 1 + count
    assert str(inferred(call)) == "R.Tuple"


@pytest.mark.parametrize("name", ["print", "assert_op"])
def test_effects_are_not_pure_and_run_a_function(name: str) -> None:
    operator = operator_of(f"relax.{name}")
    assert not operator.is_pure
    assert operator.packed == f"relax.run.{name}"


REFUSED: list[tuple[Build, type[Exception], str]] = [
    (lambda: op.assert_op(tensor(2, dtype="bool")), GraphTypeError, "expected a scalar of bool"),
    (lambda: op.assert_op(number()), GraphTypeError, "expected a scalar of bool"),
    (lambda: op.print(X, format=3), GraphTypeError, "the format is 3"),
    (lambda: op.print(X, format="{} {}"), GraphError, "{"),
    (lambda: op.assert_op(True, X, "{0.shape}"), GraphError, "{0.shape}"),
]


@pytest.mark.parametrize(("build", "kind", "text"), REFUSED)
def test_calls_are_refused(build: Build, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        inferred(build())
