"""FastMathTransform: approximations of functions."""

import pytest

from te_sched import relax
from te_sched.relax import transform
from te_sched.script import relax as R
from tests.relax.running import assert_same_results
from tests.relax.transform.applied import module_of


def test_approximations():
    @R.function
    def func(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            z = R.nn.softmax(R.exp(R.tanh(R.erf(x))), axis=1)
            R.output(z)
        return z

    module = module_of(func)
    found = transform.FastMathTransform()(module)
    assert set(found.functions) == {"main", "fast_exp", "fast_tanh", "fast_erf", "fast_softmax"}
    assert_same_results(module, found, 1e-3)


@pytest.mark.parametrize(("name", "dtype"), [("sin", "float32"), ("sqrt", "float32")])
def test_other_functions_stay(name, dtype):
    x = relax.Var("x", relax.TensorStructInfo([4], dtype))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(getattr(relax.op, name)(x)))
    module = builder.get()
    assert transform.FastMathTransform()(module)["main"] is module["main"]
