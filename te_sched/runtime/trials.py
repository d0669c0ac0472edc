"""Trials of programs: random arguments, and whether the results of two programs agree.

Must not know the programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from te_sched.ir import dtypes
from te_sched.runtime.device import Device
from te_sched.runtime.ndarray import NDArray, empty

_BELOW = 8  # random integers, which may be indices, are below
# The largest difference, in terms of the largest element, that other orders of sums may make.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}


def random_arrays(
    shapes: Iterable[tuple[Sequence[int], str]], device: Device, seed: int = 0
) -> list[NDArray]:
    """An array for each shape and dtype: floats from -1 to 1, integers from 0 to 7.

    >>> [array.shape for array in random_arrays([((2, 3), "float32")], te_sched.cpu(0))]
    [(2, 3)]
    """
    numbers = np.random.default_rng(seed)
    found = []
    for shape, dtype in shapes:
        values: np.ndarray[Any, Any] = numbers.uniform(-1.0, 1.0, tuple(shape))
        if not dtypes.is_float(dtype):
            values = numbers.integers(0, 2 if dtype == "bool" else _BELOW, tuple(shape))
        found.append(empty(tuple(shape), dtype, device).copyfrom(values))
    return found


def agree(given: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Whether results are the same, but for what another order of sums may change in floats.

    >>> agree(np.array([1.0, 1e-7]), np.array([1.0 + 1e-12, 0.0]))
    False
    """
    tolerance = _TOLERANCE.get(str(wanted.dtype))
    if tolerance is None:
        return bool(np.array_equal(given, wanted))
    a, b = given.astype("float64"), wanted.astype("float64")
    known = np.isfinite(b)
    if not np.array_equal(a[~known], b[~known], equal_nan=True):
        return False
    most = np.abs(b[known]).max(initial=0.0)
    return bool(np.all(np.abs(a[known] - b[known]) <= tolerance * most + 1e-12))
