"""Running compiled code: devices, arrays, modules, threads, timing, registered functions.

What needs LLVM is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from te_sched.ir.ops import const
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
)
from te_sched.runtime.device import cuda as gpu
from te_sched.runtime.device import metal as mtl
from te_sched.runtime.device import opencl as cl
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.registry import (
    get_global_func,
    register_extern,
    register_func,
    remove_extern,
    remove_global_func,
)
from te_sched.runtime.types import DataType, convert, enabled

if TYPE_CHECKING:
    from te_sched.runtime.loading import load_module
    from te_sched.runtime.module import Function, Module
    from te_sched.runtime.module import Function as PackedFunc
    from te_sched.runtime.threads import get_num_threads, set_num_threads
    from te_sched.runtime.threads import get_num_threads as num_threads

__all__ = [
    "DataType",
    "Device",
    "Function",
    "Module",
    "NDArray",
    "PackedFunc",
    "cl",
    "const",
    "convert",
    "cpu",
    "cuda",
    "device",
    "emulated_cuda",
    "enabled",
    "ext_dev",
    "get_global_func",
    "get_num_threads",
    "gpu",
    "hexagon",
    "load_module",
    "metal",
    "mtl",
    "num_threads",
    "opencl",
    "register_extern",
    "register_func",
    "remove_extern",
    "remove_global_func",
    "rocm",
    "set_num_threads",
    "vpi",
    "vulkan",
]

# Names of modules that load LLVM.
_LAZY = {
    "Function": ("te_sched.runtime.module", "Function"),
    "Module": ("te_sched.runtime.module", "Module"),
    "PackedFunc": ("te_sched.runtime.module", "Function"),
    "load_module": ("te_sched.runtime.loading", "load_module"),
    "get_num_threads": ("te_sched.runtime.threads", "get_num_threads"),
    "num_threads": ("te_sched.runtime.threads", "get_num_threads"),
    "set_num_threads": ("te_sched.runtime.threads", "set_num_threads"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)
