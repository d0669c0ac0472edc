"""Constructors of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.calls import call_tir


def test_node_constructors_convert_and_do_not_fold():
    n = te.var("n")
    made = tir.Mul(n, 0)
    assert isinstance(made, tir.Mul)
    assert not isinstance(made, tir.Add)
    assert made.b.value == 0


def test_select_checks_types():
    x = te.var("x", "float32")
    assert tir.Select(x > 0, x, 0).dtype == "float32"
    with pytest.raises(
        DeclarationError, match=r"values of tir\.Select have different dtypes: float32 and int32"
    ):
        tir.Select(x > 0, x, te.var("n"))


def test_constants_and_variables():
    assert tir.IntImm("int8", 5).dtype == "int8"
    assert tir.SizeVar("n", "int64").is_size
    axis = tir.IterVar((0, 3), "i", 2)
    assert (axis.kind, axis.dom.extent.value) == ("CommReduce", 3)


def test_statements_take_expressions():
    loop = tir.For(te.var("i"), 0, 4, 1, tir.call_extern("int32", "f"))
    assert (loop.kind, loop.extent.value) == ("parallel", 4)
    with pytest.raises(DeclarationError, match="use one of serial"):
        tir.For(te.var("i"), 0, 4, "round", tir.Evaluate(0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda x: tir.Let(x, te.var("y", "int64"), x),
            r"variable x of tir.Let has dtype int32, and its value int64",
        ),
        (lambda x: tir.FloatImm("int32", 1.0), r"tir.FloatImm has dtype int32, expected a float"),
        (lambda x: call_tir(3, x), r"the function of call_tir is 3, expected its name"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        wrong(te.var("x"))


def test_reductions_have_the_parameters_of_tvm() -> None:
    x, y, i = tir.Var("x", "float32"), tir.Var("y", "float32"), tir.IterVar((0, 8), "i", 2)
    A = tir.decl_buffer((8,), name="A")
    plus = tir.CommReducer((x,), (y,), (x + y,), (te.const(0.0),))
    made = tir.Reduce(plus, [A[i]], [i], i < 4, 0, init=[1.0])
    assert isinstance(made, tir.Reduce)
    assert "init=[T.float32(1)]" in str(made)
    assert "condition=T.bool(True)" in str(tir.Reduce(plus, [A[i]], [i], None, 0))
    with pytest.raises(DeclarationError, match="has 2 values and 0 initial values, index 0"):
        tir.Reduce(plus, [A[i], A[i]], [i], None, 0)
    with pytest.raises(DeclarationError, match="rdom"):
        tir.Reduce(plus, [A[i]], [i.var], None, 0)


def test_sequences_in_sequences_are_joined() -> None:
    pair = tir.SeqStmt([tir.Evaluate(0), tir.Evaluate(1)])
    assert str(pair).splitlines() == ["T.evaluate(0)", "T.evaluate(1)"]
    joined = tir.SeqStmt([pair, tir.Evaluate(2)])
    assert str(joined).splitlines() == ["T.evaluate(1)", "T.evaluate(2)"]
