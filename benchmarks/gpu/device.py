"""A real GPU, if there is one: arrays of cupy, times by CUDA events, kernels from CUDA text.

Must not know the measured programs. cupy is not needed before `find` is called.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import te_sched

_SAMPLES, _SAMPLE_MS, _BUDGET_MS = 9, 20.0, 3000.0
_MOST_CALLS = 100


def find() -> Gpu | None:
    """The first GPU, or None if there is no GPU or no cupy."""
    if not te_sched.cuda(0).exist or te_sched.cuda(0).emulated:
        return None
    if importlib.util.find_spec("cupy") is None:
        return None
    os.environ["CUPY_TF32"] = "0"  # products of float32 in float32
    return Gpu(importlib.import_module("cupy"))


class Gpu:
    """One GPU."""

    def __init__(self, cupy: Any) -> None:
        self.cupy = cupy

    def facts(self) -> dict[str, Any]:
        """Its name and properties, and the versions of driver and runtime."""
        device = te_sched.cuda(0)
        runtime = self.cupy.cuda.runtime
        return {
            "gpu": str(device.device_name),
            "compute_version": str(device.compute_version),
            "multiprocessors": device.multi_processor_count,
            "cuda_driver": runtime.driverGetVersion(),
            "cuda_runtime": runtime.runtimeGetVersion(),
            "cupy": self.cupy.__version__,
        }

    def arrays(self, values: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        """Copies on the GPU."""
        return [self.cupy.asarray(value) for value in values]

    def to_numpy(self, array: Any) -> np.ndarray[Any, Any]:
        """A copy in the processor's memory."""
        return np.asarray(self.cupy.asnumpy(array))

    def bound(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Callable[[], Any]:
        """The call of a te_sched function with arrays, on the current stream.

        Passing arrays of cupy makes other streams wait for the current one, which a graph cannot
        record; here all work is on one stream, so waiting is not needed.
        """
        given = [_Shared(array) for array in arrays]
        return lambda: function(*given)

    def milliseconds(self, call: Callable[[], Any]) -> float:
        """The median time of a call that starts work on cupy's current stream.

        The calls of a sample are recorded as one graph if possible, so that the overhead of
        launching them on the CPU is excluded.
        """
        stream = self.cupy.cuda.Stream(non_blocking=True)
        self.cupy.cuda.Device().synchronize()  # other streams may still write
        with stream:
            call()
            stream.synchronize()
            once = self._elapsed(stream, call)
            if once > _BUDGET_MS:
                return once
            count = max(1, min(_MOST_CALLS, int(_SAMPLE_MS / max(once, 1e-3))))
            repeated = self._recorded(call, count)
            repeated()
            times = [self._elapsed(stream, repeated)]
            samples = max(2, min(_SAMPLES, int(_BUDGET_MS / max(times[0], 1e-3))))
            times += [self._elapsed(stream, repeated) for _ in range(samples - 1)]
            return statistics.median(times) / count

    def _elapsed(self, stream: Any, call: Callable[[], Any]) -> float:
        begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        begin.record(stream)
        call()
        end.record(stream)
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(begin, end))

    def _recorded(self, call: Callable[[], Any], count: int) -> Callable[[], Any]:
        """`count` calls, as a graph if they can be recorded as one."""
        recorder = self.cupy.cuda.Stream(non_blocking=True)
        try:
            with recorder:
                recorder.begin_capture()
                try:
                    for _ in range(count):
                        call()
                finally:
                    graph = recorder.end_capture()
        except Exception:  # calls that cannot be recorded
            return lambda: [call() for _ in range(count)]
        return lambda: graph.launch(self.cupy.cuda.get_current_stream())

    def product_ms(self, a: Any, b: Any) -> float:
        """The time of cuBLAS, with the result in the type of the operands."""
        out = self.cupy.empty((a.shape[0], b.shape[1]), a.dtype)
        return self.milliseconds(lambda: self.cupy.matmul(a, b, out=out))

    def copy_ms(self, array: Any) -> float:
        """The time of a copy within the device."""
        target = self.cupy.empty_like(array)
        size = array.nbytes

        def copy() -> None:
            target.data.copy_from_device_async(array.data, size, self._stream())

        return self.milliseconds(copy)

    def _stream(self) -> Any:
        return self.cupy.cuda.get_current_stream()

    def kernel(self, source: str, name: str) -> Any:
        """A kernel from CUDA text: kernel(grid, block, arguments)."""
        return self.cupy.RawModule(code=source, options=("--std=c++17",)).get_function(name)


class _Shared:
    """An array that is passed without waiting for other streams."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **_: Any) -> Any:
        return self.array.__dlpack__(stream=-1)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()
