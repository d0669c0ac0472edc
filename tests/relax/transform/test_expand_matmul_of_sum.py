"""ExpandMatmulOfSum: products of sums of weights."""

from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.transform.applied import applied, check_values, is_kept


def test_a_sum_of_weights_is_expanded():
    @R.function
    def func(
        x: R.Tensor((4, 8), "float32"),
        a: R.Tensor((6, 8), "float32"),
        b: R.Tensor((6, 8), "float32"),
    ):
        out = R.matmul(x, R.permute_dims(R.add(a, b)))
        return out

    found = applied(transform.ExpandMatmulOfSum(), func)
    assert [found.count(name) for name in ("permute_dims", "matmul", "add")] == [2, 2, 1]
    check_values(transform.ExpandMatmulOfSum(), func)


def test_a_sum_of_known_weights_stays():
    @R.function
    def func(x: R.Tensor((4, 8), "float32"), a: R.Tensor((8, 6), "float32")):
        R.func_attr({"num_input": 1})
        out = R.matmul(x, R.add(a, a))
        return out

    assert is_kept(transform.ExpandMatmulOfSum(), func)


def test_a_sum_that_is_broadcast_stays():
    @R.function
    def func(
        x: R.Tensor((4, 8), "float32"), a: R.Tensor((8, 6), "float32"), b: R.Tensor((6,), "float32")
    ):
        out = R.matmul(x, R.add(a, b))
        return out

    assert is_kept(transform.ExpandMatmulOfSum(), func)
