"""LambdaLift: local functions become functions of the module."""

import numpy as np

from te_sched import relax
from te_sched.relax.analysis import well_formed
from te_sched.script import ir as I
from te_sched.script import relax as R
from tests.relax.transform.private import Private
from tests.relax.transform.weights import run


def test_lambdas_become_functions_and_closures():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            @R.function
            def scaled(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                b = R.multiply(a, x)
                return b

            @R.function
            def twice(a: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                b = R.add(a, a)
                return b

            z = twice(y)
            w = scaled(z)
            return w

    module = relax.transform.LambdaLift()(Module)
    assert sorted(map(str, module.functions)) == ["main", "main_scaled", "main_twice"]
    assert well_formed(module)
    given = [np.random.rand(4).astype("float32") for _ in range(2)]
    np.testing.assert_allclose(run(module, *given).numpy(), 2 * given[0] * given[1], rtol=1e-6)


def test_a_local_function_that_calls_itself_becomes_one_of_the_module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
            @R.function
            def halved(a: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
                if R.less(a, R.const(2, "int32")):
                    b = a
                else:
                    b = halved(R.floor_divide(a, R.const(2, "int32")))
                return b

            y = halved(x)
            return y

    module = relax.transform.LambdaLift()(Module)
    assert well_formed(module)
    assert run(module, np.int32(9)).numpy() == 1


def test_functions_of_the_module_stay():
    assert relax.transform.LambdaLift()(Private) is Private
