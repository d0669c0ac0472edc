"""Results that candidates must have: kept in a file, and compared. Must not know the programs.

Floats may differ by what another order of sums changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from te_sched.runtime.device import Device

# The largest difference, in terms of the largest element, that other orders of sums may make.
_TOLERANCE = {"float64": 1e-9, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}
Results = Sequence[np.ndarray[Any, Any]]
_latest: dict[str, Results] = {}  # the results that were read last, by the path of their file


class WrongResult(NamedTuple):
    """Where results differ: the number of the argument, and of how many elements how many."""

    argument: int
    elements: int
    size: int


def run(module: Any, device: Device, arguments: Sequence[Any]) -> tuple[Results, float]:
    """The arguments after a call of the entry function of a module, and its seconds."""
    began = time.perf_counter()
    module[module.entry_name](*arguments)
    device.sync()
    seconds = time.perf_counter() - began
    return [argument.numpy().copy() for argument in arguments], seconds


def keep(results: Results, path: str) -> None:
    """Write results to a file, which appears completely or not at all."""
    unfinished = f"{path}.{os.getpid()}.npz"
    np.savez(unfinished, *results)
    os.replace(unfinished, path)
    _latest.pop(path, None)


def kept(path: str) -> Results | None:
    """The results in a file; None if there is no file."""
    if not os.path.exists(path):
        return None
    if path not in _latest:
        _latest.clear()
        with open(path, "rb") as stream, np.load(stream) as arrays:
            _latest[path] = [arrays[name] for name in arrays.files]
    return _latest[path]


def difference(results: Results, expected: Results) -> WrongResult | None:
    """The first argument in which results differ; None if they agree, or have other shapes, which a
    configuration may choose.
    """
    if [array.shape for array in results] != [array.shape for array in expected]:
        return None
    for number, (array, wanted) in enumerate(zip(results, expected, strict=True)):
        wanted = wanted.view(array.dtype)  # files know no bfloat16
        if not agree(array, wanted):
            return WrongResult(number, int(np.sum(~np.isclose(array, wanted))), wanted.size)
    return None


def agree(results: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> bool:
    """Whether results are the same, but for what another order of sums may change in floats.

    >>> agree(np.array([1.0, 1e-7]), np.array([1.0 + 1e-12, 0.0]))
    False
    """
    tolerance = _TOLERANCE.get(str(wanted.dtype))
    if tolerance is None:
        return bool(np.array_equal(results, wanted))
    a, b = results.astype("float64"), wanted.astype("float64")
    is_finite = np.isfinite(b)
    if not np.array_equal(a[~is_finite], b[~is_finite], equal_nan=True):
        return False
    most = np.abs(b[is_finite]).max(initial=0.0)
    return bool(np.all(np.abs(a[is_finite] - b[is_finite]) <= tolerance * most + 1e-12))
