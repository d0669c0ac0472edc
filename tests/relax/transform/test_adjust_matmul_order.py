"""AdjustMatmulOrder: the cheaper order of products."""

import pytest

from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.transform.applied import applied, check_values, is_kept


@R.function
def turned(
    x: R.Tensor((1, 16), "float32"),
    a: R.Tensor((32, 2), "float32"),
    b: R.Tensor((2, 16), "float32"),
):
    out = R.matmul(x, R.permute_dims(R.matmul(a, b)))
    return out


def test_the_cheaper_order_of_products():
    assert applied(transform.AdjustMatmulOrder(), turned) == (
        "(x, a, b) gv* = permute_dims(b); gv1* = matmul(x, gv); gv2* = permute_dims(a); "
        "out* = matmul(gv1, gv2); out"
    )
    check_values(transform.AdjustMatmulOrder(), turned)


def test_the_order_is_kept_without_a_proof():
    @R.function
    def func(
        a: R.Tensor(("m", "n"), "float32"),
        b: R.Tensor(("n", "p"), "float32"),
        c: R.Tensor(("p", "q"), "float32"),
    ):
        out = R.matmul(R.matmul(a, b), c)
        return out

    assert is_kept(transform.AdjustMatmulOrder(), func)


@pytest.mark.parametrize(("bound", "is_changed"), [(4, True), (64, False)])
def test_upper_bounds_of_sizes(bound, is_changed):
    @R.function
    def func(
        x: R.Tensor(("m", 16), "float32"),
        a: R.Tensor((16, "r"), "float32"),
        b: R.Tensor(("r", 16), "float32"),
    ):
        out = R.matmul(x, R.matmul(a, b))
        return out

    func = func.with_attr("tir_var_upper_bound", {"r": bound})
    assert is_kept(transform.AdjustMatmulOrder(), func) is not is_changed
