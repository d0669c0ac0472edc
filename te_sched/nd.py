"""te_sched.nd: arrays on devices, with TVM's names."""

from __future__ import annotations

from te_sched.runtime.device import (
    Device,
    cpu,
    cuda,
    device,
    emulated_cuda,
    ext_dev,
    hexagon,
    metal,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
from te_sched.runtime.device import cuda as gpu
from te_sched.runtime.device import metal as mtl
from te_sched.runtime.device import opencl as cl
from te_sched.runtime.ndarray import NDArray, array, empty, from_dlpack, zeros

__all__ = [
    "Device",
    "NDArray",
    "array",
    "cl",
    "cpu",
    "cuda",
    "device",
    "empty",
    "emulated_cuda",
    "ext_dev",
    "from_dlpack",
    "gpu",
    "hexagon",
    "metal",
    "mtl",
    "opencl",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
    "zeros",
]
