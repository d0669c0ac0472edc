"""Products of quantized tensors: which terms they have, and results beside numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.ir.graph import GraphCall
from te_sched.relax.frontend import integer_arithmetic as arithmetic
from te_sched.relax.frontend.integer_arithmetic import Parameter

RNG = np.random.default_rng(0)


def bytes_of(dtype: str, *shape: int) -> Any:
    """Integers of the whole range of a dtype."""
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def graph_of(make: Callable[[Any, Any], Any], x: Any) -> Any:
    """The module of a function of one tensor."""
    builder = relax.BlockBuilder()
    variable = relax.Var("x", relax.TensorStructInfo(x.shape, str(x.dtype)))
    with builder.function("main", [variable]):
        with builder.dataflow():
            output = builder.emit_output(make(builder, variable))
        builder.emit_func_output(output)
    return builder.get()


def calls_of(module: Any) -> list[str]:
    """The operators of a module, in order."""
    bindings = [binding for block in module["main"].body.blocks for binding in block.bindings]
    values = [binding.value for binding in bindings]
    return [str(value.op) for value in values if isinstance(value, GraphCall)]


def result_of(module: Any, x: Any) -> Any:
    """The result of a module."""
    return relax.VirtualMachine(relax.build(module, "llvm"))["main"](nd.array(x)).numpy()


ZERO = np.asarray(0, "int32")


def test_product_without_zero_points_is_one_call() -> None:
    weight = bytes_of("int8", 8, 16)
    module = graph_of(
        lambda builder, x: arithmetic.integer_matmul(builder, x, ZERO, weight, ZERO),
        bytes_of("uint8", 4, 8),
    )
    assert calls_of(module) == ["relax.matmul"]


def test_weight_with_a_known_zero_point_is_moved() -> None:
    weight, zero = bytes_of("uint8", 8, 16), np.asarray(128, "uint8")
    x = bytes_of("uint8", 4, 8)
    module = graph_of(
        lambda builder, x: arithmetic.integer_matmul(builder, x, ZERO, weight, zero), x
    )
    assert calls_of(module) == ["relax.matmul"]
    expected = x.astype("int32") @ (weight.astype("int32") - 128)
    np.testing.assert_array_equal(result_of(module, x), expected)


@pytest.mark.parametrize("zero", [0, 3])
def test_border_of_a_convolution_is_its_zero_point(zero: int) -> None:
    weight, x = bytes_of("int8", 8, 4, 3), bytes_of("uint8", 2, 4, 6)

    def make(builder: Any, data: Parameter) -> Any:
        offset = np.asarray(zero, "uint8")
        return arithmetic.integer_convolution(
            builder, data, offset, weight, ZERO, [1], [1, 1], [1], 1
        )

    module = graph_of(make, x)
    assert ("relax.nn.pad" in calls_of(module)) == bool(zero)
    moved = np.pad(x.astype("int32") - zero, [(0, 0), (0, 0), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(moved, 3, 2)
    expected = np.einsum("ncwk,fck->nfw", windows, weight.astype("int32"))
    np.testing.assert_array_equal(result_of(module, x), expected)


def test_requantized_halves_are_rounded_to_even_numbers() -> None:
    x = np.int32([-600, -3, -1, 1, 3, 5, 600])
    factor, zero = np.asarray(0.5, "float32"), np.asarray(1, "int8")
    module = graph_of(
        lambda builder, sums: arithmetic.requantized(builder, sums, factor, zero, "int8"), x
    )
    np.testing.assert_array_equal(result_of(module, x), [-128, -1, 1, 1, 3, 3, 127])
