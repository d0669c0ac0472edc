"""Registered functions that tests of the virtual machine call ("test.vm.add", ...)."""

from __future__ import annotations

from typing import Any

import numpy as np

from te_sched.relax.vm.executable import ShapeTuple
from te_sched.relax.vm.machine import VirtualMachine
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import NDArray, array, zeros
from te_sched.runtime.registry import register_func


@register_func("test.vm.move", override=True)
def move(src: Any) -> Any:
    """The value itself."""
    return src


@register_func("test.vm.add", override=True)
def add(a: NDArray, b: NDArray) -> NDArray:
    """a + b"""
    return array(a.numpy() + b.numpy())


@register_func("test.vm.mul", override=True)
def mul(a: NDArray, b: NDArray) -> NDArray:
    """a * b"""
    return array(a.numpy() * b.numpy())


@register_func("test.vm.equal_zero", override=True)
def equal_zero(a: NDArray) -> NDArray:
    """Whether all elements are 0."""
    return array(np.array(bool((a.numpy() == 0).all())))


@register_func("test.vm.subtract_one", override=True)
def subtract_one(a: NDArray) -> NDArray:
    """a - 1"""
    values = a.numpy()
    return array(np.subtract(values, 1).astype(values.dtype))


@register_func("test.vm.identity", override=True)
def identity_packed(a: NDArray, b: NDArray) -> None:
    """Copy a into b."""
    b.copyfrom(a)


@register_func("test.vm.tile", override=True)
def tile_packed(a: NDArray, b: NDArray) -> None:
    """Write a twice, side by side, into b."""
    b.copyfrom(np.tile(a.numpy(), (1, 2)))


@register_func("test.vm.add_scalar", override=True)
def add_scalar(a: int, b: int) -> int:
    """a + b of numbers"""
    return a + b


@register_func("test.vm.get_device_id", override=True)
def get_device_id(device: Device) -> int:
    """The number of a device."""
    return device.device_id


@register_func("test.vm.less", override=True)
def less(a: Any, b: Any) -> Any:
    """Whether a < b; for arrays, one element."""
    values = (np.asarray(a) < np.asarray(b)).all()
    return array(np.array(bool(values))) if isinstance(a, NDArray) else bool(values)


@register_func("test.vm.zeros", override=True)
def make_zeros(shape: ShapeTuple) -> NDArray:
    """An array of zeros."""
    return zeros(tuple(shape))


def check_saved_func(vm: VirtualMachine, func_name: str, *inputs: Any) -> Any:
    """Call a function by itself and as a saved one; the result of the latter."""
    saved_name = f"{func_name}_saved"
    vm.save_function(func_name, saved_name, *inputs)
    return vm[saved_name]()
