"""How long programs take to run, within a budget, and whether they still compute the same.

Inputs are random numbers, the same ones each time. Must not know schedules.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from te_sched.errors import TeSchedError
from te_sched.ir import dtypes
from te_sched.ir.expr import IntImm
from te_sched.runtime import Device, NDArray
from te_sched.runtime import ndarray as nd
from te_sched.story.model import Timing
from te_sched.te.tensor import Tensor

STEP_SECONDS = 0.2  # of measuring one program
ALL_SECONDS = 10.0
_LEAST_RUNS, _MOST_RUNS = 3, 200
_READING = 1e-3  # seconds that one reading of the clock takes at least
_SPEED = 1e9  # operations and accesses of memory in a second that a program is expected to do
_MOST_BYTES = 1 << 30  # of all arrays together
_NEAR = {2: 2e-2, 4: 1e-3, 8: 1e-6}  # how much floats may differ, by their bytes

Values = list[np.ndarray[Any, Any]]


class Clock:
    """Times modules whose functions take the same arguments."""

    def __init__(
        self,
        args: Sequence[Any],
        step_seconds: float = STEP_SECONDS,
        all_seconds: float = ALL_SECONDS,
    ) -> None:
        self._args, self._step, self._left = args, step_seconds, all_seconds
        self._first: float | None = None
        self._results: Values = []
        self.different: tuple[str, ...] = ()  # outputs of the last one that are not the first one's
        self._why_not = why_no_arrays(args)

    def measure(self, module: Any, device: Device, work: float | None) -> Timing:
        """The time of a module's entry function, given its numbers of operations and accesses."""
        self.different = ()
        if self._why_not:
            return Timing(note=f"Not measured: {self._why_not}.")
        if self._left <= 0:
            return Timing(note="Not measured: the time for measuring is used up.")
        if work is not None and work / _SPEED > self._left:
            why = f"{work:.1e} operations and accesses may take longer than the {self._left:.0f} s"
            return Timing(note=f"Not measured: {why} that are left for measuring.")
        start = time.perf_counter()
        try:
            return self._measured(module, device)
        except TeSchedError as error:
            return Timing(note=f"Not measured: {error.summary}.")
        except Exception as error:  # of functions of the user that the program calls
            return Timing(note=f"Not measured: {type(error).__name__}: {error}")
        finally:
            self._left -= time.perf_counter() - start

    def _measured(self, module: Any, device: Device) -> Timing:
        values = arrays(self._args, device)
        run = module.entry_func.measure
        once = run(device, 1, *values)
        self._compare([value.numpy() for value in values])
        seconds = [once]
        if once <= self._step:
            number = max(1, round(_READING / max(once, 1e-9)))
            times = int(self._step / max(once * number, 1e-9))
            repeat = min(max(times, _LEAST_RUNS), _MOST_RUNS)
            seconds = [run(device, number, *values) / number for _ in range(repeat)]
        middle = statistics.median(seconds)
        self._first = middle if self._first is None else self._first
        extremes = min(seconds) * 1e3, max(seconds) * 1e3
        against_first = self._first / max(middle, 1e-12)
        return Timing(middle * 1e3, *extremes, len(seconds), against_first)

    def _compare(self, values: Values) -> None:
        """See whether a run gave what the first program computed."""
        if not self._results:
            self._results = values
        triples = zip(self._args, values, self._results, strict=True)
        self.different = tuple(arg.name for arg, new, old in triples if not _agree(new, old))


def arrays(args: Sequence[Tensor], device: Device) -> list[NDArray]:
    """Random numbers of the shapes and types of some arguments."""
    generator = np.random.default_rng(0)
    return [nd.array(_random(arg, generator), device, arg.dtype) for arg in args]


def why_no_arrays(args: Sequence[Any]) -> str:
    """Why there are no random arrays for some arguments, or ""."""
    total = 0
    for arg in args:
        if not isinstance(arg, Tensor):
            return f"no value of {arg.name} is known"
        size = dtypes.storage_bytes(arg.dtype)
        for extent in arg.shape:
            if not isinstance(extent, IntImm):
                return f"the shape of {arg.name} is symbolic"
            size *= extent.value
        total += size
        if dtypes.lanes(arg.dtype) > 1:
            return f"{arg.name} is of vectors"
    return "" if total <= _MOST_BYTES else f"the arrays take {total >> 20} MiB"


def _random(arg: Tensor, generator: np.random.Generator) -> np.ndarray[Any, Any]:
    shape = tuple(extent.value for extent in arg.shape if isinstance(extent, IntImm))
    if dtypes.is_float(arg.dtype):
        return generator.uniform(0.0, 1.0, shape).astype(np.float32)
    return generator.integers(0, 2, shape)


def _agree(new: np.ndarray[Any, Any], old: np.ndarray[Any, Any]) -> bool:
    if new.dtype.kind != "f":
        return bool(np.array_equal(new, old))
    near = _NEAR[new.dtype.itemsize]
    scale = float(np.max(np.abs(old), initial=0.0))
    return bool(np.allclose(new, old, rtol=near, atol=near * scale, equal_nan=True))
