"""The CUDA driver, through ctypes: devices, their contexts, and what the driver's errors mean.

The driver is loaded at first use, and never on a computer without one. All work is done in the
primary context of a device, which cupy and torch use too, and which is current only during this
work: the caller's context is restored. Must not know arrays or kernels.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager
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
_POINTER_DEVICE = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

_handle, _handles = ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
_int, _ints = ctypes.c_int, ctypes.POINTER(ctypes.c_int)
_size, _sizes = ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)
_texts = ctypes.POINTER(ctypes.c_char_p)
# Arguments of what is called; all give a code. Where cuda.h renames a function to its second
# version (pointers of 64 bits), that is the name in the library.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuGetErrorName": (_int, _texts),
    "cuGetErrorString": (_int, _texts),
    "cuDriverGetVersion": (_ints,),
    "cuDeviceGetCount": (_ints,),
    "cuDeviceGet": (_ints, _int),
    "cuDeviceGetAttribute": (_ints, _int, _int),
    "cuDeviceGetName": (ctypes.c_char_p, _int, _int),
    "cuDeviceTotalMem_v2": (_sizes, _int),
    "cuMemGetInfo_v2": (_sizes, _sizes),
    "cuDevicePrimaryCtxRetain": (_handles, _int),
    "cuCtxGetCurrent": (_handles,),
    "cuCtxSetCurrent": (_handle,),
    "cuCtxSynchronize": (),
    "cuPointerGetAttribute": (_handle, _int, ctypes.c_uint64),
    "cuModuleLoadData": (_handles, ctypes.c_char_p),
    "cuModuleUnload": (_handle,),
    "cuModuleGetFunction": (_handles, _handle, ctypes.c_char_p),
    "cuFuncSetAttribute": (_handle, _int, _int),
    "cuLaunchKernel": (_handle, *[ctypes.c_uint] * 7, _handle, _handles, _handles),
    "cuStreamCreate": (_handles, ctypes.c_uint),
    "cuStreamDestroy_v2": (_handle,),
    "cuStreamSynchronize": (_handle,),
    "cuEventCreate": (_handles, ctypes.c_uint),
    "cuEventDestroy_v2": (_handle,),
    "cuEventRecord": (_handle, _handle),
    "cuEventSynchronize": (_handle,),
    "cuEventElapsedTime": (ctypes.POINTER(ctypes.c_float), _handle, _handle),
}

_BROKEN = (
    "a kernel that ran before did it, and this process cannot use the device any more: start "
    "it again, and look for the fault with module.check(...), the checked mode"
)
_HELPS = {
    1: "check that the numbers are within the limits of the device",
    2: "free arrays, or cupy's pool with cupy.get_default_memory_pool().free_all_blocks()",
    100: "attach a GPU, or set TE_SCHED_EMULATE=1 to emulate one",
    200: "build again; NVRTC may not fit this driver",
    209: "build for the architecture of this device, or install a newer NVRTC",
    222: "install a newer driver, or an older NVRTC",
    400: "give a stream or array of the device that the call is about",
    700: _BROKEN,
    701: "use fewer threads in a block, or let fewer values live at once (registers)",
    702: _BROKEN,
    **dict.fromkeys((709, 710, 714, 715, 716, 717, 718, 719), _BROKEN),
    900: "do this outside of the capture of a graph",
}


@functools.cache
def _driver() -> Any:
    """The library; None where there is none, or it does not start."""
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        for function, arguments in _FUNCTIONS.items():
            getattr(library, function).argtypes = arguments
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
    return (
        "no CUDA driver was found" if _driver() is None else f"CUDA devices found: {device_count()}"
    )


def attribute(device_id: int, number: int) -> int:
    """An attribute of a device by its number."""
    what = f"read attribute {number} of cuda({device_id})"
    return answer(what, "cuDeviceGetAttribute", number, _device(device_id))


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
        code = loaded().cuDeviceGetName(text, len(text), _device(device_id))
        check(code, f"read the name of cuda({device_id})")
        return text.value.decode()
    if name in ("total_global_memory", "available_global_memory"):
        free, total = memory(device_id)
        return total if name == "total_global_memory" else free
    if name in ("api_version", "driver_version"):
        return answer("read the driver's version", "cuDriverGetVersion")
    return None


def memory(device_id: int) -> tuple[int, int]:
    """How many bytes of a device are free, and how many it has."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with using(device_id):
        code = loaded().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    check(code, f"ask for the memory of cuda({device_id})")
    return free.value, total.value


def architecture(device_id: int) -> str:
    """The architecture that NVRTC compiles for: "sm_90"."""
    major, minor = (attribute(device_id, number) for number in _COMPUTE_CAPABILITY)
    return f"sm_{major}{minor}"


def device_of_pointer(address: int) -> int:
    """The number of the device whose memory an address is in; 0 for that of empty arrays."""
    if not address:
        return 0
    what = f"find the device of the memory at address {address:#x}"
    return answer(what, "cuPointerGetAttribute", _POINTER_DEVICE, address)


def synchronize(device_id: int) -> None:
    """Wait for all work on a device."""
    with using(device_id):
        check(loaded().cuCtxSynchronize(), f"wait for cuda({device_id})")


def _device(device_id: int) -> int:
    """The driver's handle of a device."""
    return answer(f"find cuda({device_id})", "cuDeviceGet", device_id)


@functools.cache
def _context(device_id: int) -> int:
    """The primary context of a device, which is kept for the life of the process."""
    what = f"use cuda({device_id})"
    return answer(what, "cuDevicePrimaryCtxRetain", _device(device_id), kind=ctypes.c_void_p)


@contextmanager
def using(device_id: int) -> Iterator[None]:
    """Make a device the current one of this thread."""
    driver, wanted, before = loaded(), _context(device_id), ctypes.c_void_p()
    check(driver.cuCtxGetCurrent(ctypes.byref(before)), "find the current device")
    if before.value == wanted:
        yield
        return
    check(driver.cuCtxSetCurrent(wanted), f"use cuda({device_id})")
    try:
        yield
    finally:
        driver.cuCtxSetCurrent(before)


def loaded() -> Any:
    """The driver's library, where there is one."""
    driver = _driver()
    if driver is None:
        raise CallError(
            "cannot use a CUDA device: no CUDA driver was found on this computer",
            "",
            "set TE_SCHED_EMULATE=1 to emulate one",
        )
    return driver


def answer(what: str, function: str, *arguments: Any, kind: Any = ctypes.c_int) -> int:
    """The number or handle by which a function of the driver answers, in its first argument."""
    value = kind()
    check(getattr(loaded(), function)(ctypes.byref(value), *arguments), what)
    return value.value or 0


def check(code: int, what: str) -> None:
    """Turn the driver's error codes into errors."""
    if code == 0:
        return
    name, text = ctypes.c_char_p(), ctypes.c_char_p()
    driver = loaded()
    driver.cuGetErrorName(code, ctypes.byref(name))
    driver.cuGetErrorString(code, ctypes.byref(text))
    said = ": ".join(part.value.decode() for part in (name, text) if part.value)
    help = _HELPS.get(code, "see the driver's documentation of this error")
    raise CallError(what, f"the CUDA driver says {said or 'error'} ({code})", help)
