"""Operators of Python on expressions of graphs, and the types of expressions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax
from te_sched.script import relax as R

X, Y = (relax.Var(name, R.Tensor((3,), "float32")) for name in "xy")
F = relax.Var("f", R.Callable((R.Object,), R.Object))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (X + Y, "R.add(x, y)"),
        (X - Y, "R.subtract(x, y)"),
        (X * Y, "R.multiply(x, y)"),
        (X / Y, "R.divide(x, y)"),
        (X // Y, "R.floor_divide(x, y)"),
        (X**Y, "R.power(x, y)"),
        (X % Y, "R.mod(x, y)"),
        (2 + X, "R.add(R.prim_value(2), x)"),
        (X < Y, "R.less(x, y)"),
        (X >= Y, "R.greater_equal(x, y)"),
        (-X, "R.negative(x)"),
        (X.astype("int8"), 'R.astype(x, dtype="int8")'),
        (relax.Var("t", R.Tuple(R.Object, R.Object))[-1], "t[1]"),
        (relax.Var("t", R.Object())[3], "t[3]"),
        (F(X)(1), "f(x)(R.prim_value(1))"),
        (relax.ExternFunc("g")("a"), 'R.call_packed("g", R.str("a"))'),
    ],
)
def test_operators(expr: Any, text: str) -> None:
    assert str(expr) == text


def test_tuples_unpack() -> None:
    first, second = relax.Var("t", R.Tuple(R.Object, R.Object))
    assert (str(first), str(second)) == ("t[0]", "t[1]")


TYPES = {
    "R.Object": relax.Var("o", R.Object()),
    'R.Tensor(ndim=1, dtype="float32")': X,
    'R.Tensor(ndim=-1, dtype="void")': relax.Var("t", R.Tensor()),
    "R.Shape(ndim=1)": relax.ShapeExpr([3]),
    "T.int64": relax.PrimValue(3),
    "R.PackedFunc": relax.ExternFunc("f"),
    "I.FuncType([], [R.Object], R.Object)": F,
    'T.Tuple(R.Tensor(ndim=1, dtype="float32"), R.Object)': relax.Tuple([X, relax.StringImm("a")]),
}


@pytest.mark.parametrize("text", TYPES)
def test_types(text: str) -> None:
    kind = TYPES[text].checked_type
    assert kind.script() == text


def test_types_as_annotations() -> None:
    assert relax.Var("u")._checked_type_ is None
    assert X.checked_type == relax.DynTensorType(1, "float32")
    nested = relax.FuncType([relax.ObjectType()], relax.TupleType([relax.ShapeType(2)]))
    assert nested._relax_script() == "R.Callable((R.Object,), R.Tuple(R.Shape(ndim=2)))"
    assert relax.Var("b", relax.ObjectType()).struct_info == R.Object()


def test_a_product_of_matrices() -> None:
    A, B = (relax.Var(name, relax.TensorStructInfo([4, 4], "float32")) for name in "AB")
    assert str(A @ B) == 'R.matmul(A, B, out_dtype="void")'
