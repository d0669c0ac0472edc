"""Operators of the virtual machine."""

from __future__ import annotations

import pytest

from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.op import vm
from te_sched.relax.operators.registry import operator_of
from tests.relax.operator_tables import Build, N, inferred, shape, tensor

STORAGE = relax.Var("storage", relax.ObjectStructInfo())
CALLS: list[tuple[Build, str, str]] = [
    (
        lambda: vm.alloc_storage([16], 0, "uint8", "shared"),
        'R.vm.alloc_storage(R.shape([16]), R.prim_value(0), R.dtype("uint8"), R.str("shared"))',
        "R.Object",
    ),
    (
        lambda: vm.alloc_tensor(STORAGE, 8, (2, N), "int8"),
        'R.vm.alloc_tensor(storage, R.prim_value(8), R.shape([2, n]), R.dtype("int8"))',
        'R.Tensor((2, n), dtype="int8")',
    ),
    (
        lambda: vm.alloc_tensor(STORAGE, 0, shape(ndim=2), "int8"),
        'R.vm.alloc_tensor(storage, R.prim_value(0), s, R.dtype("int8"))',
        'R.Tensor(dtype="int8", ndim=2)',
    ),
    (
        lambda: vm.call_tir_dyn(relax.ExternFunc("f"), [tensor(2), relax.ShapeExpr([4])]),
        'R.vm.call_tir_dyn(R.ExternFunc("f"), (x, R.shape([4])))',
        "R.Tuple",
    ),
    (lambda: vm.kill_object(STORAGE), "R.vm.kill_object(storage)", "R.Tuple"),
]


@pytest.mark.parametrize(("build", "text", "info"), CALLS)
def test_calls(build: Build, text: str, info: str) -> None:
    call = build()
    assert str(call) == text
    assert str(inferred(call)) == info
    assert not operator_of(call.op).is_pure


def test_calls_with_numbers_become_calls_of_a_function() -> None:
    lower = operator_of("relax.vm.call_tir_dyn").lower
    assert lower is not None
    call = lower(vm.call_tir_dyn(relax.ExternFunc("f"), [tensor(2), relax.ShapeExpr([4])]))
    name, arguments = '"vm.builtin.call_tir_dyn"', 'R.ExternFunc("f"), x, R.shape([4])'
    assert str(call) == f"R.call_packed({name}, {arguments}, sinfo_args=(R.Tuple,))"


def test_a_tensor_has_a_shape() -> None:
    with pytest.raises(GraphError, match=r"the shape of relax\.vm\.alloc_tensor is R\.Tensor"):
        inferred(vm.alloc_tensor(STORAGE, 0, tensor(2), "int8"))
