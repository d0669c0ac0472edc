"""RemoveUnusedParameters: parameters of private functions that they do not use."""

import numpy as np

from te_sched import relax
from te_sched.script import ir as I
from te_sched.script import relax as R
from te_sched.script import tir as T
from tests.relax.transform.private import (
    BOTH,
    MAIN,
    Private,
    check_private,
    check_stays,
    made_public,
    passed_on,
)


def test_private_functions():
    check_private(
        relax.transform.RemoveUnusedParameters()(Private),
        first="(a) c* = negative(a); c",
        both=BOTH,
        main=MAIN.replace("first(x, y)", "first(x)"),
    )


def test_functions_that_others_use_in_other_ways_stay():
    check_stays(relax.transform.RemoveUnusedParameters(), made_public("first"), "first")
    check_stays(relax.transform.RemoveUnusedParameters(), passed_on("first"), "first")


def test_a_size_that_a_removed_parameter_gave_becomes_a_parameter():
    @I.ir_module
    class Sized:
        @R.function
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            cls = Sized
            y: R.Tensor((n,), "float32") = cls.ones(x)
            return y

        @R.function(private=True)
        def ones(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            y = R.ones(R.shape([n]), dtype="float32")
            return y

    module = relax.transform.RemoveUnusedParameters()(Sized)
    assert len(module["ones"].params) == 1
    assert isinstance(module["ones"].params[0].struct_info, relax.PrimStructInfo)
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    np.testing.assert_array_equal(machine["main"](np.zeros(3, "float32")).numpy(), np.ones(3))
