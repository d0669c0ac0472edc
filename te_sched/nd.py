"""te_sched.nd: arrays on devices, with TVM's names."""

from __future__ import annotations

from te_sched.runtime.device import Device, cpu, cuda, device, metal, opencl, rocm, vulkan
from te_sched.runtime.device import cuda as gpu
from te_sched.runtime.device import opencl as cl
from te_sched.runtime.ndarray import NDArray, array, empty, from_dlpack

__all__ = [
    "Device",
    "NDArray",
    "array",
    "cl",
    "cpu",
    "cuda",
    "device",
    "empty",
    "from_dlpack",
    "gpu",
    "metal",
    "opencl",
    "rocm",
    "vulkan",
]
