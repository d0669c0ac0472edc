"""Replays the trace of a schedule, one primitive at a time: of tensors, or of blocks.

Entries of the trace that only name axes, or find blocks and loops, belong to the next primitive.
Must not know the details of a step.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from te_sched import files
from te_sched.errors import SourceLocation, TeSchedError, repeating
from te_sched.ir.stmt import IRModule
from te_sched.schedule.schedule import Schedule, create_schedule
from te_sched.te.tensor import Tensor
from te_sched.tensorir.schedule import BlockSchedule
from te_sched.trace.entries import Entry
from te_sched.trace.replaying import Replay

# The title and the summary of the first step.
_DECLARED = (
    "The schedule as declared",
    "Every stage computed whole, in plain loops, one after the other.",
)
_GIVEN = ("The program as given", "The program before the first primitive.")
_ALONE = ("The program as given", "")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A schedule after the primitives `entries`, the lines of the trace that show them, and the
    short texts of its calls. A module of functions has one snapshot.

    The next snapshot changes `schedule`. `error` is the reason why the last primitive could not be
    replayed.
    """

    number: int
    schedule: Schedule | BlockSchedule | IRModule
    entries: tuple[Entry, ...] = ()
    code: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    error: TeSchedError | None = None

    @property
    def done(self) -> tuple[Entry, ...]:
        """The primitives among the entries."""
        return tuple(entry for entry in self.entries if not entry.primitive.is_naming)

    @property
    def place(self) -> SourceLocation:
        """The user's line of the last primitive."""
        return self.done[-1].place if self.done else SourceLocation()

    @property
    def title(self) -> str:
        """The calls, as the trace writes them."""
        if not self.done:
            return self._beginning[0]
        calls = self.calls
        return calls[0] if len(calls) == 1 else f"{calls[0]} … {calls[-1]} ({len(calls)} calls)"

    @property
    def method(self) -> str:
        """The name of the primitive; of several different ones, of the last."""
        return self.done[-1].method if self.done else ""

    @property
    def stage(self) -> str:
        """The stage that the last primitive is about."""
        return self.done[-1].target_name if self.done else ""

    @property
    def entry(self) -> Entry | None:
        """The primitive of a step of one primitive."""
        return self.done[0] if len(self.done) == 1 else None

    @property
    def summary(self) -> str:
        """The first sentence of the primitive's documentation."""
        if not self.done:
            return self._beginning[1]
        if len({entry.method for entry in self.done}) > 1:
            return ""
        return self.done[-1].primitive.summary

    @property
    def _beginning(self) -> tuple[str, str]:
        if isinstance(self.schedule, IRModule):
            return _ALONE
        return _DECLARED if isinstance(self.schedule, Schedule) else _GIVEN


def undone(schedule: Schedule | BlockSchedule) -> Any:
    """A schedule of the same declarations, or of the same module, without primitives."""
    if isinstance(schedule, BlockSchedule):
        return BlockSchedule(schedule.declared)
    return create_schedule(schedule.outputs)


class TraceReplay:
    """The trace of a schedule, replayed on a new schedule of the same declarations."""

    def __init__(self, schedule: Schedule | BlockSchedule, max_steps: int | None = None) -> None:
        self._trace = schedule.trace
        self._fresh = undone(schedule)
        self._replay = Replay(self._trace.handles, self._fresh)
        self._groups = _grouped(list(self._trace), max_steps)

    def snapshots(self) -> Iterator[Snapshot]:
        """The schedule as declared, then after each primitive, up to one that fails."""
        yield Snapshot(0, self._fresh)
        lines = iter(self._trace.as_python())
        for number, group in enumerate(self._groups, 1):
            code = tuple(next(lines) for _ in group)
            calls = self._calls(group, code)
            try:
                for entry in group:
                    with repeating(entry.place):
                        self._replay.call(entry)
            except TeSchedError as error:
                yield Snapshot(number, self._fresh, group, code, calls, error)
                return
            yield Snapshot(number, self._fresh, group, code, calls)

    def _calls(self, entries: Sequence[Entry], code: Sequence[str]) -> tuple[str, ...]:
        """The short texts of the calls that change something."""
        title = self._trace.handles.title
        return tuple(
            title(entry, line)
            for entry, line in zip(entries, code, strict=True)
            if not entry.primitive.is_naming
        )

    def argument(self, arg: Any) -> Any:
        """The argument of the function in this schedule: tensors made by primitives differ."""
        return self._replay.twins.get(arg, arg) if isinstance(arg, Tensor) else arg

    def __len__(self) -> int:
        return 1 + len(self._groups)


def _grouped(entries: Sequence[Entry], most: int | None) -> list[tuple[Entry, ...]]:
    """The entries of each step; beyond `most` steps, several primitives form one step."""
    steps: list[list[Entry]] = []
    naming: list[Entry] = []
    for entry in entries:
        naming.append(entry)
        if not entry.primitive.is_naming:
            steps.append(naming)
            naming = []
    if most is not None and len(steps) > most - 1:
        size = -(-len(steps) // max(1, most - 1))
        groups = [steps[k : k + size] for k in range(0, len(steps), size)]
        steps = [[entry for step in group for entry in step] for group in groups]
    return [tuple(step) for step in steps]


def shown_place(location: SourceLocation) -> str:
    """file:line, with the file relative to the working directory."""
    return f"{shown_path(location.file)}:{location.line}" if location.file else ""


def shown_path(path: str) -> str:
    """A path relative to the working directory; for a file elsewhere, its name."""
    called = str(SourceLocation(path, 0)).removesuffix(
        ":0"
    )  # cells of notebooks have their own names
    if called != path:
        return called
    if not os.path.isabs(path):
        return path
    near = os.path.relpath(path)
    return os.path.basename(path) if near.startswith(os.pardir) else near


def source_line(location: SourceLocation) -> str:
    """The text of a line of the user's program, if it can be read."""
    lines = source_lines(location.file)
    return lines[location.line - 1].strip() if 0 < location.line <= len(lines) else ""


def source_lines(path: str) -> list[str]:
    """The lines of a program, if they can be read without blocking."""
    is_known = path in linecache.cache or not files.is_special(path)
    return linecache.getlines(path) if path and is_known else []
