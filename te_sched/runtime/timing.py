"""Timing compiled functions: the timed loop is native, and the clock is the device's.

Must not know how functions are compiled.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from te_sched.errors import CallError
from te_sched.progress import progress
from te_sched.shown import Shown

_UNINTERRUPTED = 0.5  # seconds of native code after which Ctrl-C may take effect


@dataclass(frozen=True, slots=True)
class ProfileResult(Shown):
    """Seconds per call, one for each repetition."""

    results: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean of the repetitions."""
        return statistics.fmean(self.results)

    @property
    def median(self) -> float:
        """Median of the repetitions."""
        return statistics.median(self.results)

    @property
    def min(self) -> float:
        """The fastest repetition."""
        return min(self.results)

    @property
    def max(self) -> float:
        """The slowest repetition."""
        return max(self.results)

    @property
    def std(self) -> float:
        """Standard deviation of the repetitions."""
        return statistics.pstdev(self.results)

    def records(self) -> list[dict[str, Any]]:
        """One record per repetition, for pandas.DataFrame: "repeat" and "seconds" of a call."""
        return [
            {"repeat": repeat, "seconds": seconds} for repeat, seconds in enumerate(self.results)
        ]

    def __str__(self) -> str:
        head = "  ".join(
            f"{name:>10}"
            for name in ("mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)")
        )
        values = (self.mean, self.median, self.max, self.min, self.std)
        return f"{head}\n" + "  ".join(f"{value * 1e3:>10.4f}" for value in values)


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Times a function; call it with the function's arguments."""

    measure: Callable[..., float]  # measure(count, *arguments): seconds of `count` calls
    number: int
    repeat: int
    min_repeat_ms: float
    cooldown_interval_ms: float
    repeats_to_cooldown: int

    def __post_init__(self) -> None:
        counts, pauses = (
            (self.number, self.repeat, self.repeats_to_cooldown),
            (self.min_repeat_ms, self.cooldown_interval_ms),
        )
        is_numbers = all(isinstance(value, int | float) for value in pauses)
        if not is_numbers or not all(isinstance(value, int) for value in counts):
            raise CallError(
                f"time {self.number!r} calls, {self.repeat!r} times",
                "counts are ints and times are numbers of milliseconds",
                "write time_evaluator(name, dev, number=10, repeat=3, min_repeat_ms=0)",
            )
        if self.number < 1 or self.repeat < 1 or self.min_repeat_ms < 0:
            raise CallError(
                f"time {self.number} calls, {self.repeat} times, for {self.min_repeat_ms} ms",
                "there is nothing to measure",
                "use number >= 1, repeat >= 1 and min_repeat_ms >= 0",
            )

    def __call__(self, *args: Any, **named: Any) -> ProfileResult:
        """Run once to warm up, then measure.

        Ctrl-C takes effect between two calls, about half a second later at most, or when the one
        that runs has returned.
        """
        once = self.measure(1, *args, **named)  # which refuses names
        most = max(1, int(_UNINTERRUPTED / max(once, 1e-9)))
        number, results = self.number, list[float]()
        for done in progress(range(self.repeat), "measuring"):
            if self.cooldown_interval_ms and done and done % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
            seconds = self._measure_in_parts(number, most, args)
            while seconds * 1e3 < self.min_repeat_ms:
                wanted = self.min_repeat_ms / 1e3 / max(seconds / number, 1e-9)
                number = max(
                    math.ceil(wanted * 1.1),
                    number * 2 if seconds * 1e3 * 10 < self.min_repeat_ms else number + 1,
                )
                seconds = self._measure_in_parts(number, most, args)
            results.append(seconds / number)
        return ProfileResult(tuple(results))

    def _measure_in_parts(self, number: int, most: int, args: tuple[Any, ...]) -> float:
        """Seconds of `number` calls, of which at most so many are one piece of native code."""
        seconds = 0.0
        while number > 0:
            seconds += self.measure(min(number, most), *args)
            number -= most
        return seconds


def seconds_of(run: Callable[[], object]) -> float:
    """How long a call takes, by the clock."""
    start = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - start) / 1e9
