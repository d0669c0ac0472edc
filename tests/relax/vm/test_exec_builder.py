"""Instructions that are written by hand: their text, what they compute, and errors."""

import numpy as np
import pytest

import te_sched
from te_sched import relax
from te_sched.errors import GraphError
from te_sched.relax.testing import vm as functions
from te_sched.relax.vm.bytecode import ShapeTuple
from tests.relax.vm.choosing import CPU

assert functions is not None  # it registers test.vm.add, ...


def test_constants_are_held_once():
    builder = relax.ExecBuilder()
    with builder.function("main", num_inputs=0):
        assert builder.convert_constant("a") == builder.convert_constant("a")
        assert builder.convert_constant([1, 2]) == builder.convert_constant(ShapeTuple([1, 2]))
        one = builder.convert_constant(te_sched.nd.array([1, 2]))
        assert one == builder.convert_constant(te_sched.nd.array([1, 2]))
        builder.emit_call("vm.builtin.shape_of", [one], builder.r(7))
        builder.emit_ret(builder.r(7))
    executable = builder.get()
    assert "Constant pool (# 3)" in executable.stats()
    assert relax.VirtualMachine(executable, CPU)["main"]() == [2]
    with pytest.raises(GraphError, match="cannot be a constant of an executable"):
        builder.convert_constant(object())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_constants_of_other_bits_are_held_apart(dtype):
    builder = relax.ExecBuilder()
    values = [0.0, -0.0, np.nan, -np.nan, 1.0]
    arrays = [np.full((2, 3), value, dtype) for value in values]
    operands = [builder.convert_constant(te_sched.nd.array(one)) for one in arrays]
    operands += [builder.convert_constant(value) for value in (0.0, -0.0, 0)]
    operands.append(builder.convert_constant(te_sched.nd.array(arrays[0].reshape(3, 2))))
    assert [one.value for one in operands] == list(range(len(operands)))
    again = [builder.convert_constant(te_sched.nd.array(one.copy())) for one in arrays]
    assert again == operands[: len(arrays)]


def test_thousands_of_constants_build():
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    builder = relax.BlockBuilder()
    count = 2000  # twenty seconds if each is compared with all others
    with builder.function("main", [x]):
        constants = [relax.const(np.full(2, k, "float32")) for k in range(count)]
        builder.emit_func_output(relax.Tuple([x, *constants]))
    executable = relax.build(builder.get(), "llvm")
    outputs = relax.VirtualMachine(executable, CPU)["main"](np.ones(2, "f4"))
    assert [float(one.numpy()[0]) for one in outputs] == [1.0, *range(count)]


def test_builders_reject_wrong_programs():
    builder = relax.ExecBuilder()
    with pytest.raises(GraphError, match="no function is open"):
        builder.emit_ret(builder.r(0))
    with builder.function("f", num_inputs=1):
        inner = builder.function("g")
        with pytest.raises(GraphError, match="function g is opened inside of function f"), inner:
            pass
        with pytest.raises(GraphError, match=r"is to be kept in c\[0\]"):
            builder.emit_call("testing.echo", [builder.r(0)], builder.convert_constant("text"))
        builder.emit_call("testing.echo", [builder.r(2)], builder.r(1))
        builder.emit_ret(builder.r(1))
    with pytest.raises(GraphError, match="function f exists already"), builder.function("f"):
        pass
    with pytest.raises(GraphError, match="function f reads register %2 before it is set"):
        builder.get()
