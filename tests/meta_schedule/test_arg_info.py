"""Arguments of functions as plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from te_sched import te, tir
from te_sched.errors import DeclarationError
from te_sched.ir.stmt import IRModule, PrimFunc
from te_sched.meta_schedule import ArgInfo, TensorInfo


def doubled(*shape: Any) -> PrimFunc:
    """A function of two buffers."""
    A = te.placeholder(shape, name="A")
    B = te.compute(shape, lambda *i: A[i] * 2.0, name="B")
    return te.create_prim_func([A, B])


def test_arguments_of_a_function_and_of_a_module() -> None:
    expected = [TensorInfo("float32", [4, 8])] * 2
    func = doubled(4, 8)
    assert ArgInfo.from_prim_func(func) == expected
    assert ArgInfo.from_entry_func(IRModule({"main": func, "other": doubled(2)})) == expected
    assert ArgInfo.from_entry_func(IRModule({"f": func}), True) == expected


def test_arguments_are_json() -> None:
    info = TensorInfo("int8", (3, 0))
    assert ArgInfo.from_json(json.loads(json.dumps(info.as_json()))) == info
    assert {info, TensorInfo("int8", [3, 0])} == {info}
    assert info != TensorInfo("int8", [3, 1])
    assert repr(info) == 'TensorInfo("int8", [3, 0])'


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: TensorInfo("float32", [-1]), r"the shape of a tensor is \[-1\]"),
        (lambda: TensorInfo("float33", [1]), r"unknown data type 'float33'"),
        (lambda: ArgInfo.from_json(["SCALAR"]), r"\['SCALAR'\] describes no argument"),
        (lambda: ArgInfo.from_prim_func(3), r"cannot describe the arguments of an int"),
        (lambda: ArgInfo.from_entry_func(3), r"cannot describe the arguments of an int"),
        (lambda: ArgInfo.from_entry_func(IRModule({})), r"the module has no entry function"),
        (
            lambda: ArgInfo.from_prim_func(doubled(te.var("n"))),
            r"parameter var_A of main has no buffer of a constant shape",
        ),
        (
            lambda: ArgInfo.from_prim_func(tir.PrimFunc([te.var("x")], tir.Evaluate(0))),
            r"parameter x of main has no buffer of a constant shape",
        ),
    ],
)
def test_what_is_no_tensor_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        wrong()
