"""The texts of what is known of values of graphs."""

from __future__ import annotations

import pytest

from te_sched import relax, tir

N = tir.Var("n", "int64")
NUMBER, ANY = relax.PrimStructInfo("int32"), relax.ObjectStructInfo()
TEXTS = {
    "R.Object": ANY,
    'R.Prim("int32")': NUMBER,
    "R.Prim(value=n + 1)": relax.PrimStructInfo(value=N + 1),
    "R.Prim(value=T.float32(1.5))": relax.PrimStructInfo(value=1.5),
    "R.Shape([n, 3])": relax.ShapeStructInfo([N, 3]),
    "R.Shape(ndim=-1)": relax.ShapeStructInfo(),
    'R.Tensor((n, 4), dtype="float32")': relax.TensorStructInfo([N, 4], "float32"),
    'R.Tensor((n * 2,), dtype="int8")': relax.TensorStructInfo([N * 2], "int8"),
    'R.Tensor((), dtype="float32")': relax.TensorStructInfo([]),
    'R.Tensor(dtype="float32", ndim=3)': relax.TensorStructInfo(ndim=3),
    "R.Tensor(ndim=2)": relax.TensorStructInfo(dtype="", ndim=2),
    "R.Tensor": relax.TensorStructInfo(dtype=""),
    "R.Tuple": relax.TupleStructInfo([]),
    'R.Tuple(R.Prim("int32"), R.Object)': relax.TupleStructInfo([NUMBER, ANY]),
    "R.Callable": relax.FuncStructInfo.opaque_func(),
    'R.Callable(ret=R.Prim("int32"), purity=True)': relax.FuncStructInfo.opaque_func(
        ret=NUMBER, purity=True
    ),
    'R.Callable((R.Prim("int32"),), R.Object, True)': relax.FuncStructInfo([NUMBER], ANY),
    "R.shape([n, 4])": relax.ShapeExpr([N, 4]),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_that_of_tvm(text: str) -> None:
    assert str(TEXTS[text]) == text
    assert TEXTS[text].script(relax_prefix="Q") == text.replace("R.", "Q.")


def test_types_of_integers_are_not_printed() -> None:
    n = tir.Var("n", "int32")
    info = relax.TensorStructInfo([tir.Cast("int64", n + 1)])
    assert str(info) == 'R.Tensor((T.Cast("int64", n + 1),), dtype="float32")'


def test_functions_print_parameters_in_a_tuple() -> None:
    pair = relax.FuncStructInfo([ANY, NUMBER], relax.TupleStructInfo([]), purity=False)
    assert str(pair) == 'R.Callable((R.Object, R.Prim("int32")), R.Tuple, False)'
    assert str(relax.FuncStructInfo([], ANY)) == "R.Callable((), R.Object, True)"
