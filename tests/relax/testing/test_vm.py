"""Registered functions that tests of the virtual machine call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import te_sched
from te_sched import cuda, nd, relax
from te_sched.relax.testing import vm
from te_sched.relax.vm.bytecode import ShapeTuple

A, B = np.array([[1, 2]], "float32"), np.array([[3, 5]], "float32")
RESULTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("add", (A, B), A + B),
    ("mul", (A, B), A * B),
    ("move", (A,), A),
    ("equal_zero", (A - A,), True),
    ("equal_zero", (A,), False),
    ("subtract_one", (A.astype("int8"),), np.array([[0, 1]], "int8")),
    ("less", (A, B), True),
    ("less", (B, A), False),
    ("zeros", (ShapeTuple([2, 3]),), np.zeros((2, 3), "float32")),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), RESULTS)
def test_functions_of_arrays(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    function = te_sched.get_global_func(f"test.vm.{name}")
    arrays = [nd.array(one) if isinstance(one, np.ndarray) else one for one in arguments]
    array = function(*arrays).numpy()
    assert array.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(("name", "expected"), [("identity", A), ("tile", np.tile(A, (1, 2)))])
def test_functions_that_write_an_array(name: str, expected: Any) -> None:
    out = nd.array(np.zeros_like(expected))
    te_sched.get_global_func(f"test.vm.{name}")(nd.array(A), out)
    np.testing.assert_array_equal(out.numpy(), expected)


def test_functions_of_other_values() -> None:
    assert vm.add_scalar(2, 3) == 5
    assert vm.get_device_id(cuda(3)) == 3
    assert vm.less(1, 2.5) is True
    assert vm.less(2.5, 1) is False
    assert vm.check_if_defined(nd.array(A))
    assert not vm.check_if_defined(None)


def test_a_saved_function_is_called_without_arguments() -> None:
    x = relax.Var("x", relax.TensorStructInfo([1, 2], "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), te_sched.cpu())
    result = vm.check_saved_func(machine, "main", nd.array(A))
    np.testing.assert_array_equal(result.numpy(), A + A)
