"""Registered functions that tests of the virtual machine call ("test.vm.add", ...)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from te_sched.relax.vm.bytecode import ShapeTuple
from te_sched.relax.vm.machine import VirtualMachine
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import NDArray, array, zeros
from te_sched.runtime.registry import register_func

_T = TypeVar("_T")


def move(src: _T) -> _T:
    """The value itself."""
    return src


def add(a: NDArray, b: NDArray) -> NDArray:
    """a + b"""
    return array(a.numpy() + b.numpy())


def mul(a: NDArray, b: NDArray) -> NDArray:
    """a * b"""
    return array(a.numpy() * b.numpy())


def equal_zero(a: NDArray) -> NDArray:
    """Whether all elements are 0."""
    return array(np.array(bool((a.numpy() == 0).all())))


def subtract_one(a: NDArray) -> NDArray:
    """a - 1"""
    values = a.numpy()
    return array(np.subtract(values, 1).astype(values.dtype))


def identity_packed(a: NDArray, b: NDArray) -> None:
    """Copy a into b."""
    b.copyfrom(a)


def tile_packed(a: NDArray, b: NDArray) -> None:
    """Write a twice, side by side, into b."""
    b.copyfrom(np.tile(a.numpy(), (1, 2)))


def add_scalar(a: int, b: int) -> int:
    """a + b of numbers"""
    return a + b


def get_device_id(device: Device) -> int:
    """The number of a device."""
    return device.device_id


def less(a: NDArray | float, b: NDArray | float) -> NDArray | bool:
    """Whether a < b; for arrays, one element."""
    values = (np.asarray(a) < np.asarray(b)).all()
    return array(np.array(bool(values))) if isinstance(a, NDArray) else bool(values)


def check_if_defined(value: object) -> bool:
    """Whether a value exists: it was not killed."""
    return value is not None


def make_zeros(shape: ShapeTuple) -> NDArray:
    """An array of zeros."""
    return zeros(tuple(shape))


def check_saved_func(vm: VirtualMachine, func_name: str, *inputs: object) -> object:
    """Call a function by itself and as a saved one; the result of the latter."""
    saved_name = f"{func_name}_saved"
    vm.save_function(func_name, saved_name, *inputs)
    return vm[saved_name]()


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "test.vm.move": move,
    "test.vm.add": add,
    "test.vm.mul": mul,
    "test.vm.equal_zero": equal_zero,
    "test.vm.subtract_one": subtract_one,
    "test.vm.identity": identity_packed,
    "test.vm.tile": tile_packed,
    "test.vm.add_scalar": add_scalar,
    "test.vm.get_device_id": get_device_id,
    "test.vm.less": less,
    "test.vm.check_if_defined": check_if_defined,
    "test.vm.zeros": make_zeros,
}
for _name, _function in _FUNCTIONS.items():
    register_func(_name, _function, override=True)
