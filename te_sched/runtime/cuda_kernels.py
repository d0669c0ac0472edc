"""Compiled kernels on a real CUDA device: loading and launching them. Must not know arrays."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from te_sched.errors import CallError
from te_sched.locks import new_lock
from te_sched.runtime.cuda_driver import check, loaded, using

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class LoadedKernels:
    """The kernels of one compiled source on one device; they go when this object goes."""

    def __init__(self, cubin: bytes, device_id: int) -> None:
        self._driver, self.device_id = loaded(), device_id
        module = ctypes.c_void_p()
        with using(device_id):
            code = self._driver.cuModuleLoadData(ctypes.byref(module), cubin)
        check(code, f"load {len(cubin)} bytes of kernels on cuda({device_id})")
        self._module = module
        self._functions: dict[str, ctypes.c_void_p] = {}
        self._allowed: dict[str, int] = {}
        self._lock = new_lock()
        weakref.finalize(self, _unload, self._driver, module, device_id).atexit = False

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        shared: int,
        arguments: Sequence[Any],
        stream: int = 0,
    ) -> None:
        """Start a kernel; `arguments` are ctypes values, and `shared` are the dynamic bytes."""
        pointers = (ctypes.c_void_p * len(arguments))(
            *[ctypes.addressof(argument) for argument in arguments]
        )
        with using(self.device_id):
            function = self._function(name, shared)
            code = self._driver.cuLaunchKernel(
                function, *grid, *block, shared, stream, pointers, None
            )
        if code:
            check(
                code,
                f"launch kernel {name} on cuda({self.device_id}) with grid {tuple(grid)}, block "
                f"{tuple(block)} and {shared} bytes of dynamic shared memory",
            )

    def _function(self, name: str, shared: int) -> ctypes.c_void_p:
        """A kernel that may use so many dynamic bytes: beyond what is usual it must be allowed."""
        with self._lock:
            function = self._functions.get(name)
            if function is None:
                function = ctypes.c_void_p()
                code = self._driver.cuModuleGetFunction(
                    ctypes.byref(function), self._module, name.encode()
                )
                check(code, f"find kernel {name} in its module")
                self._functions[name] = function
            if shared > self._allowed.get(name, 0):
                code = self._driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared)
                check(code, f"give kernel {name} {shared} bytes of dynamic shared memory")
                self._allowed[name] = shared
        return function


def _unload(driver: Any, module: ctypes.c_void_p, device_id: int) -> None:
    with suppress(CallError), using(device_id):  # a device that has failed has unloaded all
        driver.cuModuleUnload(module)
