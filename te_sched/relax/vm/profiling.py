"""The time of each call in a function, and instruments that watch calls."""

from __future__ import annotations

import csv
import io
import json
import time
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from te_sched.relax.vm.bytecode import VmFunction
from te_sched.relax.vm.interpreter import Around
from te_sched.runtime.ndarray import NDArray
from te_sched.runtime.threads import get_num_threads


class VMInstrumentReturnKind(IntEnum):
    """What an instrument returns before a call: run it, or skip it."""

    NO_OP = 0
    SKIP_RUN = 1


# A row of the table, by column.
Row = dict[str, Any]
_HEAD = ("Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes")


@dataclass(slots=True)
class ProfileReport:
    """The calls of a function, with their times in microseconds.

    >>> report = ProfileReport("main")
    >>> report.start()
    >>> report.timed("add", sum, ([1, 2],))
    3
    >>> report.stop()
    >>> report.calls[0]["Name"], list(report.device_metrics)
    ('add', ['cpu0'])
    """

    function: str
    device: str = "cpu0"
    total: float = 0.0
    _timed: list[tuple[str, float, str]] = field(default_factory=list)
    _since: float = 0.0

    def start(self) -> None:
        """Start the time of the function."""
        self._since = time.perf_counter()

    def stop(self) -> None:
        """Stop the time of the function."""
        self.total = 1e6 * (time.perf_counter() - self._since)

    def timed(self, name: str, function: VmFunction, args: tuple[object, ...]) -> object:
        """Run a call and keep its time."""
        start = time.perf_counter()
        result = function(*args)
        taken = 1e6 * (time.perf_counter() - start)
        shapes = ", ".join(
            f"{arg.dtype}[{', '.join(map(str, arg.shape))}]"
            for arg in args
            if isinstance(arg, NDArray)
        )
        self._timed.append((name, taken, shapes))
        return result

    @property
    def calls(self) -> list[Row]:
        """A dict of each call in the order in which they ran, for pandas.DataFrame."""
        return [self._call(name, taken, 1, shapes) for name, taken, shapes in self._timed]

    def _call(self, name: str, taken: float, count: int, shapes: str) -> Row:
        percent = 100 * taken / max(self.total, 1e-9)
        return dict(zip(_HEAD, (name, taken, percent, self.device, count, shapes), strict=True))

    @property
    def device_metrics(self) -> dict[str, Row]:
        """The time of the whole function by device."""
        total = {"Name": "Total", "Duration (us)": self.total, "Count": 1, "Device": self.device}
        return {self.device: total}

    @property
    def configuration(self) -> Row:
        """How the function ran."""
        return {"Executor": "VM", "Number of threads": get_num_threads()}

    def csv(self) -> str:
        """The calls as comma-separated values, the names of the columns first."""
        text = io.StringIO()
        writer = csv.DictWriter(text, sorted(_HEAD), lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.calls)
        return text.getvalue()

    def json(self) -> str:
        """The calls and the total as JSON, each number with its unit, as TVM writes it."""
        parts = {
            "calls": [_with_units(row) for row in self.calls],
            "device_metrics": {
                name: _with_units(metric) for name, metric in self.device_metrics.items()
            },
            "configuration": _with_units(self.configuration),
        }
        return json.dumps(parts)

    def table(self, sort: bool = True, aggregate: bool = True) -> str:
        """The calls as a table.

        Parameters
        ----------
        sort : whether the longest comes first.
        aggregate : whether calls of one name and shapes are one line.
        """
        rows = self.calls
        if aggregate:
            sums: dict[tuple[str, str], tuple[float, int]] = {}
            for name, taken, shapes in self._timed:
                total, count = sums.get((name, shapes), (0.0, 0))
                sums[name, shapes] = total + taken, count + 1
            rows = [self._call(name, *both, shapes) for (name, shapes), both in sums.items()]
        if sort:
            rows.sort(key=lambda row: -row["Duration (us)"])
        spent = sum(row["Duration (us)"] for row in rows)
        last: list[Row] = [
            {"Name": "----------"},
            {**self._call("Sum", spent, len(self._timed), ""), "Device": ""},
            self.device_metrics[self.device],
        ]
        lines = [
            _HEAD,
            *([_cell(row.get(column, "")) for column in _HEAD] for row in [*rows, *last]),
        ]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        cells = (
            [cell.rjust(width) for cell, width in zip(line, widths, strict=True)] for line in lines
        )
        text = "\n".join(
            "  ".join([line[0].ljust(widths[0]), *row[1:]]).rstrip()
            for line, row in zip(lines, cells, strict=True)
        )
        settings = "\n".join(f"{key}: {value}" for key, value in self.configuration.items())
        return f"{text}\n\nConfiguration\n-------------\n{settings}"

    def __str__(self) -> str:
        return self.table()


_UNITS = {"Duration (us)": "microseconds", "Percent": "percent", "Count": "count"}


def _with_units(values: Row) -> dict[str, object]:
    return {
        key: {_UNITS.get(key, "string" if isinstance(value, str) else "count"): value}
        for key, value in values.items()
    }


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def instrumented(instrument: VmFunction) -> Around:
    """What runs each call with a function around it."""

    def around(name: str, function: VmFunction, args: tuple[object, ...]) -> object:
        answer = instrument(function, name, True, None, *args)
        if answer is not None and int(answer) == VMInstrumentReturnKind.SKIP_RUN:
            return None
        result = function(*args)
        instrument(function, name, False, result, *args)
        return result

    return around
