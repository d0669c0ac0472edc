"""FuseTransposeMatmul: products with a transposed matrix."""

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
