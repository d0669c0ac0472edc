"""The trace: what was done to a schedule, as a program that can be printed and replayed.

Each primitive appends one entry when it has done its work. Entries keep the objects that the user
gave; names are made when the trace is printed. Must not know what any primitive does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from te_sched.errors import ScheduleError, kind_of, user_place
from te_sched.ir.expr import IterVar
from te_sched.te.operation import Operation, ScanOp
from te_sched.trace.entries import OWN_AXES, THREAD, Entry, StageOf, is_stage
from te_sched.trace.listing import Listing
from te_sched.trace.replaying import replay

_S = TypeVar("_S")


class Trace:
    """The history of a schedule: a sequence of entries.

    `str(trace)` is a Python program that makes the schedule from the declared tensors, and
    `names()` has what it needs. `replay` does the same to another schedule.
    """

    __slots__ = ("_known", "declared", "entries", "outputs")

    def __init__(self, outputs: Iterable[Operation], declared: Iterable[Operation]) -> None:
        self.outputs, self.declared = tuple(outputs), tuple(declared)
        self.entries: list[Entry] = []
        self._known: set[IterVar] = set()

    def copy(self) -> Trace:
        """A trace that goes its own way from here."""
        twin = object.__new__(Trace)
        twin.outputs, twin.declared = self.outputs, self.declared
        twin.entries, twin._known = list(self.entries), set(self._known)
        return twin

    def record(
        self,
        stage: Any,
        method: str,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        results: tuple[Any, ...],
    ) -> None:
        """Append a call that was made, and what it returned."""
        owners = [owner for owner in (stage, *args) if is_stage(owner)]
        for axis in _axes_in(args):
            self.introduce(axis, *owners)
        target = _named(stage) if stage is not None else None
        given = tuple([_named(arg) if is_stage(arg) else arg for arg in args])
        self.entries.append(Entry(target, method, given, options, results, user_place()))
        self._known.update([result for result in results if isinstance(result, IterVar)])

    def introduce(self, axis: IterVar, *owners: Any) -> None:
        """Say where an axis comes from that is used for the first time: it belongs to the operation
        of one of some stages, or it is a new thread axis.
        """
        if axis in self._known:
            return
        for owner in owners:
            for name in OWN_AXES if not owner.is_group else ():
                axes = _own_axes(owner.op, name)
                if any(axis is one for one in axes):
                    self._known.update(axes)
                    self.entries.append(Entry(_named(owner), name, (), {}, axes))
                    return
        self._known.add(axis)
        dom = None if axis.dom is None else (axis.dom.min, axis.dom.min + axis.dom.extent)
        given = (dom, axis.thread_tag, axis.var.name)
        self.entries.append(Entry(None, THREAD, given, {}, (axis,)))

    def replay(self, schedule: _S) -> _S:
        """Do the same to a schedule of the same declarations, and return it.

        Its declarations may be the same objects, or others made by the same program.
        """
        if not isinstance(getattr(schedule, "trace", None), Trace):
            raise ScheduleError(
                f"replay a trace on {kind_of(schedule)}",
                "it is not a schedule",
                "pass what te.create_schedule returned",
            )
        replay(self.declared, list(self.entries), schedule, schedule.trace.declared)  # type: ignore[attr-defined]
        return schedule

    def apply(self, schedule: _S) -> _S:
        """The same as `replay`."""
        return self.replay(schedule)

    def names(self) -> dict[str, Any]:
        """What `exec(str(trace), ...)` needs, by the names that the program uses: the declared
        tensors, symbolic extents, tensor intrinsics.
        """
        return self._listing().needed

    def records(self) -> list[dict[str, Any]]:
        """One record per entry, for pandas.DataFrame.

        "number", "stage" (its name, or "" for the schedule), "method", "code" (its line of
        `str(trace)`), and the "file" and "line" of the user's call.
        """
        calls = self._listing().calls
        return [
            {
                "number": number,
                "stage": entry.target.tensor.op.name if isinstance(entry.target, StageOf) else "",
                "method": entry.method,
                "code": call,
                "file": entry.place.file,
                "line": entry.place.line,
            }
            for number, (entry, call) in enumerate(zip(self.entries, calls, strict=True))
        ]

    def _listing(self) -> Listing:
        return Listing(self.outputs, self.declared, self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __str__(self) -> str:
        return self._listing().text

    def __repr__(self) -> str:
        return f"<trace of {len(self.entries)} entries>"


def _own_axes(op: Operation, name: str) -> tuple[IterVar, ...]:
    if name == "scan_axis":
        return (op.scan_axis,) if isinstance(op, ScanOp) else ()
    axes: tuple[IterVar, ...] = getattr(op, name)
    return axes


def _named(stage: Any) -> Any:
    """A stage by the tensor it was made for, which lasts; a group stands for itself."""
    return stage if stage.is_group else StageOf(stage.origin_op.output(0))


def _axes_in(value: Any) -> Iterator[IterVar]:
    if isinstance(value, IterVar):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _axes_in(item)
