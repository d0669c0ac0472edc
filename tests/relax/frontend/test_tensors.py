"""Sizes that are known or given by calls, and tensors made of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend.tensors import (
    agreeing,
    as_list,
    as_size,
    filled,
    first_elements,
    fixed_size,
    has_size,
    prim_value,
    product_of,
    reshaped,
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


def test_has_size_of_open_sizes() -> None:
    assert has_size([N, 0], 0)
    assert not has_size([N, 1], 0)
    assert not has_size([], 0)


def test_fixed_size_rejects_a_size_that_a_call_gives() -> None:
    with pytest.raises(GraphError, match="cannot unbind a dimension of size n"):
        fixed_size(N, "unbind")


def test_lists_and_single_values() -> None:
    assert as_list((2, 3)) == as_list(([2, 3],)) == [2, 3]
    assert several(3, 2) == [3, 3]
    assert several((3,), 2) == [3, 3]
    assert str(prim_value(3).struct_info) == "R.Prim(value=3)"
    with pytest.raises(GraphError, match="are numbers and lists"):
        as_list((2, [3]))


def run(make: Callable[..., Any], array: np.ndarray[Any, Any], sizes: list[Any]) -> Any:
    """The result of a function of a builder and a variable of these sizes."""
    x = relax.Var("x", relax.TensorStructInfo(sizes, str(array.dtype)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(make(builder, x))
    machine = relax.VirtualMachine(relax.build(builder.finalize(), "llvm"), te_sched.cpu())
    return machine["main"](nd.array(array)).numpy()


X = np.arange(12, dtype="float32").reshape(3, 4)


def test_reshaped_keeps_elements_and_takes_sizes_of_zero() -> None:
    assert run(lambda b, x: reshaped(b, x, [2, -1]), X, [N, 4]).shape == (2, 6)
    empty = run(lambda b, x: reshaped(b, x, [0, N]), X[:0], [N, 4])
    assert (empty.shape, empty.dtype) == ((0, 0), np.float32)


def test_filled_is_a_constant_of_fixed_sizes() -> None:
    made = filled(relax.BlockBuilder(), [2, 3], 1, "float16")
    assert made.data.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    found = run(lambda b, x: filled(b, [N, 2], 2.5, "float32"), X, [N, 4])
    assert found.tolist() == [[2.5, 2.5]] * 3


def test_first_elements_leaves_what_fits() -> None:
    found = run(lambda b, x: first_elements(b, x, [2, 3]), X, [3, 4])
    assert found.tolist() == X[:2, :3].tolist()
    assert run(lambda b, x: first_elements(b, x, [N, 3], but=1), X, [N, 4]).shape == (3, 4)


M = tir.Var("m", "int64")


def tensor_of(*sizes):
    return relax.Var("x", relax.TensorStructInfo(sizes, "float32"))


@pytest.mark.parametrize(
    ("shapes", "axis", "expected"),
    [
        ([[N, 4], [M // 2 * 2, 1]], None, ["(n, 4)", "(n, 1)"]),
        ([[N, 4], [M + 1]], None, ["(n, 4)", "(4,)"]),
        ([[N, 4], [1, M]], None, ["(n, 4)", "(1, 4)"]),
        ([[N, 4], [M, M]], 1, ["(n, 4)", "(n, m)"]),
        ([[N, 1], [M, 1], [3, N]], -1, ["(3, 1)", "(3, 1)", "(3, n)"]),
        ([[N * 2], [N + N]], None, ["(n * 2,)", "(n + n,)"]),
        ([[2], [3]], None, ["(2,)", "(3,)"]),
        ([[N], [N, N]], 0, ["(n,)", "(n, n)"]),
    ],
)
def test_sizes_that_must_be_equal_get_one_name(shapes, axis, expected) -> None:
    tensors = [tensor_of(*shape) for shape in shapes]
    builder = relax.BlockBuilder()
    with builder.function("main", [tensor_of(N, M), *tensors]):
        results = agreeing(builder, tensors, axis)
        builder.emit_func_output(relax.Tuple(results))
    texts = [str(result.struct_info) for result in results]
    assert texts == [f'R.Tensor({shape}, dtype="float32")' for shape in expected]
