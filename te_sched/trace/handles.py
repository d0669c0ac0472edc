"""The interface of a kind of schedule for traces: how its handles are named and found.

Handles are the arguments and results of primitives: tensors, axes, blocks, loops. Must not know any
kind of schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from te_sched.ir.expr import Var
from te_sched.trace.entries import Entry, HandleReference
from te_sched.trace.primitive import Primitive

# The names, kinds and ranks of the operations of a schedule; none of a schedule of blocks.
Signature = Sequence[tuple[str, str, list[int]]]


class Handles(Protocol):
    """How schedules of one kind name their handles; one object per schedule."""

    @property
    def reserved(self) -> Sequence[str]:
        """Names that are reserved in programs. The first is the schedule's."""

    @property
    def references(self) -> Mapping[str, Callable[[Any], HandleReference]]:
        """The classes of references by name."""

    @property
    def roots(self) -> Sequence[object]:
        """The objects known before the first entry: handles, and the extents in their types."""

    @property
    def signature(self) -> Signature:
        """What is equal for schedules to which the same trace can be applied; also as JSON."""

    def head(self, name: Callable[[object], str]) -> list[str]:
        """The first lines of a program, in which handles have these names."""

    @property
    def indent(self) -> str:
        """What the lines of a program after the first ones begin with."""

    @property
    def is_named(self) -> bool:
        """Whether a program names handles; otherwise they are `_`."""

    @property
    def empty(self) -> str:
        """The line of a program without calls, if it needs one."""

    def literal(self, value: object) -> str:
        """A constant in a program."""

    def results_text(self, names: list[str], is_several: bool) -> str:
        """The results of a call, before its `=`; `is_several` also of a list of one."""

    def instruction_name(self, method: str) -> str:
        """The name of the instructions of a primitive in JSON."""

    def name_of(self, value: object, number: int) -> str | None:
        """The name of a value in a program, of which it is the handle with this number; None for
        values that are written literally.
        """

    def variable_of(self, handle: object) -> Var | None:
        """The variable that stands for a handle in expressions."""

    def title(self, entry: Entry, line: str) -> str:
        """A short text of a call, for readers; `line` is the one that shows it in a program."""

    def reference(self, target: Any) -> object:
        """The value that represents the object of a primitive's call in the trace."""

    def introduced(
        self, schedule: Any, entry: Entry, known_handles: set[object]
    ) -> Iterable[Entry]:
        """Entries that define the unknown handles of an entry."""

    def primitive(self, schedule: object, name: str) -> Primitive | None:
        """The primitive that has this name."""


class Recorded(Protocol):
    """The trace of a schedule, as replays need it."""

    @property
    def handles(self) -> Handles:
        """How the schedule names its handles."""


class Traced(Protocol):
    """A schedule of any kind, to which traces are applied."""

    @property
    def trace(self) -> Recorded:
        """The history of the schedule."""
