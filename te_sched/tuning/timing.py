"""The seconds of a program: repetitions, fewer of slow programs, with empty caches if asked for.

The clock is that of `runtime/timing.py`. Must not know the programs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from te_sched.runtime.device import DEVICE_TYPES, Device

_CACHES = 1 << 26  # bytes, more than caches have
_ROUNDS, _SECONDS = 5, 0.02  # of each of several programs in turn


class TimingOptions(NamedTuple):
    """How a program is timed.

    number : runs of a repetition, whose mean is a result.
    repeat : repetitions.
    min_repeat_ms : `number` is raised until a repetition takes that long.
    empties_caches : whether the caches of a processor are emptied before each run.
    limit : seconds, after which a slow program is not measured again; 0 for none.
    """

    number: int
    repeat: int
    min_repeat_ms: float = 0
    empties_caches: bool = False
    limit: float = 0


def seconds_of(
    module: Any, device: Device, arguments: Sequence[Any], timing: TimingOptions
) -> list[float]:
    """The seconds of a run of the entry function of a module, for each repetition."""
    if timing.empties_caches and device.device_type == DEVICE_TYPES["cpu"]:
        return _with_empty_caches(module, device, arguments, timing)
    number, repeat = timing.number, timing.repeat
    if timing.limit:
        began = time.perf_counter()
        module[module.entry_name](*arguments)
        device.sync()
        seconds = time.perf_counter() - began
        if seconds >= timing.limit:
            return [seconds]
        number = 1 if seconds * 1e3 >= timing.min_repeat_ms else number
        repeat = min(repeat, math.ceil(timing.limit / seconds))
    evaluator = module.time_evaluator(
        module.entry_name, device, number=number, repeat=repeat, min_repeat_ms=timing.min_repeat_ms
    )
    return list(evaluator(*arguments).results)


def _with_empty_caches(
    module: Any, device: Device, arguments: Sequence[Any], timing: TimingOptions
) -> list[float]:
    """Each run is timed by itself: a run to warm up would fill the caches again."""
    evicted, results = np.zeros(_CACHES, "uint8"), list[float]()
    module.entry_func.measure(device, 1, *arguments)  # loads what the first call loads
    for _ in range(timing.repeat):
        total = 0.0
        for _ in range(timing.number):
            evicted += 1
            total += module.entry_func.measure(device, 1, *arguments)
        results.append(total / timing.number)
    return results


def least_in_turn(calls: Sequence[Callable[[], object]], seconds: float = _SECONDS) -> list[float]:
    """The least seconds of each of several calls, which are made in turn, for some seconds in each
    of a few rounds.

    >>> len(least_in_turn([lambda: None, lambda: None]))
    2
    """
    least = [math.inf] * len(calls)
    for _ in range(_ROUNDS):
        for number, call in enumerate(calls):
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                call()
                least[number] = min(least[number], time.perf_counter() - start)
    return least
