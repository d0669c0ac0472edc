"""Run times of programs, within a budget, and comparison of their results.

All programs run once, the last one first, before any is repeated; a run that would exceed its limit
is stopped. So each time was measured, or there is none. Inputs are random numbers, the same ones
each time. Must not know schedules.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from te_sched.errors import TeSchedError
from te_sched.ir import dtypes
from te_sched.ir.expr import Buffer, IntImm
from te_sched.progress import Count
from te_sched.runtime import Device, NDArray
from te_sched.runtime import ndarray as nd
from te_sched.runtime.interrupts import TimeLimitError, time_limit
from te_sched.story.model import Timing
from te_sched.te.tensor import Tensor
from te_sched.tuning.reference import agree

STEP_SECONDS = 0.2  # of measuring one program
BUDGET = 10.0  # seconds of measuring all programs
_QUICK = 4  # share of the budget for the first, short attempts at all programs together
_MORE = 6  # times the budget, which notes of programs without a time propose
_LEAST_RUNS, _MOST_RUNS = 3, 200
_ROUNDS = 3  # of the repetitions: in each, all programs run
_READING = 2e-3  # seconds of one reading of the clock, in which calls follow each other
_MOST_BYTES = 1 << 30  # of all arrays together

Values = list[np.ndarray[Any, Any]]


class Run(NamedTuple):
    """A module to time, on a device, and the name of the function, by default its entry."""

    module: Any
    device: Device
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

    Each is run once, the last one first: at first those that are fast, then the others while the
    budget lasts. The rest of the budget is for repetitions, the fastest first.
    """
    if why := why_no_arrays(args):
        return dict.fromkeys(runs, Timed(Timing(note=f"Not measured: {why}.")))
    clock = _Clock(args, runs, budget, step_seconds)
    clock.run_once()
    clock.repeat()
    return {number: clock.timed(number) for number in sorted(runs)}


