"""The CUDA driver, through ctypes: which devices there are, and launching kernels on them.

The driver is loaded at first use, and never on a computer without one. Must not know arrays or
kernels' sources.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

from te_sched.errors import CallError

# CUdevice_attribute numbers of TVM's names of facts.
_ATTRIBUTES = {
    "max_threads_per_block": 1,
    "max_shared_memory_per_block": 8,
    "warp_size": 10,
    "max_clock_rate": 13,
    "multi_processor_count": 16,
    "l2_cache_size_bytes": 38,
}
_BLOCK_DIMENSIONS = (2, 3, 4)
_COMPUTE_CAPABILITY = (75, 76)
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_STATIC_LIMIT = 48 * 1024  # bytes of shared memory that need no permission


@functools.cache
def _driver() -> ctypes.CDLL | None:
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return library if library.cuInit(0) == 0 else None
    return None


@functools.cache
def device_count() -> int:
    """How many CUDA devices there are."""
    driver = _driver()
    count = ctypes.c_int(0)
    if driver is None or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def why_absent() -> str:
    """Why there is no device, for messages."""
    return "no CUDA driver was found" if _driver() is None else f"there are {device_count()}"


def attribute(device_id: int, number: int) -> int:
    """An attribute of a device by its number."""
    driver = _loaded()
    device, value = ctypes.c_int(), ctypes.c_int()
    check(driver.cuDeviceGet(ctypes.byref(device), device_id), "find a device")
    code = driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    check(code, "read an attribute of a device")
    return value.value


def fact(device_id: int, name: str) -> object:
    """A fact about a device by TVM's name; None for what is not asked of the driver."""
    if name in _ATTRIBUTES:
        return attribute(device_id, _ATTRIBUTES[name])
    if name == "max_thread_dimensions":
        return str([attribute(device_id, number) for number in _BLOCK_DIMENSIONS])
    if name == "compute_version":
        return ".".join(str(attribute(device_id, number)) for number in _COMPUTE_CAPABILITY)
    if name == "device_name":
        text = ctypes.create_string_buffer(256)
        device = ctypes.c_int()
        check(_loaded().cuDeviceGet(ctypes.byref(device), device_id), "find a device")
        check(_loaded().cuDeviceGetName(text, len(text), device), "read the name of a device")
        return text.value.decode()
    return None


def architecture(device_id: int) -> str:
    """The architecture that NVRTC compiles for: "sm_90"."""
    major, minor = (attribute(device_id, number) for number in _COMPUTE_CAPABILITY)
    return f"sm_{major}{minor}"


def synchronize(device_id: int) -> None:
    """Wait for all work on a device."""
    _use(device_id)
    check(_loaded().cuCtxSynchronize(), f"wait for cuda({device_id})")


def _use(device_id: int) -> None:
    """Make the device's primary context, which cupy and torch use too, the current one."""
    driver = _loaded()
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuDeviceGet(ctypes.byref(device), device_id), "find a device")
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "use a device")
    check(driver.cuCtxSetCurrent(context), "use a device")


class LoadedKernels:
    """Compiled kernels on a device."""

    def __init__(self, cubin: bytes, device_id: int) -> None:
        self._driver, self.device_id = _loaded(), device_id
        _use(device_id)
        self._module = ctypes.c_void_p()
        code = self._driver.cuModuleLoadData(ctypes.byref(self._module), cubin)
        check(code, f"load kernels on cuda({device_id})")
        self._functions: dict[str, ctypes.c_void_p] = {}
        self._allowed: dict[str, int] = {}

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        arguments: Sequence[Any],
        stream: int = 0,
    ) -> None:
        """Start a kernel; `arguments` are ctypes values."""
        function = self._functions.get(name)
        if function is None:
            function = ctypes.c_void_p()
            code = self._driver.cuModuleGetFunction(
                ctypes.byref(function), self._module, name.encode()
            )
            check(code, f"find kernel {name}")
            self._functions[name] = function
        if shared > max(_STATIC_LIMIT, self._allowed.get(name, 0)):
            code = self._driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared)
            check(code, f"give kernel {name} {shared} bytes of shared memory")
            self._allowed[name] = shared
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.addressof(argument) for argument in arguments]
        )
        code = self._driver.cuLaunchKernel(
            function, *grid, *block, shared, ctypes.c_void_p(stream), pointers, None
        )
        check(code, f"launch kernel {name} with grid {tuple(grid)} and block {tuple(block)}")


def _loaded() -> ctypes.CDLL:
    driver = _driver()
    if driver is None:
        raise CallError(
            "use a CUDA device",
            "no CUDA driver was found on this computer",
            "set TE_SCHED_EMULATE=1 to emulate one",
        )
    return driver


def check(code: int, what: str) -> None:
    """Turn the driver's error codes into errors."""
    if code == 0:
        return
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    driver = _loaded()
    driver.cuGetErrorName(code, ctypes.byref(name))
    driver.cuGetErrorString(code, ctypes.byref(text))
    said = " ".join(part.value.decode() for part in (name, text) if part.value)
    raise CallError(what, f"the CUDA driver says: {said or code}", "see the driver's documentation")
