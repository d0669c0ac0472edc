"""What expressions answer to Python's operators and functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched.errors import DeclarationError, OperandError
from te_sched.ir import expr as E
from te_sched.ir.expr import IntImm, IterVar, Range, StringImm, Var
from te_sched.ir.operators import declaring, division

x, y = Var("x"), Var("y")
i, j = (IterVar(Range(IntImm(0), IntImm(4)), Var(name), "DataPar") for name in "ij")


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (3 - x, E.Sub),
        (x // 2, E.FloorDiv),
        (5 % x, E.FloorMod),
        (x != y, E.NE),
        (x < 3, E.LT),
        (i < j, E.LT),
        (np.int32(3) + x, E.Add),
    ],
)
def test_operators_are_nodes(made: Any, kind: type) -> None:
    assert type(made) is kind


def test_reflected_operators_keep_the_order() -> None:
    assert str(3 - x) == "3 - x"
    assert [one.op for one in (x << 1, 1 >> x, x ^ y)] == [
        *("tir.shift_left", "tir.shift_right", "tir.bitwise_xor")
    ]


def test_nothing_equals_none() -> None:
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711


def test_variables_are_compared_by_identity_outside_of_declarations() -> None:
    long = E.Var("long", "int64")
    assert all([i == i, x == x, i == i.var, i != j, x != i.var, long != x])
    assert [long, i, x].index(x) == 2
    assert j not in [long, i, x]
    token = declaring.set((i, j))
    try:
        with pytest.raises(DeclarationError, match="i == j has no truth value in Python"):
            bool(i == j)
    finally:
        declaring.reset(token)


def test_division_of_integers_is_refused() -> None:
    assert type(division(x.astype("float32"), 2)) is E.Div
    with pytest.raises(DeclarationError, match="cannot divide int32 by int32 with /"):
        division(x, 2)


@pytest.mark.parametrize(
    ("use", "help"),
    [
        (int, "cast it"),
        (abs, r"use te\.abs"),
        (math.floor, r"use te\.floor"),
        (lambda e: e**2, r"te\.power"),
        (lambda e: 3 in e, r"te\.any"),
        (list, r"te\.reduce_axis"),
    ],
)
def test_functions_of_values_are_refused(use: Callable[[Any], Any], help: str) -> None:
    with pytest.raises(OperandError, match=help):
        use(x)


def test_arrays_of_axes_are_arrays_of_objects() -> None:
    axes = [IterVar(Range(IntImm(0), IntImm(4)), Var(name, "int32"), "DataPar") for name in "ij"]
    assert list(np.array(axes)[::-1]) == axes[::-1]


def test_string_constants_are_compared_by_their_text() -> None:
    text = StringImm("a")
    assert text == "a"
    assert text == StringImm("a")
    assert text != StringImm("b")
    assert not text == 1  # noqa: SIM201
    assert text != None  # noqa: E711
