"""What TVM folds when an expression is written: in the text alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import te_sched
from te_sched import te
from te_sched.ir import expr as E

X = te.placeholder((8,), name="X")

FOLDED: dict[str, tuple[Callable[..., Any], str]] = {
    "zero times": (lambda x: 0.0 * x, "T.float32(0)"),
    "times zero": (lambda x: x * 0, "T.float32(0)"),
    "plus zero": (lambda x: x + 0.0, "X[i]"),
    "minus negative zero": (lambda x: x - te.const(-0.0, "float32"), "X[i]"),
    "zero by": (lambda x: 0.0 / x, "T.float32(0)"),
    "a sum with it": (lambda x: x * 0.0 + 1.0, "T.float32(1)"),
    "a choice by it": (lambda x: te.if_then_else(x * 0.0 < 1.0, x, x + x), "X[i]"),
    "a conversion of it": (lambda x: (x * 0.0).astype("int32"), "0"),
    "a quotient by it": (lambda x: x / (x * 0.0), "X[i] / T.float32(0)"),
    "the larger of NaN": (
        lambda x: x + te.max(te.const(float("nan"), "float32"), 1.0),
        'X[i] + T.float32("nan")',
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_text_takes_floats_for_real_numbers(name: str) -> None:
    written, text = FOLDED[name]
    Y = te.compute((8,), lambda i: written(X[i]), name="Y")
    assert f"Y[i] = {text}\n" in f"{te_sched.lower(te.create_schedule(Y.op), [X, Y])}\n"


def test_expressions_stay_as_they_are_written() -> None:
    Y = te.compute((8,), lambda i: X[i] * 0.0, name="Y")
    assert type(Y.op.body[0]) is E.Mul
    assert str(Y.op.body[0]) == "T.float32(0)"


def test_what_is_only_multiplied_by_zero_is_not_in_the_text() -> None:
    Y = te.compute((8,), lambda i: X[i] * 2.0, name="Y")
    Z = te.compute((8,), lambda i: Y[i] * 0.0, name="Z")
    s = te.create_schedule(Z.op)
    s[Y].compute_at(s[Z], Z.op.axis[0])
    assert "Y" not in str(te_sched.lower(s, [X, Z]))
