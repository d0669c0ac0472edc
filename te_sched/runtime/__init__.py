"""Running compiled code: devices, arrays, modules, threads, timing, registered functions.

What needs LLVM is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from te_sched.runtime.device import Device, cpu, device
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.registry import (
    get_global_func,
    register_extern,
    register_func,
    remove_extern,
    remove_global_func,
)

if TYPE_CHECKING:
    from te_sched.runtime.module import Function, Module, load_module
    from te_sched.runtime.threads import get_num_threads, set_num_threads

__all__ = [
    "Device",
    "Function",
    "Module",
    "NDArray",
    "cpu",
    "device",
    "get_global_func",
    "get_num_threads",
    "load_module",
    "register_extern",
    "register_func",
    "remove_extern",
    "remove_global_func",
    "set_num_threads",
]

_LAZY = {
    "Function": "te_sched.runtime.module",
    "Module": "te_sched.runtime.module",
    "load_module": "te_sched.runtime.module",
    "get_num_threads": "te_sched.runtime.threads",
    "set_num_threads": "te_sched.runtime.threads",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)
