"""Layers that importers share, against torch's formulas in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax, tir
from te_sched.errors import GraphError
from te_sched.relax.frontend.windows import (
    convolution,
    depth_to_space,
    nonnegative_indices,
    padded,
    transposed_convolution,
    with_bias,
)

DEPTH = np.arange(8, dtype="float32").reshape(1, 8, 1, 1)
ROWS = np.arange(6, dtype="float32").reshape(1, 2, 3)
ONES = relax.const(np.ones((1, 2, 2), "float32"))
BIAS = relax.const(np.array([10], "float32"))


def run(make: Callable[..., Any], array: np.ndarray[Any, Any]) -> Any:
    """The result of a function of a builder and a variable of the shape of an array."""
    x = relax.Var("x", relax.TensorStructInfo(array.shape, str(array.dtype)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(make(builder, x))
    machine = relax.VirtualMachine(
        relax.build(builder.finalize(), "llvm -opt-level=0"), te_sched.cpu()
    )
    return machine["main"](nd.array(array)).numpy()


def test_convolution_adds_its_bias() -> None:
    found = run(lambda b, x: convolution(b, x, ONES, BIAS, [1], [0], [1], 1), ROWS)
    assert found.tolist() == [[[18, 22]]]  # 0 + 1 + 3 + 4 + 10


def test_transposed_convolution_spreads_elements() -> None:
    weight = relax.const(np.ones((2, 1, 2), "float32"))
    found = run(
        lambda b, x: transposed_convolution(b, x, weight, None, [2], [0], [0], [1], 1), ROWS
    )
    assert found.tolist() == [[[3, 3, 5, 5, 7, 7]]]


def test_transposed_convolution_rejects_four_dimensions() -> None:
    weight = relax.const(np.ones((1, 1, 2, 2, 2, 2), "float32"))
    with pytest.raises(GraphError, match="along 4 dimensions are not supported"):
        transposed_convolution(
            relax.BlockBuilder(), weight, weight, None, [1] * 4, [0] * 4, [0] * 4, [1] * 4, 1
        )


def test_with_bias_adds_to_channels() -> None:
    bias = relax.const(np.array([0, 100], "float32"))
    found = run(lambda b, x: with_bias(b, x, bias), ROWS)
    assert found.tolist() == (ROWS + np.array([[0], [100]])).tolist()


@pytest.mark.parametrize(
    ("is_depth_first", "first"), [(True, [[0, 2], [4, 6]]), (False, [[0, 1], [2, 3]])]
)
def test_depth_to_space_makes_blocks(is_depth_first: bool, first: list[list[int]]) -> None:
    found = run(lambda b, x: depth_to_space(b, x, 2, is_depth_first), DEPTH)
    assert found.shape == (1, 2, 2, 2)
    assert found[0, 0].tolist() == first


def test_nonnegative_indices_of_constants_are_constants() -> None:
    indices = relax.const(np.array([-1, 1]), "int64")
    found = nonnegative_indices(relax.BlockBuilder(), indices, 3)
    assert found.data.numpy().tolist() == [2, 1]


N = tir.Var("n", "int64")


def test_tensors_are_padded_by_sizes_of_calls() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2, N], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(padded(builder, x, [0, N], [1, N - 1], -1.0))
    machine = relax.VirtualMachine(
        relax.build(builder.finalize(), "llvm -opt-level=0"), te_sched.cpu()
    )
    expected = np.pad(ROWS[0], ((0, 1), (3, 2)), constant_values=-1)
    np.testing.assert_array_equal(machine["main"](nd.array(ROWS[0])).numpy(), expected)
