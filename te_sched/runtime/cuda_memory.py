"""Memory of real CUDA devices: arrays of cupy, from its pool.

All operations use the stream of kernel launches, so that they run in program
order. Must not know NDArray; what it needs of cupy is loaded at first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from te_sched.errors import CallError
from te_sched.runtime import cuda_driver, cuda_streams

_ROOM = "free arrays, or cupy's pool with cupy.get_default_memory_pool().free_all_blocks()"


def cupy() -> Any:
    """The library that owns the memory."""
    try:
        return importlib.import_module("cupy")
    except ImportError:
        raise CallError(
            "cannot use memory of a CUDA device: cupy is not installed",
            "",
            "install it: pip install cupy-cuda12x; or emulate the device with TE_SCHED_EMULATE=1",
        ) from None


@contextmanager
def working_on(device_id: int, what: str) -> Iterator[Any]:
    """cupy on a device and its current stream; its errors become errors of te_sched."""
    library = cupy()
    with ExitStack() as scope:
        try:
            scope.enter_context(library.cuda.Device(device_id))
            chosen = cuda_streams.chosen_stream(device_id)
            if chosen is not None:
                scope.enter_context(library.cuda.ExternalStream(chosen, device_id))
            yield library
        except MemoryError as error:
            free, total = cuda_driver.memory(device_id)
            why = f"{free} of {total} bytes of cuda({device_id}) are free, and cupy says: {error}"
            raise CallError(what, why, _ROOM) from None
        except RuntimeError as error:
            raise CallError(what, f"cupy says: {error}", "see cupy's documentation") from None


def empty(shape: tuple[int, ...], dtype: str, device_id: int) -> Any:
    """An array of cupy whose elements are undefined."""
    with working_on(device_id, f"make an array of shape {shape} on cuda({device_id})") as library:
        return library.empty(shape, dtype)


def fill(target: Any, values: Any, device_id: int) -> None:
    """Copy numbers, numpy's or those of another device, into an array of the same shape."""
    with working_on(device_id, f"copy {values.nbytes} bytes to cuda({device_id})") as library:
        if isinstance(values, np.ndarray) and target.flags.c_contiguous:
            target.set(np.ascontiguousarray(values, target.dtype))
        else:
            target[...] = library.asarray(values)


def to_host(array: Any, device_id: int) -> np.ndarray[Any, Any]:
    """A copy in the processor's memory, after pending operations on the array."""
    with working_on(device_id, f"copy {array.nbytes} bytes from cuda({device_id})") as library:
        return np.asarray(library.asnumpy(array))


def take(size: int, device_id: int) -> Any:
    """A number of bytes at the address `ptr`, freed with the object."""
    with working_on(device_id, f"take {size} bytes of cuda({device_id})") as library:
        return library.cuda.alloc(size)
