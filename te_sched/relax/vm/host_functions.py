"""Functions of the host that a machine on another device calls: registered functions of Python.

They read arrays of any device, and return new ones in memory of the processor, where kernels of the
device do not work. Must not know instructions.
"""

from __future__ import annotations

from functools import wraps

from te_sched.relax.vm.bytecode import VmFunction
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import NDArray

# Those that leave arrays where they are, or were asked for a device.
_OF_ANY_DEVICE = frozenset(
    f"vm.builtin.{name}"
    for name in (
        *("alloc_shape_heap", "alloc_storage", "alloc_tensor", "reshape", "copy", "to_device"),
        *("make_tuple", "tuple_getitem", "ensure_zero_offset", "invoke_closure"),
    )
)


def with_results_on(device: Device, name: str, function: VmFunction) -> VmFunction:
    """A function of the host whose new arrays are copied to a device.

    >>> import te_sched
    >>> device = te_sched.emulated_cuda(0)
    >>> with_results_on(device, "zeros", te_sched.nd.zeros)((2,)).device
    cuda(0, emulated)
    """
    if name in _OF_ANY_DEVICE:
        return function

    @wraps(function)
    def call(*args: object) -> object:
        return _placed(function(*args), device, args)

    return call


def _placed(value: object, device: Device, args: tuple[object, ...]) -> object:
    """A value with its arrays on a device, except for arguments, which are where they should be."""
    if any(value is arg for arg in args):
        return value
    if isinstance(value, NDArray):
        return value if value.device == device else value.copyto(device)
    if type(value) is tuple:
        return tuple([_placed(field, device, args) for field in value])
    return value
