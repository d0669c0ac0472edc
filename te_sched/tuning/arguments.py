"""The arrays that programs are run with: random ones, the same for all candidates of a task, or
those of the user. Must not know the programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from te_sched import nd
from te_sched.ir import dtypes
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import NDArray, empty

_BELOW = 8  # random integers, which may be indices, are below
Shapes = Sequence[tuple[Sequence[int], str]]  # and dtypes


def random_arrays(
    shapes: Iterable[tuple[Sequence[int], str]], device: Device, seed: int = 0
) -> list[NDArray]:
    """An array for each shape and dtype: floats from -1 to 1, integers from 0 to 7.

    >>> [array.shape for array in random_arrays([((2, 3), "float32")], te_sched.cpu(0))]
    [(2, 3)]
    """
    numbers = np.random.default_rng(seed)
    arrays = []
    for shape, dtype in shapes:
        values: np.ndarray[Any, Any] = numbers.uniform(-1.0, 1.0, tuple(shape))
        if not dtypes.is_float(dtype):
            values = numbers.integers(0, 2 if dtype == "bool" else _BELOW, tuple(shape))
        arrays.append(empty(tuple(shape), dtype, device).copyfrom(values))
    return arrays


def arrays_of(values: Sequence[Any], device: Device) -> list[NDArray]:
    """Values of the user as arrays of a device.

    >>> arrays_of([[1.0, 2.0]], te_sched.cpu(0))[0].shape
    (2,)
    """
    return [nd.array(np.asarray(value), device) for value in values]
