"""Building folds constants and neutral elements, and nothing else."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from te_sched.arith import build
from te_sched.ir import expr as E
from te_sched.ir.expr import IntImm, Var
from tests.arith.brute import _BINARY

x, y = Var("x"), Var("y")
NUMBERS = (-7, -2, 0, 1, 3, 8)
DIVISIONS = (E.Div, E.Mod, E.FloorDiv, E.FloorMod)


@pytest.mark.parametrize("kind", build.BINARY, ids=lambda kind: kind.__name__)
def test_constants_fold_to_what_python_says(kind: type) -> None:
    is_logic = kind in (E.And, E.Or)
    dtype, numbers = ("bool", (0, 1)) if is_logic else ("int32", NUMBERS)
    for a, b in itertools.product(numbers, numbers):
        if kind in DIVISIONS and b == 0:
            continue
        made = build.BINARY[kind](build.imm(a, dtype), build.imm(b, dtype))
        assert type(made) is IntImm
        assert made.value == _BINARY[kind](a, b), (a, b)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (build.add(x, IntImm(0)), x),
        (build.add(IntImm(0), x), x),
        (build.sub(x, IntImm(0)), x),
        (build.mul(IntImm(1), x), x),
        (build.floordiv(x, IntImm(1)), x),
        (build.minimum(x, x), x),
        (build.both(build.truth(True), x), x),
        (build.either(x, build.truth(False)), x),
        (build.select(build.truth(False), x, y), y),
        (build.if_then_else(build.truth(True), x, y), x),
        (build.cast("int32", x), x),
    ],
)
def test_neutral_elements_go(made: Any, expected: E.Expr) -> None:
    assert made is expected


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (build.sub(x, x), E.Sub),
        (build.floordiv(x, IntImm(0)), E.FloorDiv),
        (build.floormod(x, IntImm(2)), E.FloorMod),
        (build.less(x, x), E.LT),
        (build.cast("int64", x), E.Cast),
        (build.select(E.LT(x, y), x, x), E.Select),
    ],
)
def test_the_rest_stays(made: Any, kind: type) -> None:
    assert type(made) is kind


@pytest.mark.parametrize(
    ("value", "dtype", "kept"),
    [
        (2**31, "int32", -(2**31)),
        (-129, "int8", 127),
        (256, "uint8", 0),
        (2**63, "int64", -(2**63)),
    ],
)
def test_constants_wrap_around(value: int, dtype: str, kept: int) -> None:
    made = build.imm(value, dtype)
    assert (made.value, made.dtype) == (kept, dtype)  # type: ignore[attr-defined]


def test_constants_of_vectors_and_floats() -> None:
    lanes = build.imm(300, "int8x4")
    assert (type(lanes), lanes.value.value) == (E.Broadcast, 44)  # type: ignore[attr-defined]
    assert type(build.imm(2, "float16")) is E.FloatImm
    assert build.truth(True, "uint1x4").dtype == "uint1x4"
