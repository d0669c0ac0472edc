"""ReorderPermuteDimsAfterConcat."""

from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.transform.applied import applied, check_values, is_kept


def test_permuted_parts_are_permuted_once():
    @R.function
    def func(a: R.Tensor((4, 8), "float32"), b: R.Tensor((2, 8), "float32")):
        out = R.concat((R.permute_dims(a), R.permute_dims(b, [1, 0])), axis=1)
        return out

    found = applied(transform.ReorderPermuteDimsAfterConcat(), func)
    assert found == "(a, b) gv* = concat((a, b)); out* = permute_dims(gv); out"


def test_an_axis_of_the_sum_of_parts_is_that_before_the_permutation():
    @R.function
    def func(a: R.Tensor((4, 8, 2), "float32"), b: R.Tensor((3, 8, 2), "float32")):
        out = R.concat((R.permute_dims(a, [1, 2, 0]), R.permute_dims(b, [1, 2, 0])), axis=2)
        return out

    applied_pass = transform.ReorderPermuteDimsAfterConcat()
    assert applied(applied_pass, func) == (
        "(a, b) gv* = concat((a, b)); out* = permute_dims(gv); out"
    )
    check_values(applied_pass, func)


def test_parts_that_are_permuted_in_different_ways_stay():
    @R.function
    def func(a: R.Tensor((4, 8, 4), "float32"), b: R.Tensor((4, 8, 4), "float32")):
        out = R.concat((R.permute_dims(a, [1, 0, 2]), R.permute_dims(b, [1, 2, 0])), axis=2)
        return out

    assert is_kept(transform.ReorderPermuteDimsAfterConcat(), func)
