"""FuseTransposeMatmul: products with a transposed matrix."""

import numpy as np
import pytest

from te_sched import nd, relax, tir
from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.described import described_module
from tests.relax.running import assert_same_results
from tests.relax.transform.applied import module_of


def test_a_transposed_matrix_is_multiplied_by_one_function():
    @R.function
    def func(x: R.Tensor((2, 4, 8), "float32"), w: R.Tensor((6, 8), "float32")):
        with R.dataflow():
            out = R.matmul(x, R.permute_dims(w))
            R.output(out)
        return out

    module = module_of(func)
    found = transform.FuseTransposeMatmul()(module)
    assert described_module(found) == {"main": "(x, w) out* = NT_matmul(x, w); out"}
    assert_same_results(module, found)


def test_a_row_of_a_batch_is_multiplied_by_a_transposed_matrix():
    @R.function
    def func(x: R.Tensor((1, 1, 8), "float32"), w: R.Tensor((6, 8), "float32")):
        out = R.matmul(x, R.permute_dims(w))
        return out

    module = module_of(func)
    found = transform.FuseTransposeMatmul()(module)
    assert "NT_matmul(x, w)" in described_module(found)["main"]
    assert_same_results(module, found)


def test_a_permutation_that_is_no_transposition_stays():
    @R.function
    def func(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 2, 6), "float32")):
        out = R.matmul(x, R.permute_dims(w, [1, 0, 2]))
        return out

    module = module_of(func)
    assert transform.FuseTransposeMatmul()(module) is module


def test_a_row_is_multiplied_by_matrices_in_any_order_of_their_axes():
    @R.function
    def func(x: R.Tensor((2, 3, 1, 8), "float32"), w: R.Tensor(("n", 2, 3, 8), "float32")):
        heads = R.permute_dims(w, [1, 2, 0, 3])
        out = R.matmul(x, R.permute_dims(heads, [0, 1, 3, 2]))
        return out

    module = module_of(func)
    found = transform.FuseTransposeMatmul(to_run=True)(module)
    assert described_module(found) == {"main": "(x, w) out* = NT_matmul(x, w); out"}
    x, w = np.random.default_rng(0).random((2, 5, 2, 3, 8)).astype("float32")
    x = x[0][None].transpose(1, 2, 0, 3)
    machine = relax.VirtualMachine(relax.build(found, "llvm"))
    result = machine["main"](nd.array(x), nd.array(w)).numpy()
    np.testing.assert_allclose(result, x @ w.transpose(1, 2, 3, 0), 1e-5)


def test_rows_are_multiplied_by_batches_of_matrices_after_a_permutation():
    @R.function
    def func(x: R.Tensor((2, 4, 8), "float32"), w: R.Tensor((6, 2, 8), "float32")):
        out = R.matmul(x, R.permute_dims(w, [1, 2, 0]))
        return out

    module = module_of(func)
    assert transform.FuseTransposeMatmul(to_run=True)(module) is module


@pytest.mark.parametrize(
    ("rows", "size", "is_fused"),
    [(2, 5, True), (3, 5, False), (4, "n", True), (32, "n", True), (33, "n", False)],
)
def test_few_rows_are_multiplied_by_matrices_without_a_copy_of_them(rows, size, is_fused):
    size = tir.Var("n", "int64") if size == "n" else size
    shapes = [2, 3, rows, 8], [2, size, 3, 8]
    params = [relax.Var("p", relax.TensorStructInfo(shape, "float32")) for shape in shapes]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        permuted = builder.emit(relax.op.permute_dims(params[1], [0, 2, 3, 1]))
        product = builder.emit(relax.op.matmul(params[0], permuted))
        builder.emit_func_output(product)
    module = builder.get()
    fused = transform.FuseTransposeMatmul(to_run=True)(module)
    assert (fused is not module) == is_fused
    rng = np.random.default_rng(0)
    x, w = (rng.random(shape).astype("float32") for shape in ((2, 3, rows, 8), (2, 5, 3, 8)))
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    result = machine["main"](nd.array(x), nd.array(w)).numpy()
    np.testing.assert_allclose(result, x @ w.transpose(0, 2, 3, 1), 1e-5)


@pytest.mark.parametrize(("shape", "is_fused"), [((48, 64), True), ((2, 48, 64), False)])
def test_a_matrix_that_is_constant_is_multiplied_as_it_is(shape, is_fused):
    """A batch of constant matrices is transposed once; a matrix is not, whose packing copies it."""
    w = np.random.default_rng(0).random(shape).astype("float32")
    x = relax.Var("x", relax.TensorStructInfo([2, 40, 64], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        transposed = builder.emit(relax.op.permute_dims(relax.const(w), axes))
        builder.emit_func_output(builder.emit(relax.op.matmul(x, transposed)))
    module = builder.get()
    fused = transform.FuseTransposeMatmul(to_run=True)(module)
    assert (fused is not module) == is_fused
    assert_same_results(module, fused)


def test_a_weight_is_copied_once_by_a_build(monkeypatch):
    """Of a transposed weight, the packed one alone is made: no copy of it is transposed before."""
    sizes = []
    original = nd.empty
    monkeypatch.setattr(
        nd, "empty", lambda shape, *rest: (sizes.append(np.prod(shape)), original(shape, *rest))[1]
    )
    x = relax.Var("x", relax.TensorStructInfo([64, 128], "float32"))
    w = np.random.default_rng(0).random((256, 128)).astype("float32")
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        product = relax.op.matmul(x, builder.emit(relax.op.permute_dims(relax.const(w))))
        builder.emit_func_output(builder.emit(product))
    relax.build(builder.get(), "llvm")
    assert sizes == [w.size]
