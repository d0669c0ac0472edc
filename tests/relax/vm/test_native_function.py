"""Calls of native functions: arguments, and results as graphs return them."""

import numpy as np
import pytest

from te_sched import nd, relax
from te_sched.errors import ArgumentError, CallError
from tests.relax.vm.native_graphs import MATRIX, built, chain


def test_native_calls_reject_arguments():
    _, machine = built(chain, MATRIX)
    with pytest.raises(ArgumentError, match=r"argument x of main has shape \(4, 7\), expected 8"):
        machine["main"](np.zeros((4, 7), "float32"))
    with pytest.raises(ArgumentError, match="argument x of main has dtype float64"):
        machine["main"](np.zeros((4, 8)))
    with pytest.raises(CallError, match=r"main\(\) takes 1 argument, got 2"):
        machine["main"](1, 2)


def test_results_are_tuples_of_inputs_constants_and_views():
    def write(builder, x):
        y = builder.emit(relax.op.add(x, x))
        flat = builder.emit_output(relax.op.reshape(y, [32]))
        constant = relax.const(np.ones(2, "float32"))
        out = builder.emit_output(relax.op.exp(y))
        return relax.Tuple([relax.Tuple([x, out]), flat, constant, relax.ShapeExpr([2, 3])])

    executable, machine = built(write, MATRIX)
    assert "main" in executable.plans
    x = np.random.default_rng(1).random((4, 8), "float32")
    (same, out), flat, one, shape = machine["main"](x)
    np.testing.assert_array_equal(same.numpy(), x)
    np.testing.assert_allclose(out.numpy(), np.exp(2 * x), rtol=1e-6)
    np.testing.assert_array_equal(flat.numpy(), (2 * x).reshape(-1))
    assert (one.numpy().tolist(), shape) == ([1, 1], [2, 3])


def test_arguments_without_dimensions_are_arrays_or_numbers_of_numpy() -> None:
    x, n = (
        relax.Var(name, relax.TensorStructInfo(s, "float32")) for name, s in (("x", [2]), ("n", []))
    )
    builder = relax.BlockBuilder()
    with builder.function("main", [x, n]):
        builder.emit_func_output(builder.emit(relax.op.add(x, n)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"))
    assert "main" in machine.executable.plans
    for number in (np.float32(2), np.array(2, "float32"), nd.array(np.float32(2))):
        result = machine["main"](np.ones(2, "float32"), number)
        np.testing.assert_array_equal(result.numpy(), [3, 3])
