"""The nodes of graphs: what is given, what is derived, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.errors import DeclarationError
from te_sched.ir import load_json, save_json
from te_sched.ir.graph import OpAttrs, as_expr, inferred_struct_info
from te_sched.ir.structural import structural_equal
from te_sched.ir.structural_hash import structural_hash
from te_sched.script import relax as R

X = relax.Var("x", R.Tensor((3,), "float32"))
Y = relax.Var("y", R.Tensor((3,), "float32"))


def test_parts_have_struct_infos() -> None:
    pair = relax.Tuple([X, (Y, 1)])
    assert pair.struct_info == R.Tuple(
        X.struct_info, R.Tuple(Y.struct_info, R.Prim(value=tir.IntImm("int64", 1)))
    )
    assert relax.TupleGetItem(pair, 0).struct_info == X.struct_info
    assert list(pair) == [pair[0], pair[1]]
    assert len(pair) == 2
    assert relax.const([1, 2]).struct_info == R.Tensor((2,), "int32")
    assert relax.const("inf", "float32").data.numpy() == np.inf
    assert relax.const(nd.array(np.ones(2, "int8")), "int16").struct_info.dtype == "int16"
    info = R.Tensor((1,), "float32")
    assert relax.const([1.0], info).struct_info == info
    assert relax.Tuple([relax.Var("u")]).struct_info_ is None


def test_functions_derive_their_results() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", R.Tensor((n,)))
    inner = relax.Var("i", R.Tensor((tir.Var("m", "int64"),)))
    assert relax.Function([x], x).struct_info == R.Callable((R.Tensor((n,)),), R.Tensor((n,)))
    assert relax.Function([x], inner).ret_struct_info == R.Tensor(ndim=1)
    assert relax.Function([], relax.op.add(X, Y)).ret_struct_info is None
    assert relax.Function([x], x).with_attr("a", 1).attrs == {"a": 1}


def test_attributes_of_operators() -> None:
    call = relax.op.concat([X, Y], axis=0)
    assert call.attrs.axis == 0
    assert OpAttrs(a=1).keys_list() == ["a"]
    with pytest.raises(AttributeError, match="keepdims"):
        call.attrs.keepdims  # noqa: B018


def test_functions_are_equal_by_structure() -> None:
    one = relax.Function([X, Y], relax.op.add(X, Y))
    same, other = (relax.Function([Y, X], relax.op.add(*args)) for args in ((Y, X), (X, Y)))
    assert structural_equal(one, same)
    assert structural_hash(one) == structural_hash(same)
    assert not structural_equal(one, other)
    assert structural_equal(relax.op.add(X, Y), relax.op.add(Y, X), map_free_vars=True)
    assert not structural_equal(relax.op.add(X, Y), relax.op.add(Y, X))
    assert structural_equal(relax.const(np.ones(3)), relax.const(np.ones(3)))
    assert not structural_equal(relax.const(np.ones(3)), relax.const(np.zeros(3)))
    assert not structural_equal(X, relax.DataflowVar("x", X.struct_info))


def test_json_loads_again() -> None:
    value = relax.Tuple(
        [relax.const(np.arange(3.0)), relax.GlobalVar("f")(X), relax.ExternFunc("g")]
    )
    again = load_json(save_json(value))
    assert structural_equal(value, again, map_free_vars=True)
    assert type(again[1].op) is relax.GlobalVar


def test_inference_by_parts() -> None:
    assert inferred_struct_info(X) == X.struct_info
    assert inferred_struct_info(relax.Tuple([X])) == R.Tuple(X.struct_info)
    assert inferred_struct_info(relax.Tuple([relax.Var("u")])) is None
    assert inferred_struct_info(relax.TupleGetItem(relax.Tuple([X]), 0)) == X.struct_info
    assert inferred_struct_info(relax.op.add(X, Y)) == X.struct_info
    assert inferred_struct_info(relax.op.add(X, relax.Var("u"))) is None
    assert inferred_struct_info(relax.const(1)) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: relax.Var(3), "the name of a variable is 3"),
        (lambda: relax.Var("x", 3), "the struct info 3"),
        (lambda: relax.Var("u").struct_info, "GraphVar has no struct info yet"),
        (lambda: relax.TupleGetItem(relax.Tuple([X]), 1), "element 1 of a tuple of 1 values"),
        (lambda: relax.Call(X, [Y]), "a call of x, which is not a function"),
        (lambda: relax.Function([3], X), "a parameter of a function is 3"),
        (lambda: as_expr({}), "{} is not an expression of a graph"),
        (lambda: relax.Call(relax.ExternFunc("f"), 3), "the values of a call are 3"),
        (lambda: relax.ShapeExpr(3), "the shape of ShapeExpr is 3"),
        (lambda: relax.TensorStructInfo(X), "the shape of TensorStructInfo is x"),
        (lambda: relax.const(object()), "the constant <object"),
    ],
)
def test_refusals(make: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=f"^{message}"):
        make()


def test_indices_end() -> None:
    for value in (relax.Tuple([X]), relax.ShapeExpr([3]), relax.Var("t", R.Tuple(R.Object))):
        with pytest.raises(IndexError):
            value[1]
        assert value[-1] is not None
