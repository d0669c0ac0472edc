"""Tensors and sizes, parameters that are attributes of functions, and errors of rules."""

from __future__ import annotations

import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.errors import GraphError, InvalidShapeError
from te_sched.relax.frontend import detach_params
from te_sched.relax.frontend.common import (
    as_list,
    as_size,
    errors_of_rules,
    fixed_size,
    prim_value,
    product_of,
    several,
    shape_expr,
    sizes_of_tensor,
    tensor_info,
)

N = tir.Var("n", "int64")


def test_sizes_of_tensor_are_ints_where_they_are_constant() -> None:
    x = relax.Var("x", relax.TensorStructInfo([4, N], "float32"))
    assert sizes_of_tensor(x, "") == [4, N]
    assert type(sizes_of_tensor(x, "")[0]) is int


def test_sizes_of_tensor_rejects_an_unknown_shape() -> None:
    x = relax.Var("x", relax.TensorStructInfo(ndim=2))
    with pytest.raises(GraphError, match="the shape of x is not known") as refused:
        sizes_of_tensor(x, "declare it")
    assert refused.value.help == "declare it"


def test_tensor_info_rejects_a_shape() -> None:
    with pytest.raises(GraphError, match=r"an operator of the model is given R.shape"):
        tensor_info(shape_expr([2, N]))


def test_sizes_are_numbers_where_they_are_constant() -> None:
    assert as_size(tir.const(3, "int64")) == 3
    assert as_size(N) is N
    assert product_of([2, 3]) == 6
    assert str(product_of([N, 4])) == "n * T.int64(4)"
    assert str(shape_expr([2, N])) == "R.shape([2, n])"


def test_fixed_size_rejects_a_size_that_a_call_gives() -> None:
    with pytest.raises(GraphError, match="cannot unbind a dimension of size n"):
        fixed_size(N, "unbind")


def test_lists_and_single_values() -> None:
    assert as_list((2, 3)) == as_list(([2, 3],)) == [2, 3]
    assert several(3, 2) == [3, 3]
    assert several((3,), 2) == [3]
    assert str(prim_value(3).struct_info) == "R.Prim(value=3)"
    with pytest.raises(GraphError, match="are numbers and lists"):
        as_list((2, [3]))


def test_detach_params_leaves_other_functions() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2], "float32"))
    plain = relax.Function([x], x)
    mod = te_sched.IRModule({"main": plain.with_attr("params", [nd.empty([3])]), "other": plain})
    found, params = detach_params(mod)
    assert "params" not in found["main"].attrs
    assert found["other"] is plain
    assert "params" in mod["main"].attrs
    assert [one.shape for one in params["main"]] == [(3,)]


def test_errors_of_rules_name_the_operator_and_the_node() -> None:
    with (
        pytest.raises(GraphError, match=r"cannot import Gemm: sizes differ") as refused,
        errors_of_rules("Gemm", lambda: "dense_1"),
    ):
        raise InvalidShapeError("sizes differ", "8 is not 4", "transpose it")
    assert "node dense_1" in str(refused.value)
    assert (refused.value.why, refused.value.help) == ("8 is not 4", "transpose it")


def test_errors_of_rules_leave_limits_of_the_machine() -> None:
    with pytest.raises(MemoryError), errors_of_rules("Gemm", lambda: "dense_1"):
        raise MemoryError
