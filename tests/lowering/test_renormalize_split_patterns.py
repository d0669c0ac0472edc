"""The forms into which divisions and bounds are brought."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from te_sched.config import TO_RUN
from te_sched.ir.buffer import decl_buffer
from te_sched.ir.expr import LT, Expr, IntImm, Var
from te_sched.ir.visitor import substitute
from te_sched.lowering.renormalize_split_patterns import renormalize_split_patterns
from tests.lowering.build import function, store, text, var

A = decl_buffer((64,), dtype="int32", name="A")
B = decl_buffer((64,), dtype="bool", name="B")
i, j, k = var("i"), var("j"), var("k")


def renormalized(value: Expr) -> tuple[str, Any]:
    target = B if value.dtype == "bool" else A
    func = renormalize_split_patterns(function(store(target, value, 0), target, i, j, k))
    return text(func).split(" = ")[1], func.body.value  # type: ignore[attr-defined]


CASES = [
    ((i * 32 + j) // 8, "i * 4 + j // 8"),
    ((i * 12 + j) // 8, "(i * 3 + j // 4) // 2"),
    ((i * 32 + j * 16 + k) // 4, "i * 8 + (j * 4 + k // 4)"),
    (i % 12 // 4, "i // 4 % 3"),
    ((i * 5 + j) // 8, "(i * 5 + j) // 8"),
    (i * 8 + j < 50, "(i * 4 + j // 2) // 25 < 1"),
    (LT(IntImm(7), i), "7 < i"),
    (i >= 28, "1 <= i // 28"),
    (i < 1, "i < 1"),
]


@pytest.mark.parametrize(("value", "form"), CASES)
def test_form(value: Expr, form: str) -> None:
    assert renormalized(value)[0] == form


def number(expr: Any, values: dict[Var, Expr]) -> Any:
    """The value of an expression of constants."""
    return eval(renormalized(substitute(expr, values))[0], {"T": _Script})


class _Script:
    """The explicit operators of TVMScript."""

    Add = staticmethod(lambda a, b: a + b)
    Mul = staticmethod(lambda a, b: a * b)
    FloorDiv = staticmethod(lambda a, b: a // b)
    FloorMod = staticmethod(lambda a, b: a % b)
    LT = staticmethod(lambda a, b: a < b)
    LE = staticmethod(lambda a, b: a <= b)


@pytest.mark.parametrize("value", [case[0] for case in CASES])
def test_form_has_the_same_value(value: Expr) -> None:
    form = renormalized(value)[1]
    for point in itertools.product((-7, 0, 5, 30), repeat=3):
        values: dict[Var, Expr] = {
            axis: IntImm(at) for axis, at in zip((i, j, k), point, strict=True)
        }
        assert number(value, values) == number(form, values)


def test_a_function_without_divisions_stays() -> None:
    func = function(store(A, i * 8 + j, 0), A, i, j)
    assert renormalize_split_patterns(func) is func


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "uint64"])
def test_types_that_wrap_around_change_in_texts_alone(dtype: str) -> None:
    value = i.astype(dtype) * IntImm(4, dtype) + IntImm(3, dtype) < IntImm(40, dtype)
    func = function(store(B, value, 0), B, i)
    assert f"// T.{dtype}(10) < T.{dtype}(1)" in text(renormalize_split_patterns(func))
    assert renormalize_split_patterns(func, TO_RUN) is func
