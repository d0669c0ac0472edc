"""Products by quantized matrices, against numpy's of the matrices that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from te_sched import nd, relax, te, tir
from te_sched.errors import GraphError
from te_sched.ir.stmt import Allocate, PrimFunc
from te_sched.ir.visitor import walk
from te_sched.relax.transform import QuantizeWeights
from te_sched.relax.transform.quantize_weights import product, quantized

RNG = np.random.default_rng(0)
DTYPES = ("bfloat16", "int8", "int4")


def _rounded(values: np.ndarray, dtype: str, group: int) -> np.ndarray:
    """The matrix that a quantized one stands for, by other means."""
    if dtype == "bfloat16":
        return nd.array(values, dtype=dtype).numpy().astype("float32")
    largest = {"int8": 127, "int4": 7}[dtype]
    parts = []
    for first in range(0, len(values), group):
        part = values[first : first + group]
        scale = np.abs(part).max(0) / np.float32(largest)
        parts.append(np.rint(part / np.where(scale == 0, 1, scale)) * scale)
    return np.concatenate(parts).astype("float32")


def _module(shape: list[Any], weight: np.ndarray, is_transposed: bool = False) -> Any:
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]), builder.dataflow():
        matrix = relax.const(weight.T.copy() if is_transposed else weight)
        if is_transposed:
            matrix = builder.emit(relax.op.permute_dims(matrix))
        output = builder.emit_output(relax.op.matmul(x, matrix))
        builder.emit_func_output(output)
    return builder.get()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("lead", "depth", "columns", "group"),
    [
        ([1], 64, 32, 32),
        ([1, 1], 61, 40, 8),  # the last group and the last panel are not whole
        ([7], 50, 33, 16),
        ([2, "n"], 64, 70, 32),
        ([3, 5], 6, 4, 32),
    ],
)
def test_products_are_those_of_rounded_matrices(
    dtype: str, lead: list[Any], depth: int, columns: int, group: int
) -> None:
    weight = RNG.standard_normal((depth, columns)).astype("float32")
    weight[: depth // 2, 1] = 0
    shape = [tir.Var(size, "int64") if isinstance(size, str) else size for size in lead]
    for is_transposed in (False, True):
        module = _module([*shape, depth], weight, is_transposed)
        changed = QuantizeWeights(dtype, group, least=0)(module)
        assert f"product_of_{dtype}" in map(str, changed.functions)
        assert str(changed["main"]).count("R.matmul") == 0
        machine = relax.VirtualMachine(relax.build(changed, "llvm"))
        for count in (1, 6) if "n" in lead else (1,):
            sizes = [count if size == "n" else size for size in lead]
            x = RNG.standard_normal([*sizes, depth]).astype("float32")
            expected = x @ _rounded(weight, dtype, group)
            result = machine["main"](nd.array(x)).numpy()
            np.testing.assert_allclose(result, expected, 1e-4, 1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 8])
def test_the_matrix_is_not_in_memory_as_floats(dtype: str, rows: int) -> None:
    weight = RNG.standard_normal((256, 96)).astype("float32")
    module = QuantizeWeights(dtype)(_module([rows, 256], weight))
    func = module[f"product_of_{dtype}"]
    assert isinstance(func, PrimFunc)
    sizes = [int(node.extents[0]) for node in walk(func.body) if isinstance(node, Allocate)]
    assert max(sizes) <= (32 if rows == 1 else 64 * 32)  # of 256 * 96 elements


def test_small_and_other_matrices_stay() -> None:
    weight = RNG.standard_normal((32, 32)).astype("float32")
    assert "R.matmul" in QuantizeWeights()(_module([1, 32], weight)).script()
    x = relax.Var("x", relax.TensorStructInfo([1, 32], "float64"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        matrix = relax.const(nd.array(weight, dtype="float64"))
        builder.emit_func_output(builder.emit(relax.op.matmul(x, matrix)))
    assert "R.matmul" in QuantizeWeights(least=0)(builder.get()).script()


def test_panels_and_scales_have_the_documented_layout() -> None:
    values = np.zeros((4, 33), "float32")
    values[0, 32], values[1, 32] = 7, -3.5
    weight, scales = quantized(values, "int4", 2)
    assert (weight.shape, scales.shape) == ((2, 2, 32), (2, 2, 32))
    assert hex(weight.numpy()[1, 0, 0]) == "0x4f"  # -4 + 8 (half to even), and 7 + 8
    assert scales.numpy()[1, 0, 0] == 1


def test_product_infers_its_shape() -> None:
    x, weight = te.placeholder((2, 64)), te.placeholder((2, 64, 32), "bfloat16")
    assert str(product(x, weight, columns=40, dtype="bfloat16").shape) == "[2, 40]"


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"dtype": "int2"}, "weights are quantized to 'int2'"),
        ({"group_size": 3}, "the size of a group is 3"),
        ({"group_size": 0}, "the size of a group is 0"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(GraphError, match=fault):
        QuantizeWeights(**options)


def test_infinite_weights_are_refused() -> None:
    weight = np.full((4, 4), np.inf, "float32")
    with pytest.raises(GraphError, match="a matrix with infinities or NaNs is quantized"):
        QuantizeWeights(least=0)(_module([1, 4], weight))
