"""Streams of real CUDA devices, and times between two points of one.

Work is put onto the stream that this thread has set for the device (`Device.set_raw_stream`), else
onto cupy's current one, which without cupy is the default stream. Must not know kernels.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import Any

from te_sched.errors import CallError, kind_of
from te_sched.runtime import cuda_driver
from te_sched.runtime.cuda_driver import answer, check, loaded, using

_NON_BLOCKING = 1


class _Set(threading.local):
    """The streams that this thread has set, by device."""

    def __init__(self) -> None:
        self.streams: dict[int, int] = {}


_set = _Set()


def current_stream(device_id: int) -> int:
    """The handle of the stream that work on a device is put onto."""
    stream = _set.streams.get(device_id)
    if stream is not None:
        return stream
    cupy = sys.modules.get("cupy")  # who never imported it has set no stream
    return int(cupy.cuda.get_current_stream(device_id).ptr) if cupy is not None else 0


def chosen_stream(device_id: int) -> int | None:
    """The stream that this thread has set; None for the current stream of cupy."""
    return _set.streams.get(device_id)


def choose_stream(device_id: int, stream: Any) -> None:
    """Put this thread's work on a device onto a stream; None follows cupy again."""
    if stream is None:
        _set.streams.pop(device_id, None)
        return
    _set.streams[device_id] = handle_of(stream)


def handle_of(stream: Any) -> int:
    """The handle of a stream: of an int, of cupy's (`ptr`) or of torch's (`cuda_stream`)."""
    handle = getattr(stream, "ptr", getattr(stream, "cuda_stream", stream))
    if isinstance(handle, bool) or not isinstance(handle, int):
        raise CallError(
            f"cannot use {kind_of(stream)} as a CUDA stream: it is not a handle of one",
            "",
            "pass the result of create_raw_stream, a stream of cupy or torch, or its handle",
        )
    return handle


def create_stream(device_id: int) -> int:
    """A new stream, which does not wait for the default one; gives its handle."""
    what = f"make a stream on cuda({device_id})"
    with using(device_id):
        return answer(what, "cuStreamCreate", _NON_BLOCKING, kind=ctypes.c_void_p)


def free_stream(device_id: int, stream: Any) -> None:
    """Give a stream of `create_stream` back when its work is done; it is not used any more."""
    handle = handle_of(stream)
    if _set.streams.get(device_id) == handle:
        choose_stream(device_id, None)
    with using(device_id):
        check(loaded().cuStreamDestroy_v2(handle), f"free stream {handle:#x} of cuda({device_id})")


def synchronize(device_id: int, stream: Any = None) -> None:
    """Wait for a stream, or for all work on a device."""
    if stream is None:
        cuda_driver.synchronize(device_id)
        return
    handle = handle_of(stream)
    with using(device_id):
        code = loaded().cuStreamSynchronize(handle)
    check(code, f"wait for stream {handle:#x} of cuda({device_id})")


def seconds_of(device_id: int, run: Callable[[], object]) -> float:
    """The device time of the work that `run` puts onto the current stream, by CUDA events."""
    what, stream = f"measure time on cuda({device_id})", current_stream(device_id)
    driver, elapsed = loaded(), ctypes.c_float()
    begin, end = ctypes.c_void_p(), ctypes.c_void_p()
    with using(device_id):
        try:
            for event in (begin, end):
                check(driver.cuEventCreate(ctypes.byref(event), 0), what)
            check(driver.cuEventRecord(begin, stream), what)
            run()
            check(driver.cuEventRecord(end, stream), what)
            check(driver.cuEventSynchronize(end), what)
            check(driver.cuEventElapsedTime(ctypes.byref(elapsed), begin, end), what)
        finally:
            for event in (begin, end):
                if event.value:
                    driver.cuEventDestroy_v2(event)
    return elapsed.value / 1e3
