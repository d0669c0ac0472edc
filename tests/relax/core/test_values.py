"""Which operator a value calls, and what is known of a tensor."""

from __future__ import annotations

import pytest

from te_sched import relax, tir
from te_sched.relax.core.values import (
    is_call_of,
    is_large,
    shape_of_value,
    static_shape,
    tensor_info,
)

N = tir.Var("n", "int64")
X = relax.Var("x", relax.TensorStructInfo([N, 4], "float32"))


@pytest.mark.parametrize(
    ("value", "is_sum"),
    [
        (relax.op.add(X, X), True),
        (relax.op.subtract(X, X), True),
        (relax.op.exp(X), False),
        (X, False),
        (None, False),
    ],
)
def test_calls_of_operators(value: object, is_sum: bool) -> None:
    assert is_call_of(value, "relax.add", "relax.subtract") is is_sum


def test_calls_of_functions_are_not_calls_of_operators() -> None:
    func = relax.Var("f", relax.FuncStructInfo([X.struct_info], X.struct_info))
    assert not is_call_of(relax.Call(func, [X]), "relax.add")


def test_the_shape_of_a_value_may_be_unknown() -> None:
    sizes = shape_of_value(X)
    assert sizes is not None
    assert sizes[0] is N
    assert shape_of_value(relax.Var("y", relax.ObjectStructInfo())) is None


def test_the_struct_info_of_a_tensor() -> None:
    assert tensor_info(X).dtype == "float32"
    with pytest.raises(AssertionError):
        tensor_info(relax.Var("y", relax.ObjectStructInfo()))


def test_static_shapes_have_numbers_alone() -> None:
    assert static_shape(relax.TensorStructInfo([2, 3], "int8")) == (2, 3)
    assert static_shape(X.struct_info) is None
    assert static_shape(relax.TensorStructInfo([2, 3], "")) is None


@pytest.mark.parametrize(("dtype", "expected"), [("float64", True), ("float32", False)])
def test_large_tensors_are_measured_in_bytes(dtype: str, expected: bool) -> None:
    assert is_large(relax.TensorStructInfo([256, 512], dtype)) is expected
    assert not is_large(X.struct_info)
