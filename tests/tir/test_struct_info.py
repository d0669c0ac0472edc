"""What graphs know of functions of loops."""

from __future__ import annotations

from te_sched import tir
from te_sched.script import from_source


def test_functions_that_store_are_not_pure() -> None:
    func = from_source("@T.prim_func\ndef f(A: T.Buffer((8,), 'int8')):\n    A[0] = T.int8(1)\n")
    assert str(func.struct_info) == 'R.Callable((R.Tensor((8,), dtype="int8"),), R.Tuple, False)'


def test_functions_of_numbers_have_the_type_of_their_result() -> None:
    func = from_source("@T.prim_func\ndef f(n: T.int64) -> T.int64:\n    return n + 1\n")
    assert str(func.struct_info) == 'R.Callable((R.Prim("int64"),), R.Prim("int64"), True)'


def test_pointers_without_a_type_are_objects() -> None:
    func = tir.PrimFunc([tir.Var("p", "handle")], tir.Evaluate(0))
    assert str(func.struct_info.params[0]) == "R.Object"


def test_functions_with_another_body_are_asked_again() -> None:
    func = from_source("@T.prim_func\ndef f(A: T.Buffer((8,), 'int8')):\n    A[0] = T.int8(1)\n")
    assert not func.struct_info.purity
    assert func.with_attr("tir.noalias", True).struct_info is func.struct_info
    assert func.with_body(tir.Evaluate(0)).struct_info.purity
