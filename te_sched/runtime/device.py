"""Devices: where arrays live and functions run: the processor, CUDA devices, emulated ones.

An emulated device is a CUDA device for those who use it; its arrays lie in the processor's memory,
and the processor runs its kernels. `cuda(0)` is one where TE_SCHED_EMULATE=1 asks for it;
`emulated_cuda(0)` is one anyhow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from te_sched import config
from te_sched.errors import CallError, did_you_mean, kind_of, repr_of
from te_sched.ir import dtypes
from te_sched.ir.device_limits import LARGEST_EXTENTS, MAX_THREADS, SHARED_BYTES, TAGS, WARP
from te_sched.public_members import PublicObject, refuse_attribute
from te_sched.runtime import cuda_driver, cuda_streams
from te_sched.signatures import checked_as

# DLPack's numbers of device types; those beside the processor and CUDA are names alone.
DEVICE_TYPES = {
    **{"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10},
    **{"ext_dev": 12, "hexagon": 14, "webgpu": 15},
}
_ALIASES = {
    **{"llvm": "cpu", "c": "cpu", "stackvm": "cpu", "hybrid": "cpu"},
    **{"gpu": "cuda", "nvptx": "cuda", "cl": "opencl", "mtl": "metal"},
}
_NAMES = {number: name for name, number in DEVICE_TYPES.items()}
_FACTS = frozenset(
    [
        *("max_threads_per_block", "max_shared_memory_per_block", "max_thread_dimensions"),
        *("warp_size", "compute_version", "device_name", "max_clock_rate", "api_version"),
        *("multi_processor_count", "driver_version", "total_global_memory"),
        *("available_global_memory", "l2_cache_size_bytes"),
    ]
)


# Attributes of an emulated device: the limits of every CUDA device since compute capability 7.
_EMULATED_FACTS = {
    "max_threads_per_block": MAX_THREADS,
    "max_shared_memory_per_block": SHARED_BYTES,
    "max_thread_dimensions": str(
        [LARGEST_EXTENTS[tag] for tag in TAGS if tag.startswith("threadIdx")]
    ),
    "warp_size": WARP,
    "compute_version": "8.0",
    "device_name": "emulated by the processor",
    "multi_processor_count": 1,
}


@dataclass(frozen=True, slots=True)
class Device(PublicObject):
    """A device by its DLPack type and number; `emulated` ones are the processor's imitation.

    >>> te_sched.cpu(0).device_type
    1
    """

    device_type: int
    device_id: int = 0
    emulated: bool = False

    def __post_init__(self) -> None:
        for what, number in (("type", self.device_type), ("number", self.device_id)):
            is_whole = isinstance(number, int)
            if not is_whole or number.bit_length() > 31:
                why = "it has more than 31 bits" if is_whole else f"it is {kind_of(number)}"
                raise CallError(
                    f"device {what} is {repr_of(number)}, expected an int",
                    why,
                    "give one, such as 0",
                )

    @property
    def memory(self) -> int:
        """The DLPack type of the memory; below 0 for that of an emulated device."""
        return -self.device_type if self.emulated else self.device_type

    @property
    def exist(self) -> bool:
        """Whether this process can use the device.

        >>> te_sched.cpu(0).exist
        True
        """
        if self.is_gpu:
            return 0 <= self.device_id < cuda_driver.device_count()
        return self.device_id == 0 and (self.device_type == DEVICE_TYPES["cpu"] or self.emulated)

    @property
    def is_gpu(self) -> bool:
        """Whether it is a CUDA device that is not emulated.

        >>> te_sched.cuda(0).is_gpu
        True
        """
        return self.device_type == DEVICE_TYPES["cuda"] and not self.emulated

    def sync(self, stream: object = None) -> None:
        """Wait until the device has finished all work, or that of a stream; others always have.

        >>> te_sched.cpu(0).sync()
        """
        if self.is_gpu and self.exist:
            cuda_streams.synchronize(self.device_id, stream)

    def create_raw_stream(self) -> int:
        """A new stream for `set_raw_stream`, by its handle; 0 where a device has no streams."""
        return self._on_gpu(cuda_streams.create_stream) or 0

    def free_raw_stream(self, stream: object) -> None:
        """Give back what `create_raw_stream` gave."""
        self._on_gpu(cuda_streams.free_stream, stream)

    def set_raw_stream(self, stream: object) -> None:
        """Put this thread's work on the device onto a stream: of cupy, of torch, or by its handle.

        None, as at the beginning, follows cupy's current stream.
        """
        self._on_gpu(cuda_streams.choose_stream, stream)

    def _on_gpu(self, act: Callable[..., Any], *args: object) -> Any:
        """The module for streams; None for devices that finish each call at once."""
        if self.device_type == DEVICE_TYPES["cpu"] or self.emulated:
            return None
        check_usable(self)
        return act(self.device_id, *args)

    def __getattr__(self, name: str) -> object:
        """A fact about the device, or None where it is not here."""
        if name not in _FACTS:
            refuse_attribute(self, name)
        if self.emulated:
            return _EMULATED_FACTS.get(name)
        if self.is_gpu and self.exist:
            return cuda_driver.fact(self.device_id, name)
        return None

    def __dir__(self) -> list[str]:
        return [*PublicObject.__dir__(self), *_FACTS]

    def __str__(self) -> str:
        kind = _NAMES.get(self.device_type, f"device_type_{self.device_type}")
        return f"{kind}({self.device_id}{', emulated' if self.emulated else ''})"

    def __repr__(self) -> str:
        return str(self)


def cpu(device_id: int = 0) -> Device:
    """The processor.

    >>> te_sched.cpu(0)
    cpu(0)
    """
    return Device(DEVICE_TYPES["cpu"], device_id)


def cuda(device_id: int = 0) -> Device:
    """A CUDA device, emulated where TE_SCHED_EMULATE=1; `exist` tells whether it is there.

    >>> te_sched.cuda(1).device_id
    1
    """
    return Device(DEVICE_TYPES["cuda"], device_id, config.current().emulate)


def emulated_cuda(device_id: int = 0) -> Device:
    """A CUDA device that the processor emulates.

    >>> te_sched.emulated_cuda(0).exist
    True
    """
    return Device(DEVICE_TYPES["cuda"], device_id, True)


def source_of(where: Device) -> str:
    """The expression of a program that gives a device.

    >>> source_of(te_sched.emulated_cuda(0))
    'te_sched.emulated_cuda(0)'
    """
    kind = _NAMES[where.device_type]
    return f"te_sched.{'emulated_' if where.emulated else ''}{kind}({where.device_id})"


def available_device(kind: str) -> Device:
    """The first device of a kind, such as "cuda"; an emulated one where there is no GPU.

    >>> available_device("cuda").exist
    True
    """
    chosen = device(kind)
    return emulated_cuda(0) if chosen.is_gpu and not chosen.exist else chosen


def opencl(device_id: int = 0) -> Device:
    """An OpenCL device, which no version of te_sched uses: a name for programs that ask.

    >>> te_sched.opencl(0)
    opencl(0)
    """
    return Device(DEVICE_TYPES["opencl"], device_id)


def rocm(device_id: int = 0) -> Device:
    """A ROCm device, for programs that ask.

    >>> te_sched.rocm(0)
    rocm(0)
    """
    return Device(DEVICE_TYPES["rocm"], device_id)


def metal(device_id: int = 0) -> Device:
    """A Metal device, for programs that ask.

    >>> te_sched.metal(0)
    metal(0)
    """
    return Device(DEVICE_TYPES["metal"], device_id)


def vulkan(device_id: int = 0) -> Device:
    """A Vulkan device, for programs that ask.

    >>> te_sched.vulkan(0)
    vulkan(0)
    """
    return Device(DEVICE_TYPES["vulkan"], device_id)


def vpi(device_id: int = 0) -> Device:
    """A VPI device, for programs that ask.

    >>> te_sched.vpi(0)
    vpi(0)
    """
    return Device(DEVICE_TYPES["vpi"], device_id)


def ext_dev(device_id: int = 0) -> Device:
    """An extension device, for programs that ask.

    >>> te_sched.ext_dev(0)
    ext_dev(0)
    """
    return Device(DEVICE_TYPES["ext_dev"], device_id)


def hexagon(device_id: int = 0) -> Device:
    """A Hexagon device, for programs that ask.

    >>> te_sched.hexagon(0)
    hexagon(0)
    """
    return Device(DEVICE_TYPES["hexagon"], device_id)


def webgpu(device_id: int = 0) -> Device:
    """A WebGPU device, for programs that ask."""
    return Device(DEVICE_TYPES["webgpu"], device_id)


gpu, mtl, cl = cuda, metal, opencl


@checked_as(CallError)
def device(name: str | int | object, device_id: int = 0) -> Device:
    """A device by the name of its kind or of a target ("cpu", "llvm", "cuda"), or as "cpu:0".

    >>> te_sched.device("cpu")
    cpu(0)
    """
    if isinstance(name, int):
        return Device(name, device_id)
    text = repr_of(name) if not isinstance(name, str) else name
    text = str(name) if hasattr(name, "kind") else text
    name = text.split(maxsplit=1)[0] if text.strip() else ""
    kind, _, digits = name.partition(":")
    kind = _ALIASES.get(kind, kind)
    if kind not in DEVICE_TYPES or (digits and not digits.isdecimal()):
        legal = ", ".join([*DEVICE_TYPES, *_ALIASES])
        raise CallError(
            f"unknown device {repr_of(name)}",
            "",
            f"use one of {legal}{did_you_mean(kind, [*DEVICE_TYPES, *_ALIASES])}",
        )
    number = int(digits) if digits else device_id
    return cuda(number) if kind == "cuda" else Device(DEVICE_TYPES[kind], number)


def _device_meant(value: Any) -> str:
    """What to write in place of a value that is not a device."""
    if not isinstance(value, str):
        return "use te_sched.cpu(0)"
    if value.partition(":")[0] in (*DEVICE_TYPES, *_ALIASES):
        return f"write te_sched.device({value!r})"
    return f"write dtype={value!r}" if dtypes.is_name(value) else "use te_sched.cpu(0)"


def check_usable(where: Device) -> None:
    """Refuse a device that is not there."""
    if not isinstance(where, Device):
        raise CallError(f"{repr_of(where)} is not a device", "", _device_meant(where))
    if where.exist:
        return
    if where.device_type == DEVICE_TYPES["cuda"]:
        raise CallError(
            f"there is no device {where} on this computer",
            cuda_driver.why_absent(),
            "set TE_SCHED_EMULATE=1 to emulate it, or use te_sched.emulated_cuda(0), or cpu(0)",
        )
    raise CallError(f"device {where} is not supported", "", "use cpu(0)")
