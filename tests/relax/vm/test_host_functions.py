"""Functions of the host that machines on other devices call."""

from __future__ import annotations

import numpy as np
import pytest

import te_sched
from te_sched import nd, relax
from te_sched.errors import ParameterError
from te_sched.relax import op
from te_sched.relax.vm.host_functions import with_results_on

EMULATED, CPU = te_sched.emulated_cuda(0), te_sched.cpu(0)
ONES = np.ones((2, 3), "float32")


def test_new_arrays_are_copied_also_in_tuples() -> None:
    function = with_results_on(EMULATED, "f", lambda x: (nd.array(x.numpy()), (x, "name")))
    there = nd.array(ONES, EMULATED)
    new, (same, name) = function(there)
    assert (new.device, name) == (EMULATED, "name")
    assert same is there
    np.testing.assert_array_equal(new.numpy(), ONES)


def test_arguments_and_lists_of_them_stay_where_they_are() -> None:
    here = nd.array(ONES)
    pair = (here, here)
    assert with_results_on(EMULATED, "f", lambda x: x)(here) is here
    assert with_results_on(EMULATED, "f", lambda x, y: (x, y))(pair, here)[0] is pair


@pytest.mark.parametrize("name", ["alloc_shape_heap", "to_device", "tuple_getitem"])
def test_functions_that_choose_a_device_are_left_alone(name: str) -> None:
    assert with_results_on(EMULATED, f"vm.builtin.{name}", max) is max


@te_sched.register_func("tests.host_functions.halves", override=True)
def _halves(x: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray]:
    values = x.numpy()
    return nd.array(values[:1]), nd.array(values[1:])


def test_kernels_read_what_registered_functions_return() -> None:
    builder = relax.BlockBuilder()
    half = relax.TensorStructInfo((1, 3), "float32")
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    with builder.function("main", [x]):
        call = op.call_pure_packed(
            "tests.host_functions.halves", x, sinfo_args=relax.TupleStructInfo([half, half])
        )
        pair = builder.emit(call)
        builder.emit_func_output(builder.emit(op.add(pair[0], pair[1])))
    machine = relax.VirtualMachine(relax.build(builder.get(), "cuda"), EMULATED)
    result = machine["main"](nd.array(np.arange(6, dtype="float32").reshape(2, 3), EMULATED))
    assert result.device == EMULATED
    np.testing.assert_array_equal(result.numpy(), [[3, 5, 7]])
    with pytest.raises(ParameterError, match="takes 1 argument, expected 2"):
        _machine_with_a_wrong_call()["main"](nd.array(ONES, EMULATED))


def _machine_with_a_wrong_call() -> relax.VirtualMachine:
    builder = relax.ExecBuilder()
    with builder.function("main", 1):
        args = [builder.r(0), builder.r(0)]
        builder.emit_call("tests.host_functions.halves", args, builder.r(1))
        builder.emit_ret(builder.r(1))
    return relax.VirtualMachine(builder.get(), EMULATED)
