"""What is known of values of graphs, and of functions."""

from __future__ import annotations

from typing import Any

import pytest

from te_sched import relax, te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.serialization import load_json, save_json
from te_sched.ir.structural import structural_difference, structural_equal
from te_sched.ir.structural_hash import structural_hash
from te_sched.script import tir as T
from tests.ir.printer.test_struct_info import TEXTS

N = tir.Var("n", "int64")
NUMBER, ANY = relax.PrimStructInfo("int32"), relax.ObjectStructInfo()
TENSOR = relax.TensorStructInfo([N, 4], "float32")


@pytest.mark.parametrize("text", TEXTS)
def test_json_loads_again(text: str) -> None:
    again = load_json(save_json(TEXTS[text]))
    assert structural_difference(again, TEXTS[text], True) is None


def test_equality_is_structural() -> None:
    same = relax.TensorStructInfo([N, 4], "float32")
    assert same == TENSOR
    assert hash(same) == hash(TENSOR)
    assert relax.TensorStructInfo([N, 5], "float32") != TENSOR
    assert TENSOR != 3
    assert TENSOR.shape.struct_info == relax.ShapeStructInfo([N, 4])
    assert (TENSOR.ndim, relax.TensorStructInfo().ndim) == (2, -1)


def test_parameters_define_their_sizes() -> None:
    m = tir.Var("m", "int64")

    def square(size: Any, rows: Any) -> relax.FuncStructInfo:
        return relax.FuncStructInfo([relax.TensorStructInfo([size, rows])], ANY)

    assert structural_equal(square(N, N), square(m, m))
    assert structural_hash(square(N, N)) == structural_hash(square(m, m))
    assert not structural_equal(square(N, N), square(N, m))
    assert not structural_equal(square(N, N), relax.FuncStructInfo.opaque_func())
    free = relax.TensorStructInfo([N]), relax.TensorStructInfo([m])
    assert not structural_equal(*free)


def test_functions_have_struct_info() -> None:
    @T.prim_func
    def read(a: T.handle, p: T.handle("float32"), q: T.handle, x: T.int8) -> T.int32:
        n = T.int32()
        A = T.match_buffer(a, (n, 8), "float16")
        T.evaluate(T.ret(T.Cast("int32", A[0, 0]) + x))

    assert str(read.struct_info) == (
        'R.Callable((R.Tensor((T.Cast("int64", n), 8), dtype="float16"), R.Prim("handle"), '
        'R.Object, R.Prim("int8")), R.Prim("int32"), True)'
    )
    A = te.placeholder((8,), name="A")
    func = te.create_prim_func([A, te.compute((8,), lambda i: A[i] + 1.0, name="B")])
    assert func.struct_info.purity is False
    assert str(func.struct_info.ret) == "R.Tuple"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relax.PrimStructInfo(), "PrimStructInfo has neither dtype nor value"),
        (lambda: relax.PrimStructInfo("int32", N), "dtype int32 and a value of int64"),
        (lambda: relax.TensorStructInfo(4), "the shape of TensorStructInfo is 4"),
        (
            lambda: relax.TensorStructInfo([te.var("n")]),
            "size n of TensorStructInfo has dtype int32",
        ),
        (lambda: relax.ShapeStructInfo([4], ndim=2), "a shape of 1 sizes and ndim=2"),
        (lambda: relax.TupleStructInfo([1]), "TupleStructInfo of 1"),
        (lambda: relax.FuncStructInfo([ANY], None), "FuncStructInfo of None"),
    ],
)
def test_struct_info_rejects(make: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        make()
