"""Sizes of struct infos: which are known, what binds and maps them, and which are equal."""

from __future__ import annotations

from te_sched import relax, tir
from te_sched.arith.analyzer import Analyzer
from te_sched.ir import ops
from te_sched.relax.core.sizes import (
    are_equal_sizes,
    as_sizes,
    bind_sizes,
    bound_sizes,
    constant_sizes,
    map_sizes,
    own_variables,
    sizes_of,
    tensor_sizes,
    variables_in,
    with_values,
)
from te_sched.script import relax as R

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
F32 = "float32"
CALLABLE = R.Callable((R.Tensor((M,), F32),), R.Tensor((M,), F32))


def test_sizes_are_known_of_tensors_shapes_and_numbers() -> None:
    assert sizes_of(relax.TensorStructInfo([N, 4], F32)) == tuple(as_sizes([N, 4]))
    assert sizes_of(relax.ShapeStructInfo([N])) == (N,)
    assert sizes_of(relax.PrimStructInfo(value=N)) == (N,)
    assert sizes_of(relax.TensorStructInfo(dtype=F32, ndim=2)) is None
    assert sizes_of(None) is None


def test_parameters_bind_sizes_that_are_one_variable() -> None:
    pair = relax.TupleStructInfo(
        [relax.TensorStructInfo([N, N + 1], F32), relax.ShapeStructInfo([M])]
    )
    given = relax.TupleStructInfo([relax.TensorStructInfo([3, 4], F32), relax.ShapeStructInfo([5])])
    values: dict[tir.Var, tir.PrimExpr] = {}
    bind_sizes(pair, given, values)
    assert bound_sizes(pair) == [N, M]
    assert {var: int(size) for var, size in values.items()} == {N: 3, M: 5}


def test_shapes_of_another_rank_bind_nothing() -> None:
    values: dict[tir.Var, tir.PrimExpr] = {}
    bind_sizes(relax.ShapeStructInfo([N]), relax.ShapeStructInfo([3, 4]), values)
    assert values == {}


def test_mapped_sizes_keep_a_struct_info_of_which_nothing_changes() -> None:
    info = relax.TupleStructInfo([relax.TensorStructInfo([N], F32), CALLABLE])
    assert map_sizes(info, lambda size: size) is info
    doubled = map_sizes(info, lambda size: size * 2)
    assert str(doubled.fields[0]) == 'R.Tensor((n * 2,), dtype="float32")'
    assert "m * 2" in str(doubled.fields[1])


def test_a_shape_that_is_a_variable_is_mapped_by_its_own_function() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=1))
    other = relax.Var("t", relax.ShapeStructInfo(ndim=1))
    info = relax.TensorStructInfo(shape, F32)
    assert map_sizes(info, lambda size: size * 2) is info
    assert map_sizes(info, lambda size: size, lambda var: other).shape is other


def test_functions_have_variables_of_their_own() -> None:
    info = relax.TupleStructInfo([relax.TensorStructInfo([N, N], F32), CALLABLE])
    assert own_variables(info) == [N, N]
    assert own_variables(CALLABLE) == own_variables(None) == []
    assert variables_in(N + M * N) == [N, M, N]


def test_sizes_are_numbers_if_all_of_them_are() -> None:
    assert constant_sizes(as_sizes([4, 3])) == (4, 3)
    assert constant_sizes(as_sizes([4, N])) is None
    assert constant_sizes(None) is None


def test_sizes_with_values_are_simplified_and_others_kept() -> None:
    size = N * 2 + N
    assert with_values(size, {M: ops.const(3, "int64")}, Analyzer()) is size
    assert str(with_values(size, {N: M + 1}, Analyzer())) == "m * T.int64(3) + T.int64(3)"


def test_shapes_are_equal_if_all_sizes_are_proved_to_be() -> None:
    assert are_equal_sizes([N + N, 4], [N * 2, 4], Analyzer())
    assert not are_equal_sizes([N], [M], Analyzer())
    assert not are_equal_sizes([N], [N, 1], Analyzer())
    assert not are_equal_sizes(None, [N], Analyzer())


def test_the_sizes_of_a_tuple_are_those_of_its_tensors() -> None:
    info = relax.TupleStructInfo([relax.TensorStructInfo([N], F32), relax.ShapeStructInfo([M])])
    assert tensor_sizes(info) == [N]