class _Clock:
    """Times programs within a budget of seconds."""

    def __init__(
        self, args: Sequence[Any], runs: Mapping[int, Run], budget: float, step_seconds: float
    ) -> None:
        self._runs, self._budget, self._left = runs, budget, budget
        self._step = step_seconds
        self._inputs = _Inputs(args)
        self._results = _Results(args)
        self._readings: dict[int, list[float]] = {}  # seconds; the first is of the first run
        self._stopped: dict[int, float] = {}  # seconds that programs without a time ran
        self._failures: dict[int, str] = {}

    def run_once(self) -> None:
        """Run each program once, if the budget suffices."""
        order = sorted(self._runs, reverse=True)
        quick = self._budget / (_QUICK * max(1, len(order)))
        with Count("measuring", len(order)) as count:
            for number in order:
                self._first_run(number, min(quick, self._left))
                count.add(number not in self._stopped)
            kept = self._seconds_to_repeat()
            for number in [number for number in order if number in self._stopped]:
                self._first_run(number, self._left - kept)
                count.add()
        self._left = max(self._left, kept)  # programs stop somewhat after their limits

    def _seconds_to_repeat(self) -> float:
        """Seconds of what is left that are kept to repeat the programs that have run."""
        once = [readings[0] for readings in self._readings.values()]
        wanted = sum(max(self._step, _LEAST_RUNS * seconds) for seconds in once)
        return min(wanted, self._left / 2)

    def _first_run(self, number: int, limit: float) -> None:
        if limit <= 0:
            self._stopped.setdefault(number, 0.0)
            return
        try:
            values = self._inputs.on(self._runs[number].device)
            seconds = self._seconds(number, 1, values, limit)
        except TimeLimitError:
            self._stopped[number] = max(limit, self._stopped.get(number, 0.0))
        except TeSchedError as error:
            self._failures[number] = f"{error.summary}."
        except Exception as error:  # of external functions that the program calls
            self._failures[number] = f"{type(error).__name__}: {error}"
        else:
            self._readings[number] = [seconds]
            self._results.add(number, [value.numpy() for value in values])
            self._stopped.pop(number, None)

    def _seconds(self, number: int, count: int, values: Sequence[NDArray], limit: float) -> float:
        """The seconds of a call, the mean of `count`."""
        run = self._runs[number]
        start = time.perf_counter()
        try:
            with time_limit(limit):
                seconds: float = run.function.measure(run.device, count, *values)
        finally:
            self._left -= time.perf_counter() - start
        return seconds / count

    def repeat(self) -> None:
        """Run programs again in turns, as far as the budget allows, the fastest ones first."""
        once = {number: readings[0] for number, readings in self._readings.items()}
        step = min(self._step, self._left / max(1, len(once)))
        left, chosen = self._left, list[int]()
        for number in sorted(once, key=once.__getitem__):
            left -= max(step, _LEAST_RUNS * once[number])
            if left >= 0:
                chosen.append(number)
        for _ in range(_ROUNDS):
            for number in chosen:
                self._read(number, step / _ROUNDS)

    def _read(self, number: int, seconds: float) -> None:
        """Read the clock for some seconds, at least once, unless the budget is used up."""
        count = max(1, round(_READING / max(min(self._readings[number]), 1e-9)))
        values = self._inputs.on(self._runs[number].device)
        end = time.perf_counter() + seconds
        for _ in range(_MOST_RUNS // _ROUNDS):
            if self._left <= 0:
                return
            try:
                reading = self._seconds(number, count, values, self._left)
            except Exception:  # which the first run did not raise
                return
            self._readings[number].append(reading)
            if time.perf_counter() >= end:
                return

    def timed(self, number: int) -> Timed:
        """The time of a program, and the outputs that differ."""
        if number not in self._readings:
            failure = self._failures.get(number)
            note = self._why_not(number) if failure is None else f"Not measured: {failure}"
            return Timed(Timing(note=note))
        readings = [1e3 * seconds for seconds in self._readings[number]]
        readings = readings[1:] or readings
        before = [other for other in sorted(self._readings) if other < number]
        first, previous = (before[0], before[-1]) if before else (number, None)
        timing = Timing(
            min(readings),
            min(readings),
            max(readings),
            len(readings),
            self._ratio(first, number),
            "a single run" if len(readings) == 1 else "",
            first=first,
            against_previous=None if previous is None else self._ratio(previous, number),
            previous=previous,
            median=statistics.median(readings),
        )
        return Timed(timing, self._results.different(number, first))

    def _ratio(self, other: int, number: int) -> float:
        """How many times as fast a program is as another one."""
        return self._shortest(other) / max(self._shortest(number), 1e-12)

    def _shortest(self, number: int) -> float:
        readings = self._readings[number]
        return min(readings[1:] or readings)

    def _why_not(self, number: int) -> str:
        ran = self._stopped[number]
        said = f"it runs for more than {ran:.3g} s" if ran else "it did not run"
        return (
            f"Not measured (`--budget {_MORE * self._budget:g}`): {said}, and the budget of "
            f"{self._budget:g} s is used up."
        )


class _Inputs:
    """The arrays that all programs take, with the same random numbers before each run."""

    def __init__(self, args: Sequence[Any]) -> None:
        self._args = args
        self._arrays: dict[Device, tuple[list[NDArray], list[NDArray]]] = {}

    def on(self, device: Device) -> list[NDArray]:
        """The arrays on a device, with their numbers restored."""
        if device not in self._arrays:
            self._arrays[device] = arrays(self._args, device), arrays(self._args, device)
        numbers, values = self._arrays[device]
        for source, target in zip(numbers, values, strict=True):
            source.copyto(target)
        return values


class _Results:
    """The values of the arguments after the first runs of programs; equal ones are kept once."""

    def __init__(self, args: Sequence[Any]) -> None:
        self._names = [arg.name for arg in args]
        self._distinct: list[Values] = [[] for _ in args]
        self._kinds: dict[int, list[int]] = {}  # the places of a program's values among these

    def add(self, number: int, values: Values) -> None:
        """Record the values of a program."""
        self._kinds[number] = [
            self._kind(distinct, value)
            for distinct, value in zip(self._distinct, values, strict=True)
        ]

    def _kind(self, distinct: Values, value: np.ndarray[Any, Any]) -> int:
        for kind, other in enumerate(distinct):
            if agree(value, other):
                return kind
        distinct.append(value)
        return len(distinct) - 1

    def different(self, number: int, first: int) -> tuple[str, ...]:
        """The names of the arguments that have other values after a program than after another."""
        rows = zip(self._names, self._kinds[number], self._kinds[first], strict=True)
        return tuple(name for name, kind, expected in rows if kind != expected)


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
