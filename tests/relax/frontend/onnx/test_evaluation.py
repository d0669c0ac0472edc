"""Values of expressions of constants."""

from __future__ import annotations

import numpy as np

from te_sched import relax, tir
from te_sched.relax.frontend.onnx.evaluation import evaluate


def values_of(make, *params):
    builder = relax.BlockBuilder()
    with builder.function("main", params), builder.dataflow():
        var = builder.emit(make(builder))
        array = evaluate(builder, var)
        builder.emit_func_output(builder.emit_output(var))
    return array


def test_constants_are_computed() -> None:
    def make(builder):
        root = builder.emit(relax.op.sqrt(relax.const([4.0, 9.0])))
        return relax.op.add(root, root)

    np.testing.assert_allclose(values_of(make), [4, 6])


def test_functions_of_the_module_are_called() -> None:
    def make(builder):
        from te_sched import topi

        return builder.call_te(topi.add, relax.const([1.0]), relax.const([2.0]))

    np.testing.assert_allclose(values_of(make), [3])


def test_inputs_and_open_sizes_have_no_value() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n], "float32"))
    assert values_of(lambda _: relax.op.exp(x), x) is None
    assert values_of(lambda _: relax.op.zeros([n], "float32"), x) is None
