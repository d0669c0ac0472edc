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

from te_sched.errors import CallError, repr_of
from te_sched.notebook_display import Shown
from te_sched.progress import progress
from te_sched.public_members import PublicObject
from te_sched.signatures import is_index

_MOST_CALLS = 2**31 - 1
_LONGEST = 86_400_000.0  # milliseconds


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
        names = ("mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)")
        values = (self.mean, self.median, self.max, self.min, self.std)
        head = " ".join(f"{name:^12}" for name in names)
        row = " ".join(f"{value * 1e3:^12.4f}" for value in values)
        return f"Execution time summary:\n{head.rstrip()}\n{row.rstrip()}"


@dataclass(frozen=True, slots=True)
class Evaluator(PublicObject):
    """Times a function; call it with the function's arguments."""

    measure: Callable[..., float]  # measure(count, *arguments): seconds of `count` calls
    number: int
    repeat: int
    min_repeat_ms: float
    cooldown_interval_ms: float
    repeats_to_cooldown: int

    def __post_init__(self) -> None:
        for name in ("number", "repeat", "repeats_to_cooldown"):
            value = getattr(self, name)
            if not is_index(value) or not 1 <= value <= _MOST_CALLS:
                raise CallError(
                    f"argument {name} of time_evaluator is {repr_of(value)}, expected at least 1",
                    f"it is a number of calls, an int from 1 to {_MOST_CALLS}",
                    "use number >= 1, repeat >= 1 and min_repeat_ms >= 0",
                )
        for name in ("min_repeat_ms", "cooldown_interval_ms"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value <= _LONGEST:
                raise CallError(
                    f"argument {name} of time_evaluator is {repr_of(value)}, expected at least 0",
                    f"it is a time in milliseconds, up to {_LONGEST:g} (a day)",
                    "use number >= 1, repeat >= 1 and min_repeat_ms >= 0",
                )

    def __call__(self, *args: Any, **named: Any) -> ProfileResult:
        """Run once to warm up, then measure."""
        self.measure(1, *args, **named)  # which refuses names
        number, results = self.number, list[float]()
        for done in progress(range(self.repeat), "measuring"):
            if self.cooldown_interval_ms and done and done % self.repeats_to_cooldown == 0:
                time.sleep(self.cooldown_interval_ms / 1e3)
            seconds = self.measure(number, *args)
            while seconds * 1e3 < self.min_repeat_ms:
                wanted = self.min_repeat_ms / 1e3 / max(seconds / number, 1e-9)
                number = max(
                    math.ceil(wanted * 1.1),
                    number * 2 if seconds * 1e3 * 10 < self.min_repeat_ms else number + 1,
                )
                seconds = self.measure(number, *args)
            results.append(seconds / number)
        return ProfileResult(tuple(results))
