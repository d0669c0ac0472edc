"""Run times of programs, within a budget, and comparison of their results.

Inputs are random numbers, the same ones each time. Must not know schedules.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from te_sched.errors import TeSchedError
from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer, IntImm
from te_sched.runtime import Device, NDArray
from te_sched.runtime import ndarray as nd
from te_sched.story.model import Timing
from te_sched.te.tensor import Tensor

STEP_SECONDS = 0.2  # of measuring one program
BUDGET = 10.0  # seconds of measuring all programs
_LEAST_RUNS, _MOST_RUNS = 3, 200
_SHARE = 4  # share of the remaining budget for the fewest runs of one program
_READING = 1e-3  # least seconds of one reading of the clock
_SPEED = 1e9  # expected operations and accesses per second
_FASTEST = 1e10  # of the last program, which should have a time, and is usually fast
_MOST_BYTES = 1 << 30  # of all arrays together
_NEAR = {2: 2e-2, 4: 1e-3, 8: 1e-6}  # tolerance of floats, by their bytes

Values = list[np.ndarray[Any, Any]]


class Run(NamedTuple):
    """A module to time, on a device, with its number of operations and accesses, and the name of
    the function, by default its entry.
    """

    module: Any
    device: Device
    work: float | None
    name: str = ""

    @property
    def function(self) -> Any:
        """The function to time."""
        is_named = self.name in self.module.function_names
        return self.module[self.name] if is_named else self.module.entry_func


class Timed(NamedTuple):
    """A time, and the outputs that differ from those of the first module."""

    timing: Timing
    different: tuple[str, ...] = ()


def measure_all(
    args: Sequence[Any],
    runs: Mapping[int, Run],
    budget: float = BUDGET,
    step_seconds: float = STEP_SECONDS,
) -> dict[int, Timed]:
    """The times of modules whose functions take the same arguments, by the numbers of their steps.

    The last one is timed first, so that it always has a time.
    """
    if why := why_no_arrays(args):
        return dict.fromkeys(runs, Timed(Timing(note=f"Not measured: {why}.")))
    clock = _Clock(args, budget, step_seconds)
    order = sorted(runs)
    found = {number: clock.time(runs[number], _FASTEST) for number in order[-1:]}
    found |= {number: clock.time(runs[number], _SPEED) for number in order[:-1]}
    results = next((values for number in order if (values := found[number][1])), [])
    first = next((found[number][0] for number in order if found[number][0].is_measured), None)
    return {
        number: Timed(_against(found[number][0], first), _differences(args, values, results))
        for number in order
        for values in [found[number][1]]
    }


def _against(timing: Timing, first: Timing | None) -> Timing:
    if first is None or not timing.is_measured:
        return timing
    return replace(timing, against_first=first.median / max(timing.median, 1e-9))


def _differences(args: Sequence[Any], values: Values, expected: Values) -> tuple[str, ...]:
    triples = zip(args, values, expected, strict=True) if values else ()
    return tuple(arg.name for arg, new, old in triples if not _agree(new, old))


class _Clock:
    """Times programs within a budget of seconds."""

    def __init__(self, args: Sequence[Any], budget: float, step_seconds: float) -> None:
        self._args, self._budget, self._left = args, budget, budget
        self._step = step_seconds

    def time(self, run: Run, speed: float) -> tuple[Timing, Values]:
        """The time of a program, and the values of its arguments after a run, if there was one.

        It is run if its estimated time fits the budget.
        """
        if run.work is not None and run.work / speed > self._left:
            return self._estimate(run.work), []
        if self._left <= 0:
            return Timing(note=f"Not measured: the budget of {self._budget:g} s is used up."), []
        start = time.perf_counter()
        try:
            return self._measure(run)
        except TeSchedError as error:
            return Timing(note=f"Not measured: {error.summary}."), []
        except Exception as error:  # of external functions that the program calls
            return Timing(note=f"Not measured: {type(error).__name__}: {error}"), []
        finally:
            self._left -= time.perf_counter() - start

    def _measure(self, run: Run) -> tuple[Timing, Values]:
        values = arrays(self._args, run.device)
        call = run.function.measure
        once = call(run.device, 1, *values)
        results = [value.numpy() for value in values]
        number = max(1, round(_READING / max(once, 1e-9)))
        repeat = int(self._step / max(once * number, 1e-9))
        repeat = min(max(repeat, _LEAST_RUNS), _MOST_RUNS)
        seconds = [once]
        if repeat * number * once <= max(self._step, self._left / _SHARE):
            seconds = [call(run.device, number, *values) / number for _ in range(repeat)]
        low, middle, high = (
            1e3 * one for one in (min(seconds), statistics.median(seconds), max(seconds))
        )
        note = "" if len(seconds) > 1 else "a single run"
        return Timing(middle, low, high, len(seconds), note=note), results

    def _estimate(self, work: float) -> Timing:
        note = (
            f"estimated from {work:.1e} operations and accesses at {_SPEED:.0e} a second, which "
            f"is more than is left of the budget of {self._budget:g} s"
        )
        return Timing(work / _SPEED * 1e3, note=note)


def arrays(args: Sequence[Tensor | Buffer], device: Device) -> list[NDArray]:
    """Arrays of random numbers with the shapes and types of arguments."""
    generator = np.random.default_rng(0)
    return [nd.array(_random(arg, generator), device, arg.dtype) for arg in args]


def why_no_arrays(args: Sequence[Any]) -> str:
    """The reason why there are no random arrays for arguments, or ""."""
    total = 0
    for arg in args:
        if not isinstance(arg, Tensor | Buffer):
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


def _random(arg: Tensor | Buffer, generator: np.random.Generator) -> np.ndarray[Any, Any]:
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
