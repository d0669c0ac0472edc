"""Devices: where arrays live and functions run. This version has the processor alone."""

from __future__ import annotations

from dataclasses import dataclass

from te_sched.errors import CallError

# DLPack's numbers of device types; those beside the processor are names alone in this version.
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


@dataclass(frozen=True, slots=True)
class Device:
    """A device by its DLPack type and number."""

    device_type: int
    device_id: int = 0

    @property
    def exist(self) -> bool:
        """Whether this process can use the device."""
        return self.device_type == DEVICE_TYPES["cpu"] and self.device_id == 0

    def sync(self, stream: object = None) -> None:
        """Wait until the device has finished; a processor always has."""
        del stream

    def __getattr__(self, name: str) -> None:
        """A fact about the device: None, since only devices that are not here have such."""
        if name not in _FACTS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __str__(self) -> str:
        return (
            f"{_NAMES.get(self.device_type, f'device_type_{self.device_type}')}({self.device_id})"
        )

    def __repr__(self) -> str:
        return str(self)


def cpu(device_id: int = 0) -> Device:
    """The processor."""
    return Device(DEVICE_TYPES["cpu"], device_id)


def cuda(device_id: int = 0) -> Device:
    """A CUDA device; `exist` tells whether it is there."""
    return Device(DEVICE_TYPES["cuda"], device_id)


def opencl(device_id: int = 0) -> Device:
    """An OpenCL device, which no version of te_sched uses: a name for programs that ask."""
    return Device(DEVICE_TYPES["opencl"], device_id)


def rocm(device_id: int = 0) -> Device:
    """A ROCm device, for programs that ask."""
    return Device(DEVICE_TYPES["rocm"], device_id)


def metal(device_id: int = 0) -> Device:
    """A Metal device, for programs that ask."""
    return Device(DEVICE_TYPES["metal"], device_id)


def vulkan(device_id: int = 0) -> Device:
    """A Vulkan device, for programs that ask."""
    return Device(DEVICE_TYPES["vulkan"], device_id)


def vpi(device_id: int = 0) -> Device:
    """A VPI device, for programs that ask."""
    return Device(DEVICE_TYPES["vpi"], device_id)


def ext_dev(device_id: int = 0) -> Device:
    """An extension device, for programs that ask."""
    return Device(DEVICE_TYPES["ext_dev"], device_id)


def hexagon(device_id: int = 0) -> Device:
    """A Hexagon device, for programs that ask."""
    return Device(DEVICE_TYPES["hexagon"], device_id)


def webgpu(device_id: int = 0) -> Device:
    """A WebGPU device, for programs that ask."""
    return Device(DEVICE_TYPES["webgpu"], device_id)


def device(name: str | int | object, device_id: int = 0) -> Device:
    """A device by the name of its kind or of a target ("cpu", "llvm", "cuda"), or as "cpu:0"."""
    if isinstance(name, int):
        return Device(name, device_id)
    name = str(name).split(maxsplit=1)[0] if str(name).strip() else ""
    kind, _, number = name.partition(":")
    kind = _ALIASES.get(kind, kind)
    if kind not in DEVICE_TYPES or (number and not number.isdigit()):
        legal = ", ".join([*DEVICE_TYPES, *_ALIASES])
        raise CallError(
            f"find device {name!r}", "there is no such kind of device", f"use one of {legal}"
        )
    return Device(DEVICE_TYPES[kind], int(number) if number else device_id)


def check_usable(where: Device, what: str) -> None:
    """Refuse a device that is not there."""
    if not isinstance(where, Device):
        raise CallError(what, f"{where!r} is no device", "use te_sched.cpu(0)")
    if not where.exist:
        raise CallError(
            what,
            f"the device {where} is not available in this version of te_sched or on this computer",
            "use cpu(0)",
        )
