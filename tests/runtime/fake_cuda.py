"""A fake CUDA driver that records its calls, and a fake cupy on numpy's memory."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from te_sched.codegen.cuda import nvrtc
from te_sched.runtime import cuda_driver
from te_sched.runtime.dlpack import ArrayView, make_capsule

DEVICES = 2
CONTEXT = 0x7F0000000000  # handles have 64 bits
HANDED_OUT = ("cuModuleLoadData", "cuModuleGetFunction", "cuStreamCreate", "cuEventCreate")


class Current(threading.local):
    """The current context, device and stream of a thread."""

    context = 0
    device = 0
    stream = 0


@dataclass
class FakeDriver:
    """The functions of the driver that te_sched calls; `fails[name]` is the error code of one."""

    current: Current = field(default_factory=Current)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    fails: dict[str, int] = field(default_factory=dict)
    handles: Iterator[int] = field(default_factory=lambda: itertools.count(CONTEXT + 4096, 16))

    def __getattr__(self, name: str) -> Any:
        if name not in cuda_driver._FUNCTIONS:
            raise AttributeError(name)

        def call(*args: Any) -> int:
            plain = [arg.value if isinstance(arg, ctypes.c_void_p) else arg for arg in args]
            for kind, arg in zip(cuda_driver._FUNCTIONS[name], args, strict=True):
                kind.from_param(arg)  # refuses what the driver's function does not take
            self.calls.append((name, *plain, self.current.context))
            if name in self.fails:
                return self.fails[name]
            act = getattr(type(self), f"do_{name}", None)
            if act is not None:
                act(self, *plain)
            elif (
                name in ("cuModuleLoadData", "cuModuleGetFunction", "cuStreamCreate")
                or name == "cuEventCreate"
            ):
                plain[0]._obj.value = next(self.handles)
            return 0

        return call

    def named(self, name: str) -> list[tuple[Any, ...]]:
        """The calls of a function: its arguments, then the context that was current."""
        return [call[1:] for call in self.calls if call[0] == name]

    def do_cuDeviceGetCount(self, out: Any) -> None:
        out._obj.value = DEVICES

    def do_cuDeviceGet(self, out: Any, number: int) -> None:
        out._obj.value = number

    def do_cuDeviceGetAttribute(self, out: Any, number: int, device: int) -> None:
        out._obj.value = {75: 9, 76: 0}.get(number, 64)

    def do_cuMemGetInfo_v2(self, free: Any, total: Any) -> None:
        free._obj.value, total._obj.value = 1000, 2000

    def do_cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> None:
        out._obj.value = CONTEXT + device

    def do_cuCtxGetCurrent(self, out: Any) -> None:
        out._obj.value = self.current.context

    def do_cuCtxSetCurrent(self, context: int | None) -> None:
        self.current.context = context or 0

    def do_cuPointerGetAttribute(self, out: Any, attribute: int, address: int) -> None:
        out._obj.value = 1

    def do_cuEventElapsedTime(self, out: Any, begin: int, end: int) -> None:
        out._obj.value = 5.0

    def do_cuGetErrorName(self, code: int, out: Any) -> None:
        out._obj.value = b"CUDA_ERROR_OF_TEST"

    def do_cuGetErrorString(self, code: int, out: Any) -> None:
        out._obj.value = b"it failed"

    def do_cuLaunchKernel(self, *args: Any) -> None:
        pointers, count = args[9], len(args[9])
        given = [ctypes.string_at(pointers[k], 8) for k in range(count)]
        self.calls[-1] = (*self.calls[-1], [int.from_bytes(one, "little") for one in given])


class FakeArray:
    """The part of cupy's arrays that te_sched uses; `place` is the number of the device."""

    asked: Any = None  # the stream that the last one was handed over to

    def __init__(self, values: np.ndarray[Any, Any], place: int = 0) -> None:
        self.values, self.place = values, place
        self.dtype, self.shape, self.flags = values.dtype, values.shape, values.flags
        self.ndim, self.size, self.nbytes = values.ndim, values.size, values.nbytes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.values.__array_interface__, "version": 3}

    def __len__(self) -> int:
        return len(self.values)

    def __setitem__(self, index: Any, other: FakeArray) -> None:
        self.values[index] = other.values

    def set(self, values: np.ndarray[Any, Any]) -> None:
        """Copy numpy's array of the same kind."""
        assert values.dtype == self.dtype
        np.copyto(self.values, values)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.place

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        FakeArray.asked = stream
        address = self.values.ctypes.data
        view = ArrayView(str(self.dtype), self.shape, None, True, 2, self.place, address)
        code = {"i": "int", "u": "uint"}.get(self.dtype.kind, "float")
        return make_capsule(view, self, code, 8 * self.dtype.itemsize)


def fake_cupy(driver: FakeDriver) -> types.ModuleType:
    """A module in place of cupy."""
    cupy, cuda = types.ModuleType("cupy"), types.ModuleType("cupy.cuda")

    def on_device(values: Any) -> FakeArray:
        values = values.values if isinstance(values, FakeArray) else values
        return FakeArray(np.array(values), driver.current.device)

    @contextmanager
    def device(number: int) -> Iterator[None]:
        before, driver.current.device = driver.current.device, number
        yield
        driver.current.device = before

    @contextmanager
    def stream(handle: int, number: int = -1) -> Iterator[None]:
        before, driver.current.stream = driver.current.stream, handle
        yield
        driver.current.stream = before

    def alloc(size: int) -> Any:
        driver.calls.append(("alloc", size, driver.current.device, driver.current.stream))
        room = np.empty(size, np.uint8)
        return types.SimpleNamespace(ptr=room.ctypes.data, room=room)

    def get_current_stream(number: int = -1) -> Any:
        return types.SimpleNamespace(ptr=driver.current.stream)

    def empty(shape: Any, dtype: Any) -> FakeArray:
        if np.prod(shape) > 1 << 40:
            raise MemoryError("out of memory allocating")
        return on_device(np.empty(shape, dtype))

    def asnumpy(array: FakeArray) -> np.ndarray[Any, Any]:
        assert isinstance(array, FakeArray)
        return array.values.copy()

    cuda.__dict__.update(Device=device, ExternalStream=stream, alloc=alloc)
    cuda.__dict__.update(get_current_stream=get_current_stream)
    cupy.__dict__.update(cuda=cuda, empty=empty, asarray=on_device, asnumpy=asnumpy)
    cupy.__dict__.update(from_dlpack=lambda array: array)
    return cupy


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """Two devices, cupy, and a compiler that compiles nothing."""
    fake = FakeDriver()
    compiled = nvrtc.CompiledKernels("", "sm_90", ".version 8.0", b"\x7fELF", "", {})
    monkeypatch.setattr(cuda_driver, "_driver", lambda: fake)
    monkeypatch.setattr(nvrtc, "compile", lambda source, arch: compiled)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy(fake))
    cuda_driver.device_count.cache_clear()
    cuda_driver._context.cache_clear()
    yield fake
    cuda_driver.device_count.cache_clear()
    cuda_driver._context.cache_clear()
