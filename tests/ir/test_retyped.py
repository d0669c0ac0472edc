"""Expressions follow the types of their variables."""

from __future__ import annotations

import pytest

from te_sched.ir import expr as E
from te_sched.ir.calls import call_extern
from te_sched.ir.expr import Call, Expr, IntImm, Var
from te_sched.ir.intrinsics import if_then_else
from te_sched.ir.retyped import Retyper

x, y, wide = Var("x"), Var("y"), Var("wide", "int64")


class Widened(Retyper):
    """x becomes wide."""

    def visit_Var(self, node: Var) -> Expr:
        return wide if node is x else node


@pytest.mark.parametrize(
    ("e", "text", "dtype"),
    [
        (E.Add(x, y), 'wide + T.Cast("int64", y)', "int64"),
        (E.LT(y, x), 'T.Cast("int64", y) < wide', "bool"),
        (E.Mul(x, IntImm(2)), "wide * T.int64(2)", "int64"),
        (if_then_else(y < 1, x, y), None, "int64"),
        (E.Select(y < 1, y, x), None, "int64"),
        (Call("int32", "tir.shift_left", (x, y)), None, "int64"),
    ],
)
def test_operands_have_one_type(e: Expr, text: str | None, dtype: str) -> None:
    made = Widened().visit(e)
    assert made.dtype == dtype
    assert text is None or str(made) == text


def test_functions_from_elsewhere_get_the_types_they_had() -> None:
    made = Widened().visit(call_extern("int32", "f", x, y))
    assert [arg.dtype for arg in made.args[1:]] == ["int32", "int32"]
    assert made.dtype == "int32"


def test_what_has_no_such_variable_stays() -> None:
    for e in (E.Add(y, y), E.Select(y < 1, y, y), call_extern("int32", "f", y)):
        assert Widened().visit(e) is e


def test_reinterpreted_values_keep_their_bits() -> None:
    made = Widened().visit(Call("float32", "tir.reinterpret", (E.Add(x, y),)))
    assert made.dtype == "float32"
    assert made.args[0].dtype == "int32"
    made = Widened().visit(Call("int32", "tir.reinterpret", (E.Add(x, y),)))
    assert made.dtype == "int32"
