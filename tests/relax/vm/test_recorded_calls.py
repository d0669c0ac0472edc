"""Records of calls: what is repeated with other memory, and what is left to the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

import te_sched
from te_sched import nd, relax
from te_sched.relax.vm.recorded_calls import RecordedCall, record


def machine_of(build: Any, *infos: Any) -> relax.VirtualMachine:
    """A machine with the function main of the results that `build` makes of the inputs."""
    builder = relax.BlockBuilder()
    inputs = [relax.Var(f"x{number}", info) for number, info in enumerate(infos)]
    with builder.function("main", inputs):
        with builder.dataflow():
            results = [builder.emit(value) for value in build(builder, *inputs)]
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    return relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())


def recorded(machine: relax.VirtualMachine, *args: Any) -> RecordedCall | None:
    return record(machine.interpreted("main"), args, machine.executable.bytecode.constants)[1]


def repeat(call: RecordedCall, *args: nd.NDArray) -> list[np.ndarray]:
    """The results of a recorded call with other arrays."""
    results = [nd.empty((result.size,), "uint8") for result in call.results]
    arena = nd.empty((call.arena,), "uint8")
    addresses = [array.address for array in results]
    call.kernels.run([*[array.address for array in args], *addresses, arena.address, 0])
    return [
        array.numpy()[: np.prod(result.shape, dtype=int) * np.dtype(result.dtype).itemsize]
        .view(result.dtype)
        .reshape(result.shape)
        for result, array in zip(call.results, results, strict=True)
    ]


def _rows(count: int) -> nd.NDArray:
    return nd.array(np.random.default_rng(count).random((count, 4), "float32"))


def test_a_call_is_repeated_with_other_arrays() -> None:
    n = te_sched.tir.Var("n", "int64")
    info = relax.TensorStructInfo([n, 4], "float32")
    weight = relax.const(np.arange(16, dtype="float32").reshape(4, 4))

    def build(builder: Any, x: Any, y: Any) -> list[Any]:
        product = builder.emit(relax.op.matmul(builder.emit(relax.op.exp(x)), weight))
        return [relax.op.add(product, y), relax.op.sum(product, axis=0)]

    machine = machine_of(build, info, info)
    call = recorded(machine, _rows(3), nd.array(np.ones((3, 4), "float32")))
    assert call is not None
    assert call.is_tuple
    x, y = nd.array(_rows(3).numpy() + 1), nd.array(np.full((3, 4), 2, "float32"))
    for own, expected in zip(repeat(call, x, y), machine["main"](x, y), strict=True):
        np.testing.assert_array_equal(own, expected.numpy())
    for own, expected in zip(repeat(call, x, x), machine["main"](x, x), strict=True):
        np.testing.assert_array_equal(own, expected.numpy())


def test_results_that_are_arguments_or_constants_are_not_recorded() -> None:
    n = te_sched.tir.Var("n", "int64")
    info = relax.TensorStructInfo([n, 4], "float32")
    machine = machine_of(lambda builder, x: [x, relax.op.exp(x)], info)
    assert recorded(machine, _rows(2)) is None
    constant = relax.const(np.ones(2, "float32"))
    machine = machine_of(lambda builder, x: [relax.op.exp(x), constant], info)
    assert recorded(machine, _rows(2)) is None


def test_functions_that_read_elements_in_python_are_not_recorded() -> None:
    n = te_sched.tir.Var("n", "int64")
    info = relax.TensorStructInfo([n, 4], "float32")
    machine = machine_of(lambda builder, x: [relax.op.nonzero(x), relax.op.exp(x)], info)
    result, call = record(machine.interpreted("main"), [_rows(2)], [])
    assert call is None
    assert result[0].shape == (2, 8)


def test_conditions_are_not_recorded() -> None:
    text = """
from te_sched.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), flag: R.Tensor((), "bool")):
        if flag:
            y = R.exp(x)
        else:
            y = R.negative(x)
        return y
"""
    module = te_sched.script.from_source(text)
    machine = relax.VirtualMachine(relax.build(module, "llvm"), te_sched.cpu())
    args = nd.array(np.ones(3, "float32")), nd.array(np.array(False))
    result, call = record(machine.interpreted("main"), args, [])
    assert call is None
    assert result.numpy().tolist() == [-1.0] * 3
