"""The trace: the primitives applied to a schedule, which can be printed, replayed and saved.

Each primitive appends its entries when it has succeeded. Entries keep the objects of the user;
names are made when the trace is printed. Must not know what any primitive does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from te_sched.deep_recursion import walks_deeply
from te_sched.errors import ScheduleError, kind_of
from te_sched.notebook_display import Shown
from te_sched.signatures import checked_as
from te_sched.trace.entries import Entry
from te_sched.trace.handles import Handles, Traced
from te_sched.trace.listing import Listing
from te_sched.trace.replaying import Replay
from te_sched.trace.saving import apply_json, as_json

_S = TypeVar("_S", bound=Traced)
_POSTPROC = "enter_postproc"


class Trace(Shown):
    """The history of a schedule: a sequence of entries.

    `str(trace)` is a Python program that makes the schedule from the declared tensors, and
    `names()` has what it needs. `replay` applies it to another schedule; `as_json` saves it, for
    `apply_json_to_schedule`.
    """

    __slots__ = ("entries", "handles", "known")
    _advice_for_items = "its entries are trace.entries"

    def __init__(self, handles: Handles) -> None:
        self.handles = handles
        self.entries: list[Entry] = []
        self.known: set[object] = set()

    def copy(self) -> Trace:
        """A copy of the trace."""
        twin = Trace(self.handles)
        twin.entries, twin.known = list(self.entries), set(self.known)
        return twin

    def extend(self, introduced: Iterable[Entry], entry: Entry) -> None:
        """Append an entry, after the entries that define its handles."""
        for definition in introduced:
            self.entries.append(definition)
            self.known.update(definition.results)
        self.entries.append(entry)
        self.known.update(entry.results)

    def replay(self, schedule: _S) -> _S:
        """Apply the trace to a schedule of the same declarations, and return it.

        Its declarations may be the same objects, or others made by the same program.
        """
        check_schedule(schedule, "replay of a trace")
        world = Replay(self.handles, schedule)
        for entry in list(self.entries):
            world.call(entry)
        return schedule

    def apply(self, schedule: _S) -> _S:
        """The same as `replay`."""
        return self.replay(schedule)

    def as_python(self, remove_postproc: bool = False) -> list[str]:
        """The lines of the program, without its head.

        Parameters
        ----------
        remove_postproc : leave out what follows `enter_postproc`.
        """
        return Listing(self.handles, self._before_postproc(remove_postproc)).calls

    def apply_to_schedule(
        self,
        sch: Traced,
        remove_postproc: bool,
        decision_provider: Callable[..., object] | None = None,
    ) -> None:
        """Apply the trace to a schedule, possibly with other decisions.

        Parameters
        ----------
        remove_postproc : leave out what follows `enter_postproc`.
        decision_provider : called with an entry, its arguments in the schedule, and its decision;
            returns the decision to take.
        """
        check_schedule(sch, "apply_to_schedule")
        world = Replay(self.handles, sch, decision_provider)
        for entry in self._before_postproc(remove_postproc):
            world.call(entry)

    def pop(self) -> Entry | None:
        """Remove the last entry and return it; None if there is none."""
        return self.entries.pop() if self.entries else None

    def _before_postproc(self, removes: bool) -> list[Entry]:
        methods = [entry.method for entry in self.entries]
        ends = removes is True and _POSTPROC in methods
        return self.entries[: methods.index(_POSTPROC)] if ends else list(self.entries)

    def as_json(self, remove_postproc: bool = False) -> list[object]:
        """The trace as JSON, `[instructions, decisions]`: for `apply_json_to_schedule`, also of
        another process.
        """
        return as_json(self.handles, self._before_postproc(remove_postproc))

    @staticmethod
    @checked_as(ScheduleError, ("json_obj",))
    def apply_json_to_schedule(
        json_obj: list[Any], sch: Any, names: Mapping[str, object] | None = None
    ) -> None:
        """Apply the JSON of a trace (`as_json`) to a schedule of the same declarations.

        Parameters
        ----------
        json_obj : what `as_json` returned.
        sch : the schedule.
        names : objects that JSON cannot represent, by their names in `names()` of the trace: tensor
        intrinsics, functions, and variables that are not extents of the declared tensors.
        """
        check_schedule(sch, "apply_json_to_schedule")
        apply_json(json_obj, sch, {} if names is None else names)

    def names(self) -> dict[str, object]:
        """The globals for `exec(str(trace), ...)`: the declared tensors, symbolic extents, tensor
        intrinsics.
        """
        return self._listing().needed

    def records(self) -> list[dict[str, str | int]]:
        """One record per entry, for pandas.DataFrame.

        "number", "stage" (its name, or "" for the schedule), "method", "code" (its line of
        `str(trace)`), and the "file" and "line" of the user's call.
        """
        calls = self._listing().calls
        return [
            {
                "number": number,
                "stage": entry.target_name,
                "method": entry.method,
                "code": call,
                "file": entry.place.file,
                "line": entry.place.line,
            }
            for number, (entry, call) in enumerate(zip(self.entries, calls, strict=True))
        ]

    @walks_deeply("list a trace", ScheduleError)
    def _listing(self) -> Listing:
        return Listing(self.handles, self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __str__(self) -> str:
        return self._listing().text

    def __repr__(self) -> str:
        return f"<trace of {len(self.entries)} entries>"


def check_schedule(schedule: object, what: str) -> None:
    """Refuse what is not a schedule."""
    if not isinstance(getattr(schedule, "trace", None), Trace):
        raise ScheduleError(
            f"{what} expects a schedule, got {kind_of(schedule)}",
            help="pass what te.create_schedule returned",
        )
