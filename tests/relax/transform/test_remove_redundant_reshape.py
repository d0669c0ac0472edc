"""RemoveRedundantReshape."""

from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.transform.applied import applied


def test_reshapes_of_reshapes():
    @R.function
    def func(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            y = R.reshape(R.reshape(x, (12,)), (3, 4))
            z = R.reshape(y, (3, 4))
            R.output(z)
        return z

    found = applied(transform.RemoveRedundantReshape(), func)
    assert found == "(x) z* = reshape(x, [3, 4]); z"


def test_a_reshape_to_the_same_shape_is_removed():
    @R.function
    def func(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            y = R.reshape(x, (2, 6))
            z = R.exp(y)
            R.output(z)
        return z

    assert applied(transform.RemoveRedundantReshape(), func) == "(x) z* = exp(x); z"
