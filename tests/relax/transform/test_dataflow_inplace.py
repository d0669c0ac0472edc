"""Operators that write over an argument compute the same."""

import numpy as np
import pytest

from te_sched import IRModule, relax
from te_sched.errors import GraphError
from te_sched.relax.transform.dataflow_inplace import dataflow_single_inplace_call
from te_sched.script import ir as I
from te_sched.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, y)
            c = (b, x)
            d = c[0]
            e = R.subtract(b, d)
            f = R.nn.relu(e)
            g = R.add(f, x)
            R.output(g)
        return g


def test_results_are_the_same():
    module = relax.transform.DataflowUseInplaceCalls()(Module)
    names = sorted(str(name) for name in module.functions)  # subtract is given b twice
    assert names == ["add_inplace", "main", "multiply_inplace", "relu_inplace"]
    x, y = [np.random.rand(2, 3).astype("float32") for _ in range(2)]
    kept = x.copy(), y.copy()
    machine = relax.VirtualMachine(relax.build(module, "llvm"))
    np.testing.assert_allclose(machine["main"](x, y).numpy(), x, rtol=1e-6)
    np.testing.assert_array_equal((x, y), kept)  # arguments are not overwritten


def test_operators_of_several_functions_are_rejected():
    x = relax.Var("x", relax.TensorStructInfo([4], "float32"))
    call = relax.BlockBuilder().normalize(relax.op.shape_of(x))
    with pytest.raises(GraphError, match=r"relax\.shape_of has no legalization to one function"):
        dataflow_single_inplace_call(IRModule(), call, [0])


def test_arguments_that_are_used_later_are_not_overwritten():
    @I.ir_module
    class Used:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.negative(a)
                c = R.add(a, b)
                R.output(c)
            return c

    module = relax.transform.DataflowUseInplaceCalls()(Used)
    names = [str(name) for name in module.functions]
    assert "negative_inplace" not in names
    assert "add_inplace" in names
