"""The time of each call in a function, and instruments that watch calls."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from te_sched.runtime.ndarray import NDArray


class VMInstrumentReturnKind(IntEnum):
    """What an instrument returns before a call: run it, or skip it."""

    NO_OP = 0
    SKIP_RUN = 1


@dataclass(slots=True)
class ProfileReport:
    """The calls of a function, with their times in microseconds."""

    function: str
    calls: list[tuple[str, float, str]] = field(default_factory=list)
    total: float = 0.0
    _since: float = 0.0

    def start(self) -> None:
        """Start the time of the function."""
        self._since = time.perf_counter()

    def stop(self) -> None:
        """Stop the time of the function."""
        self.total = 1e6 * (time.perf_counter() - self._since)

    def timed(self, name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """Run a call and keep its time."""
        start = time.perf_counter()
        result = function(*args)
        taken = 1e6 * (time.perf_counter() - start)
        shapes = ", ".join(
            f"{one.dtype}[{', '.join(map(str, one.shape))}]"
            for one in args
            if isinstance(one, NDArray)
        )
        self.calls.append((name, taken, shapes))
        return result

    def records(self) -> list[dict[str, Any]]:
        """A dict of each call, for pandas.DataFrame."""
        return [
            {"Name": name, "Duration (us)": taken, "Argument Shapes": shapes}
            for name, taken, shapes in self.calls
        ]

    def table(self, sort: bool = True, aggregate: bool = True) -> str:
        """The calls as a table.

        Parameters
        ----------
        sort : whether the longest comes first.
        aggregate : whether calls of one name and shapes are one line.
        """
        rows = [(name, taken, 1, shapes) for name, taken, shapes in self.calls]
        if aggregate:
            sums: dict[tuple[str, str], tuple[float, int]] = {}
            for name, taken, _, shapes in rows:
                known, count = sums.get((name, shapes), (0.0, 0))
                sums[name, shapes] = known + taken, count + 1
            rows = [(name, *both, shapes) for (name, shapes), both in sums.items()]
        if sort:
            rows.sort(key=lambda row: -row[1])
        whole = max(self.total, 1e-9)
        head = ("Name", "Duration (us)", "Percent", "Count", "Argument Shapes")
        lines = [
            head,
            *(
                (name, f"{taken:.2f}", f"{100 * taken / whole:.2f}", str(count), shapes)
                for name, taken, count, shapes in rows
            ),
            ("----------", "", "", "", ""),
            ("Sum", f"{sum(row[1] for row in rows):.2f}", "", str(len(self.calls)), ""),
            ("Total", f"{self.total:.2f}", "", "", ""),
        ]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        cells = [
            [line[0].ljust(widths[0]), *(line[k].rjust(widths[k]) for k in (1, 2, 3)), line[4]]
            for line in lines
        ]
        return "\n".join("  ".join(one).rstrip() for one in cells)

    def __str__(self) -> str:
        return self.table()


def instrumented(instrument: Callable[..., Any]) -> Callable[..., Any]:
    """What runs each call with a function around it."""

    def around(name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        answer = instrument(function, name, True, None, *args)
        if answer is not None and int(answer) == VMInstrumentReturnKind.SKIP_RUN:
            return None
        result = function(*args)
        instrument(function, name, False, result, *args)
        return result

    return around
