"""What a tuner calls after each batch: logs, databases, progress. Must not know tuners."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from te_sched import files
from te_sched.absent_names import tell_of_absent_names as _tell_of_absent_names
from te_sched.autotvm.database import RecordDatabase
from te_sched.autotvm.env import GLOBAL_SCOPE
from te_sched.autotvm.measure.measure import Callback, MeasureInput, MeasureResult
from te_sched.autotvm.record import encode
from te_sched.autotvm.utils import format_si_prefix
from te_sched.errors import CallError
from te_sched.signatures import checked
from te_sched.tuning.record_lines import line_end_of

_TABS = 5  # in a line of a log that is not JSON
logger = logging.getLogger("autotvm")


@checked
def log_to_file(file_out: Any, protocol: str = "json") -> Callback:
    """A callback that appends the measurements to a log.

    Parameters
    ----------
    file_out : a path, or an open file.
    protocol : "json", which TVM reads, or "pickle".
    """
    path = (
        None if callable(getattr(file_out, "write", None)) else files.check_path(file_out, "write")
    )
    if path is not None:
        _check_log(path, protocol)

    def write(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        del tuner
        pairs = zip(inputs, results, strict=True)
        text = "".join([f"{encode(*pair, protocol=protocol)}\n" for pair in pairs])
        if path is None:
            file_out.write(text)
            return
        with (
            files.refusing(f"write {path}", "free some space, or log to another file"),
            open(path, "ab+") as file,
        ):
            file.write(line_end_of(file) + text.encode())  # at once: processes may share a log

    return write


def _check_log(path: str, protocol: str) -> None:
    """Raise CallError for a file that is not a log, to which nothing is to be added."""
    if not os.path.isfile(path):
        return
    text = files.read_text(path, "log to", "name another file")
    first = next((row for row in text.splitlines() if row.strip() and row[0] != "#"), "")
    is_log = first.startswith('{"input"') if protocol == "json" else first.count("\t") == _TABS
    if is_log or not first:
        return
    raise CallError(
        f"cannot log to {path}: its first line is not one of an AutoTVM log",
        "",
        "name another file",
    )


@checked
def log_to_database(db: RecordDatabase) -> Callback:
    """A callback that adds the measurements to a database."""

    def save(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        del tuner
        for inp, result in zip(inputs, results, strict=True):
            db.save(inp, result, extend=True)

    return save


class Monitor:
    """A callback that collects the speed and time of each measurement.

    >>> Monitor().trial_scores()
    []
    """

    def __init__(self) -> None:
        self.scores: list[float] = []
        self.timestamps: list[float] = []

    def __call__(
        self, tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]
    ) -> None:
        """Add measurements."""
        for inp, result in zip(inputs, results, strict=True):
            self.scores.append(speed(inp, result))
            self.timestamps.append(result.timestamp)

    def reset(self) -> None:
        """Forget all."""
        self.scores.clear()
        self.timestamps.clear()

    def trial_scores(self) -> list[float]:
        """Operations per second of all measurements; 0 of those that failed."""
        return list(self.scores)

    def trial_timestamps(self) -> list[float]:
        """When each measurement ended, in seconds since 1970."""
        return list(self.timestamps)


@checked
def speed(inp: MeasureInput, result: MeasureResult) -> float:
    """Operations per second; 0 if the measurement failed."""
    if result.error_no:
        return 0.0
    operations = inp.config.flop or inp.task.flop or 0
    return float(operations / max(float(np.mean(result.costs)), 1e-12))


@checked
def progress_bar(total: int, prefix: str = "", si_prefix: str = "G") -> Callback:
    """A callback that shows a line of progress on the terminal's error stream.

    Parameters
    ----------
    total : the number of measurements.
    prefix : the beginning of the line.
    si_prefix : the unit of speeds: "G" shows GFLOPS.
    """
    format_si_prefix(0, si_prefix)
    start, now, best, done = time.time(), 0.0, 0.0, 0

    def show(tuner: Any, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal now, best, done
        done += len(inputs)
        for inp, result in zip(inputs, results, strict=True):
            now = speed(inp, result)
            best = max(best, now)
        if GLOBAL_SCOPE.silent or sys.stderr is None:
            return
        speeds = [format_si_prefix(rate, si_prefix) for rate in (now, best)]
        sys.stderr.write(
            f"\r{prefix} Current/Best: {speeds[0]:7.2f}/{speeds[1]:7.2f} {si_prefix}FLOPS | "
            f"Progress: ({done}/{total}) | {time.time() - start:.2f} s"
        )
        is_last = done >= total or getattr(tuner, "is_finished", False)
        sys.stderr.write(" Done.\n" if is_last else "")
        sys.stderr.flush()

    return show


_tell_of_absent_names(__name__)
