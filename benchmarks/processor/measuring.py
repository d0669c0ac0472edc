"""Comparative timing of calls. Must not know what they compute.

Thread pools busy-wait for a while after a call, which slows down the next call of another library.
So a turn consists of a pause and several calls of one library. Since other processes may disturb a
measurement, each library has several turns, and a turn in which other processes used the CPU is
repeated. Benchmarks that run at the same time wait for each other's turns.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # a system without it
    fcntl = None  # type: ignore[assignment]

Call = Callable[[], Any]

PAUSE_S = 0.08
ROUNDS = 5
_TURN_S = 0.15  # of the calls of one turn
_FEWEST, _MOST = 3, 25
_TRIES = 2  # attempts at an undisturbed turn
_YIELD_S = 0.01  # lets another benchmark take the lock
_LOOK_S, _PATIENCE_S = 0.15, 3.0  # interval of checks for an idle machine, and their limit
_DISTURBED_S = 0.03  # CPU time of other processes; the system counts in steps of 0.01


@dataclass(frozen=True, slots=True)
class Timing:
    """Times of a call in seconds: the median of the turns' medians, and the minimum."""

    median: float
    shortest: float
    disturbed: int = 0  # number of disturbed turns


def timings(calls: Mapping[str, Call], rounds: int = ROUNDS) -> dict[str, Timing]:
    """Time calls in turns, in forward and backward order."""
    turns: dict[str, list[tuple[Sequence[float], bool]]] = {name: [] for name in calls}
    order = list(calls)
    for _ in range(rounds):
        for name in order:
            turns[name].append(_undisturbed(calls[name]))
        order.reverse()
    return {name: _timing(several) for name, several in turns.items()}


def _timing(turns: Sequence[tuple[Sequence[float], bool]]) -> Timing:
    clean = [times for times, disturbed in turns if not disturbed]
    counted = clean or [times for times, _ in turns]
    median = statistics.median(map(statistics.median, counted))
    return Timing(median, min(min(times) for times, _ in turns), len(turns) - len(clean))


def _undisturbed(call: Call) -> tuple[Sequence[float], bool]:
    """The times of a turn, and whether all attempts were disturbed."""
    tried = []
    for _ in range(_TRIES):
        with _alone():
            _wait_for_quiet()
            with _others() as others:
                times = _turn(call)
        if others[0] < _DISTURBED_S:
            return times, False
        tried.append((others[0], times))
    return min(tried)[1], True


def _wait_for_quiet() -> None:
    """Wait until other processes are idle, up to a limit."""
    latest = time.monotonic() + _PATIENCE_S
    while time.monotonic() < latest:
        with _others() as others:
            time.sleep(_LOOK_S)
        if others[0] < _DISTURBED_S:
            return


@contextmanager
def _alone() -> Iterator[None]:
    """Exclude other benchmarks, and wait until threads are idle."""
    with (Path(tempfile.gettempdir()) / "te_sched.benchmarks.lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        time.sleep(PAUSE_S)
        yield
    time.sleep(_YIELD_S)


@contextmanager
def _others() -> Iterator[list[float]]:
    """The seconds of CPU time of other processes inside the `with`."""
    found = [0.0]
    busy, own = _busy(), time.process_time()
    yield found
    found[0] = _busy() - busy - (time.process_time() - own)


def _busy() -> float:
    """The seconds of CPU time of all processes; 0 if unknown."""
    path = Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system, _, _, irq, softirq, *_ = map(int, path.read_text().split()[1:9])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _turn(call: Call) -> Sequence[float]:
    once = max(_seconds(call), 1e-7)
    once = max(min(_seconds(call), once), 1e-7)
    return [_seconds(call) for _ in range(max(_FEWEST, min(_MOST, int(_TURN_S / once))))]


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
